"""The web server by itself: how it listens, and how it stops."""

from __future__ import annotations

import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from django.core.management import CommandError, call_command
from waitress.server import create_server

from crewship_memory import server, server_end
from crewship_memory.server import Address
from tests import waiting
from tests.processes import free_port

CALLERS = 16

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

# One of two on a port. It says who it is, and closes silent connections sooner.
ONE_OF_TWO = """
import django; django.setup()
import os, sys
from crewship_memory import server, server_end

def application(environ, start):
    body = str(os.getpid()).encode()
    start("200 OK", [("Content-Length", str(len(body)))])
    return [body]

server_end.SILENT_SECONDS = 1.5
address = server.Address("127.0.0.1", int(sys.argv[1]), is_shared=True)
listener = server.bind(address)
listener.listen()
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


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has the filter")
def test_what_has_connected_is_taken_and_new_ones_are_the_next_process_s() -> None:
    shared_address = Address("127.0.0.1", free_port(), is_shared=True)
    place = (shared_address.host, shared_address.port)
    with (
        server.bind(shared_address) as ending,
        server.bind(shared_address) as following,
        socket.socket() as late,
    ):
        ending.listen()
        with socket.create_connection(place) as early:
            assert server_end.leave_unanswered(ending)
            late.setblocking(False)
            late.connect_ex(place)
            assert not select.select([], [late], [], 0.2)[1]
            early.sendall(b"here")
            taken, _ = ending.accept()
            with taken:
                assert taken.recv(4) == b"here"
        following.listen()
        ending.close()
        # It asks again after a second.
        assert select.select([], [late], [], waiting.LIMIT_SECONDS)[1]
        assert late.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
        following.accept()[0].close()


def test_the_end_comes_whoever_connects_and_silent_connections_end_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_end, "QUEUE_SECONDS", 0.1)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    connections: dict[int, Any] = {}
    with ExitStack() as stack:
        listener = stack.enter_context(server.bind(Address("127.0.0.1", 0)))
        place = listener.getsockname()
        web = create_server(
            lambda *_: [], map=connections, sockets=[listener], threads=1
        )
        stack.callback(web.trigger.close)
        accept = web.handle_accept

        def accept_another() -> None:
            """Find one more in the queue, always."""
            client = socket.create_connection(place, waiting.LIMIT_SECONDS)
            clients.append(stack.enter_context(client))
            accept()

        clients: list[socket.socket] = []
        monkeypatch.setattr(web, "handle_accept", accept_another)
        state = server_end.ServerState(is_ending=True)
        server_end.run(web, connections, state, is_shared=False)
        assert clients and all(map(_is_closed, clients))


def _is_closed(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has the filter")
def test_one_of_two_ends_and_nobody_goes_unanswered() -> None:
    port = free_port()
    command = [sys.executable, "-c", ONE_OF_TWO, str(port)]
    url = f"http://127.0.0.1:{port}/"
    with ExitStack() as stack:
        pids = {}
        for _ in range(2):
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            pids[str(process.pid)] = stack.enter_context(process)
            stack.callback(process.kill)
        for process in pids.values():
            assert process.stdout is not None and process.stdout.readline() == "bound\n"
        steady, silent, other = _clients_of(stack, url)
        ending = pids[steady.get(url).text]
        with ThreadPoolExecutor(CALLERS) as callers:
            calls = [
                callers.submit(_call_until_gone, url, ending) for _ in range(CALLERS)
            ]
            ending.terminate()
            waiting.until(lambda: "connection" in steady.get(url).headers)
            assert ending.wait(60) == 0
            for call in calls:
                call.result()
        # Each is answered by the other one, over a connection of its own.
        texts = {client.get(url).text for client in (steady, silent, other)}
        assert texts == set(pids) - {str(ending.pid)}


def _clients_of(stack: ExitStack, url: str) -> list[httpx.Client]:
    """Return two clients that are connected to one process, and one to the other."""
    clients: dict[str, list[httpx.Client]] = {}
    while len(clients) < 2 or max(map(len, clients.values())) < 2:
        client = stack.enter_context(httpx.Client(timeout=60))
        clients.setdefault(client.get(url).text, []).append(client)
    more, fewer = sorted(clients.values(), key=len, reverse=True)
    return [*more[:2], fewer[0]]


def _call_until_gone(url: str, process: subprocess.Popen[str]) -> None:
    """Call over new connections; an error of one fails the test."""
    while process.poll() is None:
        assert httpx.get(url, timeout=60).status_code == 200


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
