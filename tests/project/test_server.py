"""The web server by itself: how it listens, and how it stops."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest
from django.core.management import CommandError, call_command

from crewship_memory import server
from crewship_memory.server import Address
from tests.processes import free_port

# The request stops the server that answers it, and ends after the server began to stop.
STOPPED_BY_ITS_REQUEST = """
import django; django.setup()
import os, signal, sys
from crewship_memory import server

def application(environ, start):
    os.kill(os.getpid(), signal.SIGTERM)
    while signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
        pass
    start("200 OK", [("Content-Type", "text/plain")])
    return [b"finished"]

address = server.Address("127.0.0.1", int(sys.argv[1]))
listener = server.bind(address)
print("bound", flush=True)
server.serve(address, listener, application)
"""


def answers(inside: server.Wsgi, method: str = "GET") -> tuple[dict[str, str], bytes]:
    """Return headers and body of an answer behind the doorway."""
    status_line: dict[str, str] = {}

    def start(_status: str, headers: server.Headers) -> None:
        status_line.update(headers)

    pieces = server.CountingApplication(inside)({"REQUEST_METHOD": method}, start)
    return status_line, b"".join(pieces)


class Body:
    """An answer's body that knows whether it was closed."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces, self.closed = pieces, False

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.pieces)

    def close(self) -> None:
        self.closed = True


def application(body: Body) -> server.Wsgi:
    size = sum(len(piece) for piece in body.pieces)

    def inside(_environ: object, start: server.Start) -> Body:
        start("200 OK", [("Content-Length", str(size))])
        return body

    return inside


@pytest.mark.slow
def test_a_request_under_way_is_finished_before_the_end() -> None:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPED_BY_ITS_REQUEST, str(port)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with process, httpx.Client(transport=httpx.HTTPTransport(retries=8)) as client:
        assert process.stdout.readline() == "bound\n"
        answer = client.get(f"http://127.0.0.1:{port}/", timeout=60)
        assert (answer.status_code, answer.text) == (200, "finished")
        assert process.wait(60) == 0


def test_a_small_answer_keeps_its_length_and_a_large_one_ends_the_connection() -> None:
    small, large = Body(b"ab", b"c"), Body(*[b"x" * 4_096] * 200)
    assert answers(application(small)) == ({"Content-Length": "3"}, b"abc")
    assert answers(application(large)) == ({}, b"x" * 4_096 * 200)
    assert (small.closed, large.closed) == (True, True)


def test_an_answer_to_head_has_its_length_and_no_body() -> None:
    body = Body(b"x" * 100_000)
    headers, content = answers(application(body), "HEAD")
    assert (headers, content) == ({"Content-Length": "100000"}, b"")
    assert body.closed


def test_several_processes_may_share_a_port_when_they_all_say_so() -> None:
    port = free_port()
    shared_address = Address("127.0.0.1", port, is_shared=True)
    with server.bind(shared_address) as first, server.bind(shared_address) as second:
        first.listen()
        second.listen()
        with pytest.raises(server.PortTaken, match=f"Port {port}"):
            server.bind(Address("127.0.0.1", port))


def test_a_connection_whose_client_takes_nothing_is_dropped_by_the_system() -> None:
    with server.bind(Address("127.0.0.1", 0)) as listener:
        option = (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
        assert listener.getsockopt(*option) == server.UNREAD_SECONDS * 1_000
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize("host", ["::1", "127.0.0.1"])
def test_an_address_is_written_as_people_type_it(host: str) -> None:
    url = Address(host, 8000).url
    assert url in ("http://[::1]:8000", "http://127.0.0.1:8000")
    assert httpx.URL(url).port == 8000


def test_the_web_alone_needs_a_broker() -> None:
    with pytest.raises(CommandError, match="REDIS_URL"):
        call_command("web")
