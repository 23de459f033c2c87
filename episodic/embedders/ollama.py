"""The embedder behind an Ollama server, over HTTP.

It knows the two request formats of Ollama (batches, and the older one text at a time),
the limits on time and size, and the translation of every fault into an EmbedderError.
No address and no piece of an answer gets into a message.
"""

from __future__ import annotations

import json
import math
import time
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
import numpy as np

from episodic.embedders import base, families, perprocess
from memory.measurements import tracing
from memory.rules.translation import gettext_noop

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_MODEL = "nomic-embed-text"
OLLAMA_PORT = 11434
CONNECT_TIMEOUT = 2.0  # seconds
READ_TIMEOUT = 15.0  # seconds
BATCH = 32
MAX_CHARACTERS = 8192
MAX_ANSWER = 16 * 1024 * 1024  # bytes
NOT_THERE = (404, 405)

Rows = list[list[float]]


class NoSuchRoute(base.BadAnswer):
    """The server does not know the address of one of the two request formats."""


class OllamaEmbedder:
    """A model on an Ollama server; safe to share between threads."""

    name = "ollama"

    def __init__(
        self,
        base_url: str,
        *,
        model: str = DEFAULT_MODEL,
        timeout: float = READ_TIMEOUT,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.model = model
        self.dim: int | None = None
        self._base = address(base_url).rstrip("/")
        self.timeout = timeout
        self._prefixes = families.prefixes(model)
        self._one_by_one = False
        self._client = perprocess.PerProcess(partial(client, timeout, transport))

    def embed_documents(self, texts: Sequence[str]) -> base.Vectors:
        return self._embed([prepared(self._prefixes.document, t) for t in texts])

    def embed_query(self, text: str) -> base.Vectors:
        vector: base.Vectors = self._embed([prepared(self._prefixes.query, text)])[0]
        return vector

    def close(self) -> None:
        """Close the kept connections; the embedder is of no use afterwards."""
        self._client.get().close()

    def _embed(self, texts: list[str]) -> base.Vectors:
        if not texts:
            return np.zeros((0, self.dim or 0), dtype=np.float32)
        rows: Rows = []
        for start in range(0, len(texts), BATCH):
            rows += self._rows(texts[start : start + BATCH])
        vectors = matrix(rows)
        self.dim = vectors.shape[1]
        return vectors

    def _rows(self, texts: list[str]) -> Rows:
        if self._one_by_one:
            return self._single(texts)
        try:
            return self._batch(texts)
        except NoSuchRoute:
            # An old server, or a new one without this model: the answer shows which.
            rows = self._single(texts)
            self._one_by_one = True
            return rows

    def _batch(self, texts: list[str]) -> Rows:
        answer = self._post("/api/embed", {"model": self.model, "input": texts})
        rows = answer.get("embeddings")
        if not isinstance(rows, list) or len(rows) != len(texts):
            raise base.BadAnswer(
                gettext_noop("The embedder gave the wrong number of vectors.")
            )
        return [numbers(row) for row in rows]

    def _single(self, texts: list[str]) -> Rows:
        route = "/api/embeddings"
        bodies = ({"model": self.model, "prompt": text} for text in texts)
        return [numbers(self._post(route, body).get("embedding")) for body in bodies]

    def _post(self, route: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            content = self._read_answer(route, body)
        except httpx.ConnectTimeout:
            raise base.Unreachable(
                gettext_noop("The embedder cannot be reached.")
            ) from None
        except httpx.TimeoutException:
            raise slow() from None
        except (httpx.UnsupportedProtocol, httpx.InvalidURL):
            raise base.NotConfigured(
                gettext_noop("The embedder's address is not valid.")
            ) from None
        except httpx.TransportError:
            raise base.Unreachable(
                gettext_noop("The embedder cannot be reached.")
            ) from None
        except httpx.HTTPError:
            raise base.BadAnswer(
                gettext_noop("The embedder's answer cannot be read.")
            ) from None
        return parsed(content)

    def _read_answer(self, route: str, body: dict[str, Any]) -> bytes:
        """Post once, and once more when no connection came about."""
        try:
            return self._read_once(route, body)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            return self._read_once(route, body)

    def _read_once(self, route: str, body: dict[str, Any]) -> bytes:
        deadline = time.monotonic() + CONNECT_TIMEOUT + self.timeout
        http, url = self._client.get(), f"{self._base}{route}"
        with (
            tracing.outbound(tracing.EMBEDDER) as call,
            http.stream(
                "POST", url, json=body, headers=tracing.headers(tracing.EMBEDDER)
            ) as response,
        ):
            call.answered(response.status_code)
            if response.status_code in NOT_THERE:
                raise NoSuchRoute(refusal(response.status_code))
            if response.status_code != httpx.codes.OK:
                raise base.BadAnswer(refusal(response.status_code))
            return read_body(response, deadline)


def address(host: str) -> str:
    """Complete an address the way Ollama's own OLLAMA_HOST may be written.

    "gpu", "gpu:8080" and "http://gpu:8080/path" are all allowed; without a scheme it
    is http, and then without a port Ollama's own. Raises ValueError when empty.
    """
    if not host.strip():
        raise ValueError("the Ollama server needs an address")
    if "://" in host:
        return host.strip()
    url = f"http://{host.strip().rstrip('/')}"
    try:
        port = urlsplit(url).port
    except ValueError:
        raise ValueError("the address of the Ollama server is not valid") from None
    return url if port else f"{url}:{OLLAMA_PORT}"


def client(timeout: float, transport: httpx.BaseTransport | None) -> httpx.Client:
    """Make the HTTP client: kept connections, no redirects, nothing from outside.

    ``trust_env`` is off, so that a proxy meant for the internet does not get to read
    what agents remember.
    """
    return httpx.Client(
        timeout=httpx.Timeout(timeout, connect=CONNECT_TIMEOUT),
        transport=transport,
        trust_env=False,
        headers={"accept-encoding": "identity"},
    )


def read_body(response: httpx.Response, deadline: float) -> bytes:
    """Read a body up to MAX_ANSWER bytes and the deadline on the monotonic clock.

    The client's own time-out only bounds the pause between two pieces. Raises
    BadAnswer or TooSlow.
    """
    content = bytearray()
    for piece in response.iter_bytes():
        content += piece
        if len(content) > MAX_ANSWER:
            raise base.BadAnswer(gettext_noop("The embedder's answer is too large."))
        if time.monotonic() > deadline:
            raise slow()
    return bytes(content)


def parsed(content: bytes) -> dict[str, Any]:
    """Return the JSON object in an answer. Raises BadAnswer."""
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        raise base.BadAnswer(
            gettext_noop("The embedder's answer is not JSON.")
        ) from None
    if not isinstance(answer, dict):
        raise base.BadAnswer(
            gettext_noop("The embedder's answer is not a JSON object.")
        )
    return answer


def numbers(row: object) -> list[float]:
    """Return a vector as it came, when it is one. Raises BadAnswer."""
    if not isinstance(row, list) or not all(type(x) in (int, float) for x in row):
        raise base.BadAnswer(
            gettext_noop("The embedder gave something that is not a vector.")
        )
    if not row:
        raise base.BadAnswer(gettext_noop("The embedder gave an empty vector."))
    return row


def matrix(rows: Rows) -> base.Vectors:
    """Return float32 (len(rows), dim), unit rows. Raises BadAnswer."""
    if len({len(row) for row in rows}) != 1:
        raise base.BadAnswer(
            gettext_noop("The embedder gave vectors of different lengths.")
        )
    try:
        exact = np.array(rows, dtype=np.float64)
    except OverflowError:
        exact = np.array([[math.nan]])
    with np.errstate(over="ignore"):
        return base.unit(exact.astype(np.float32))


def prepared(prefix: str, text: str) -> str:
    """Cut a text, and prepend the prefix of the model's family.

    A blank text becomes a dash: some servers give it an empty vector, which would
    fail the whole batch it is in.
    """
    body = base.sendable(text[:MAX_CHARACTERS])
    return prefix + (body if body.strip() else "-")


def refusal(status: int) -> str:
    """Say which status came instead of an answer."""
    hint = " Is the model pulled?" if status in NOT_THERE else ""
    return f"The embedder answered with status {status}.{hint}"


def slow() -> base.TooSlow:
    """Return the error for an answer that takes too long."""
    return base.TooSlow(gettext_noop("The embedder did not answer in time."))
