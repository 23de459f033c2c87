"""A real server under clients that stall: everybody else is answered all the same."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests import hostile
from tests.project.test_up import Installation, agent

pytestmark = pytest.mark.slow
CLIENTS = 200
# The only limit: a server that waits for such a client waits longer, or for ever.
SECONDS = 10


@pytest.fixture(scope="module")
def installation(
    tmp_path_factory: pytest.TempPathFactory, migrated_database: Path
) -> Iterator[Installation]:
    started = Installation(tmp_path_factory.mktemp("hostile"), migrated_database)
    try:
        started.start()
        yield started
        assert started.end(signal.SIGTERM) == 0
    finally:
        if started.process is not None and started.process.poll() is None:
            started.process.kill()
            started.process.wait()


@pytest.fixture(scope="module")
def key(installation: Installation) -> str:
    return installation.manage("issue_key", "--workspace", "main", "--crew", "c",
                        "--agent", "a", "--create")  # fmt: skip


def is_answered(installation: Installation, key: str) -> bool:
    """Return whether /livez and an agent's append are answered."""
    livez = httpx.get(f"{installation.url}/livez", timeout=SECONDS)
    body = {"entry_type": "note.kept", "summary": "written beside a stalled client"}
    with agent(installation, key) as client:
        append = client.post("/api/v1/journal", json=body, timeout=SECONDS)
    return (livez.status_code, append.status_code) == (200, 201)


@pytest.mark.parametrize("kind", hostile.KINDS)
def test_stalled_clients_hold_nobody_up(
    installation: Installation, key: str, kind: str
) -> None:
    with ExitStack() as sockets:
        for _ in range(CLIENTS):
            sockets.enter_context(hostile.stalled(installation.port, kind))
        assert is_answered(installation, key)
        # What they sent is dealt with by now, and they are still there.
        assert is_answered(installation, key)


# ── What a client may rely on ────────────────────────────────────────────────
def test_an_answer_to_head_has_no_body_and_the_connection_goes_on(
    installation: Installation,
) -> None:
    with agent(installation, "cmk_nobody") as client:
        for path in ("/livez", hostile.LARGE_FILE, "/accounts/login/"):
            head, got = client.head(path), client.get(path)
            assert (head.status_code, head.content) == (200, b"")
            assert len(got.content) > 0
        file = client.get(hostile.LARGE_FILE)
        since = {"If-Modified-Since": file.headers["Last-Modified"]}
        assert client.get(hostile.LARGE_FILE, headers=since).status_code == 304


def test_a_large_answer_arrives_whole_and_ends_its_connection(
    installation: Installation,
) -> None:
    plain = {"Accept-Encoding": "identity"}
    with agent(installation, "cmk_nobody") as client:
        small = client.get("/livez")
        large = client.get(hostile.LARGE_FILE, headers=plain)
    assert small.headers.get("Connection") is None
    assert large.headers["Connection"] == "close"
    assert large.text.rstrip().endswith("});")


def test_a_broken_request_is_refused(installation: Installation) -> None:
    for request, status in (
        (b"BOGUS\r\n\r\n", b"400"),
        (hostile.REQUESTS["broken_chunk"], b"400"),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", b"431"),
        (b"POST / HTTP/1.1\r\nContent-Length: 40000000\r\n\r\n", b"413"),
    ):
        with socket.create_connection(
            ("127.0.0.1", installation.port), SECONDS
        ) as link:
            link.sendall(request)
            assert link.recv(4_096).split(b" ")[1] == status
