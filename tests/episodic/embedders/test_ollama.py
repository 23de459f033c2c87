"""The embedder behind an Ollama server, on a made-up transport."""

from __future__ import annotations

import gzip
import json
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from episodic.embedders import base, ollama

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Answer = Callable[[str, dict[str, Any]], httpx.Response]

HOST = "http://hidden-host.example:4321"


class Server:
    """Keeps what was asked, and answers by a function of path and body."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.asked.append((request.url.path, body))
        return self.answer(request.url.path, body)

    def embedder(self, model: str = "plain", base_url: str = HOST) -> base.Embedder:
        transport = httpx.MockTransport(self)
        return ollama.OllamaEmbedder(base_url, model=model, transport=transport)


def vector(text: str) -> list[float]:
    return [len(text), 1.0, -2.5]


def modern(path: str, body: dict[str, Any]) -> httpx.Response:
    if path != "/api/embed":
        return httpx.Response(404)
    return httpx.Response(200, json={"embeddings": [vector(t) for t in body["input"]]})


def old(path: str, body: dict[str, Any]) -> httpx.Response:
    if path != "/api/embeddings":
        return httpx.Response(404)
    return httpx.Response(200, json={"embedding": vector(body["prompt"])})


def saying(content: bytes | Iterator[bytes], status: int = 200) -> Server:
    return Server(lambda *_: httpx.Response(status, content=content))


def raising(error: Exception) -> Server:
    def answer(*_: object) -> httpx.Response:
        raise error

    return Server(answer)


def error_text(server: Server, error: type[base.EmbedderError]) -> str:
    """Return the message, after checking that it gives nothing away."""
    with pytest.raises(error) as caught:
        server.embedder().embed_documents(["a secret text"])
    text = str(caught.value)
    for hidden in ("secret", "hidden-host", "4321", "http", "body-of-answer"):
        assert hidden not in text
    assert caught.value.__cause__ is None
    assert text.endswith((".", "?"))
    return text


def test_texts_go_out_in_batches_and_come_back_in_order() -> None:
    server = Server(modern)
    texts = ["x" * size for size in range(1, 71)]
    embedder = server.embedder()
    assert embedder.dim is None
    rows = embedder.embed_documents(texts)
    assert [len(body["input"]) for _, body in server.asked] == [32, 32, 6]
    expected = base.unit(np.array([vector(t) for t in texts], dtype=np.float32))
    assert rows.dtype == np.float32
    assert np.allclose(rows, expected)
    assert embedder.dim == 3


def test_no_texts_ask_nobody() -> None:
    server = Server(modern)
    assert server.embedder().embed_documents([]).shape == (0, 0)
    assert server.asked == []


def test_a_query_is_one_unit_vector() -> None:
    vector = Server(modern).embedder().embed_query("why")
    assert vector.shape == (3,)
    assert np.linalg.norm(vector) == pytest.approx(1)


def test_the_familys_prefixes_are_sent() -> None:
    server = Server(modern)
    embedder = server.embedder("nomic-embed-text")
    embedder.embed_documents(["a"])
    embedder.embed_query("b")
    inputs = [body["input"] for _, body in server.asked]
    assert inputs == [["search_document: a"], ["search_query: b"]]
    assert {body["model"] for _, body in server.asked} == {"nomic-embed-text"}


@pytest.mark.parametrize("status", [404, 405])
def test_an_old_server_is_asked_one_by_one_from_then_on(status: int) -> None:
    def answer(path: str, body: dict[str, Any]) -> httpx.Response:
        if path == "/api/embed":
            return httpx.Response(status, content=b"body-of-answer")
        return old(path, body)

    server = Server(answer)
    embedder = server.embedder()
    assert embedder.embed_documents(["a", "bb"]).shape == (2, 3)
    embedder.embed_query("c")
    paths = [path.rpartition("/")[2] for path, _ in server.asked]
    assert paths == ["embed", "embeddings", "embeddings", "embeddings"]


def test_a_model_that_is_not_there_yet_does_not_settle_the_route() -> None:
    server = saying(b"body-of-answer", 404)
    assert error_text(server, base.BadAnswer).endswith("Is the model pulled?")
    embedder = server.embedder()
    with pytest.raises(base.BadAnswer):
        embedder.embed_query("x")
    server.answer = modern
    embedder.embed_query("x")
    assert server.asked[-1][0] == "/api/embed"


@pytest.mark.parametrize("given_base", [f"{HOST}/", f"{HOST}//", HOST])
def test_slashes_at_the_end_are_trimmed(given_base: str) -> None:
    server = Server(modern)
    server.embedder(base_url=given_base).embed_query("x")
    assert server.asked[0][0] == "/api/embed"


def test_a_path_before_the_route_is_kept() -> None:
    server = Server(lambda *_: httpx.Response(200, json={"embeddings": [[1]]}))
    server.embedder(base_url=f"{HOST}/gate/").embed_query("x")
    assert server.asked[0][0] == "/gate/api/embed"


@pytest.mark.parametrize(
    "error",
    [
        httpx.ConnectError("hidden-host"),
        httpx.ConnectTimeout("hidden-host"),
    ],
)
def test_only_a_failed_connection_is_tried_once_more(error: Exception) -> None:
    server = raising(error)
    error_text(server, base.Unreachable)
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx.ReadTimeout("hidden-host"), base.TooSlow),
        (httpx.WriteTimeout("hidden-host"), base.TooSlow),
        (httpx.PoolTimeout("hidden-host"), base.TooSlow),
        (httpx.ReadError("hidden-host"), base.Unreachable),
        (httpx.RemoteProtocolError("hidden-host"), base.Unreachable),
        (httpx.TooManyRedirects("hidden-host"), base.BadAnswer),
    ],
)
def test_other_failures_are_told_apart(
    error: Exception, kind: type[base.EmbedderError]
) -> None:
    server = raising(error)
    error_text(server, kind)
    assert len(server.asked) == 1


def test_a_second_try_may_succeed() -> None:
    tries = iter([httpx.ConnectError("no")])

    def answer(path: str, body: dict[str, Any]) -> httpx.Response:
        for error in tries:
            raise error
        return modern(path, body)

    assert Server(answer).embedder().embed_query("x").shape == (3,)


@pytest.mark.parametrize("status", [204, 301, 400, 401, 429, 500, 503])
def test_a_bad_status_is_said_and_nothing_else(status: int) -> None:
    assert str(status) in error_text(saying(b"body-of-answer", status), base.BadAnswer)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"body-of-answer",
        b"\xff\xfe",
        b"[" * 100_000,
        b"[[1, 2]]",
        b'"x"',
        b"{}",
        b'{"embeddings": null}',
        b'{"embeddings": {"0": [1]}}',
        b'{"embeddings": []}',
        b'{"embeddings": [[1], [2]]}',
        b'{"embeddings": [[]]}',
        b'{"embeddings": [1]}',
        b'{"embeddings": [["1"]]}',
        b'{"embeddings": [[true]]}',
        b'{"embeddings": [[[1]]]}',
        b'{"embeddings": [[1, null]]}',
        b'{"embeddings": [[1, NaN]]}',
        b'{"embeddings": [[1, Infinity]]}',
        b'{"embeddings": [[1, 1e300]]}',
        b'{"embeddings": [[1, 1' + b"0" * 400 + b"]]}",
        b'{"embeddings": [[0, 0.0]]}',
    ],
    ids=lambda content: content[:24].decode("latin-1"),
)
def test_what_is_no_vector_is_a_bad_answer(content: bytes) -> None:
    error_text(saying(content), base.BadAnswer)


def test_vectors_of_different_lengths_are_refused() -> None:
    server = saying(b'{"embeddings": [[1, 2], [1]]}')
    with pytest.raises(base.BadAnswer, match="lengths"):
        server.embedder().embed_documents(["a", "b"])


def test_a_huge_body_is_not_read_to_its_end() -> None:
    read: list[int] = []

    def body() -> Iterator[bytes]:
        for number in range(100):
            read.append(number)
            yield b" " * 1024 * 1024

    error_text(saying(body()), base.BadAnswer)
    assert len(read) == 17


def test_a_small_body_that_swells_is_not_read_either() -> None:
    body = gzip.compress(b" " * (ollama.MAX_ANSWER + 1))
    headers = {"content-encoding": "gzip"}
    error_text(
        Server(lambda *_: httpx.Response(200, content=body, headers=headers)),
        base.BadAnswer,
    )


def test_a_body_that_trickles_ends_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0.0]
    monkeypatch.setattr(ollama, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    def body() -> Iterator[bytes]:
        while True:
            clock[0] += 5
            yield b" "

    error_text(saying(body()), base.TooSlow)
    assert clock[0] == 20


@pytest.mark.parametrize("address", ["ftp://x", "http://x:port", "http://"])
def test_an_address_that_is_none_is_not_configured(address: str) -> None:
    with pytest.raises(base.NotConfigured) as caught:
        ollama.OllamaEmbedder(address).embed_query("x")
    assert str(caught.value) == "The embedder's address is not valid."


@given(st.text(st.characters(codec=None), max_size=50))
def test_every_text_can_be_sent(text: str) -> None:
    server = Server(modern)
    server.embedder().embed_query(text)
    (inputs,) = server.asked[0][1]["input"]
    assert inputs.strip()


def test_long_texts_are_cut_before_the_prefix() -> None:
    prepared = ollama.prepared("search_query: ", "é" * 9000)
    assert prepared == "search_query: " + "é" * 8192


def test_a_blank_text_does_not_fail_its_batch() -> None:
    assert ollama.prepared("", " \n") == "-"


def test_a_server_may_change_its_dim() -> None:
    server = Server(modern)
    embedder = server.embedder()
    embedder.embed_query("x")
    server.answer = lambda *_: httpx.Response(200, json={"embeddings": [[3, 4]]})
    assert np.allclose(embedder.embed_query("x"), [0.6, 0.8])
    assert embedder.dim == 2


def test_threads_share_one_client() -> None:
    server = Server(modern)
    embedder = server.embedder()
    threads = [
        threading.Thread(target=lambda: embedder.embed_query("x")) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(server.asked) == 8


def test_the_client_keeps_its_limits() -> None:
    client = ollama.client(7.0, None)
    assert client.timeout == httpx.Timeout(7.0, connect=2.0)
    assert not client.follow_redirects
    assert not client.trust_env
    client.close()


def test_a_closed_embedder_has_closed_its_connections() -> None:
    embedder = ollama.OllamaEmbedder(
        HOST, transport=httpx.MockTransport(Server(modern))
    )
    embedder.close()
    with pytest.raises(RuntimeError):
        embedder.embed_query("x")
