"""A gateway on a loopback socket with a behaviour chosen by the test."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests import waiting

GOOD: dict[str, Any] = {
    "/memories/search": {"results": []},
    "/memories/add": {"status": "accumulated", "message_count": 2},
    "/memories/flush": {"status": "extracted"},
}


@dataclass(frozen=True)
class Request:
    """One request as received."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


Behaviour = Callable[[socket.socket, Request], None]


@dataclass
class Upstream:
    """Serves requests one after the other, and records them."""

    behave: Behaviour
    requests: list[Request] = field(default_factory=list)
    url: str = ""

    @property
    def paths(self) -> list[str]:
        """The paths called, in order."""
        return [request.path for request in self.requests]

    def wait_for(self, count: int) -> list[str]:
        """Wait for so many calls; return their paths. A client may give up sooner."""
        waiting.until(lambda: len(self.requests) >= count)
        return self.paths


def answer(status: int, body: object, **headers: str) -> bytes:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    response_headers = {
        "Content-Type": "application/json",
        "Content-Length": str(len(raw)),
    }
    response_headers |= {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in response_headers.items())
    return f"HTTP/1.1 {status} Whatever\r\n{lines}\r\n".encode() + raw


def answers(status: int = 200, body: object = None, **headers: str) -> Behaviour:
    """Answer every request the same; without a body like a good gateway."""

    def behave(peer: socket.socket, request: Request) -> None:
        data = GOOD[request.path] if body is None else body
        peer.sendall(answer(status, data, **headers))

    return behave


def at(paths: dict[str, Behaviour]) -> Behaviour:
    """Behave by path; like a good gateway for other paths."""

    def behave(peer: socket.socket, request: Request) -> None:
        paths.get(request.path, answers())(peer, request)

    return behave


def silent(peer: socket.socket, _request: Request) -> None:
    """Never answer."""
    peer.settimeout(waiting.LIMIT_SECONDS)
    with contextlib.suppress(OSError):
        peer.recv(1)


def drips(peer: socket.socket, _request: Request) -> None:
    """Send a byte at a time, each well within any read time-out."""
    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    with contextlib.suppress(OSError):
        for _ in range(500):
            peer.sendall(b" ")
            time.sleep(0.01)


def floods(peer: socket.socket, _request: Request) -> None:
    """Send far more than a client should read."""
    peer.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    with contextlib.suppress(OSError):
        for _ in range(64):
            peer.sendall(b" " * 1024 * 1024)


def hangs_up(_peer: socket.socket, _request: Request) -> None:
    """Close without a response."""


def _read(peer: socket.socket) -> Request:
    with peer.makefile("rb") as stream:
        method, path, _ = stream.readline().decode().split()
        headers = {}
        while (line := stream.readline().decode().strip()) != "":
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        raw = stream.read(int(headers.get("content-length", "0")))
    return Request(method, path, headers, raw)


def _serve(listener: socket.socket, upstream: Upstream) -> None:
    while True:
        try:
            peer, _ = listener.accept()
        except OSError:
            return
        with peer, contextlib.suppress(OSError, ValueError):
            request = _read(peer)
            upstream.requests.append(request)
            upstream.behave(peer, request)


@contextlib.contextmanager
def running(behave: Behaviour | None = None) -> Iterator[Upstream]:
    """Run an upstream for a while."""
    upstream = Upstream(behave or answers())
    with socket.create_server(("127.0.0.1", 0)) as listener:
        upstream.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread = threading.Thread(target=_serve, args=(listener, upstream), daemon=True)
        thread.start()
        yield upstream
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(waiting.LIMIT_SECONDS)
