"""Clients that stall, each kind in its own way, and leave their socket open."""

from __future__ import annotations

import socket
from typing import Final

# Past the first bytes of an answer this much of it waits in the server.
FEW_BYTES: Final = 1_024
LARGE_FILE: Final = "/static/admin/js/vendor/xregexp/xregexp.js"


def _line(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()


def _get(path: str, version: str = "HTTP/1.1", *headers: str) -> bytes:
    lines = (f"GET {path} {version}", "Host: localhost", *headers)
    return _line("\n".join(lines) + "\n\n")


def _post(*headers: str) -> bytes:
    lines = (
        "POST /api/v1/journal HTTP/1.1",
        "Host: localhost",
        "Authorization: Bearer cmk_nobody",
        "Content-Type: application/json",
        *headers,
    )
    return _line("\n".join(lines) + "\n\n")


# What each kind sends before it goes silent.
REQUESTS: Final[dict[str, bytes]] = {
    "silent": b"",
    "connection_close": _get("/livez", "HTTP/1.1", "Connection: close"),
    "bad_request_line": b"BOGUS\r\n\r\n",
    "http_1_0": _get("/livez", "HTTP/1.0"),
    "kept_alive": _get("/livez"),
    "half_a_request_line": b"GET /liv",
    "half_the_headers": b"GET /livez HTTP/1.1\r\nHost: local",
    "stalled_body": _post("Content-Length: 500") + b"{",
    "stalled_large_body": _post("Content-Length: 8000000") + b"{" * 16_000,
    "stalled_chunk": _post("Transfer-Encoding: chunked") + b"5\r\n{",
    "broken_chunk": _post("Transfer-Encoding: chunked") + b"zz\r\n{}\r\n",
    "stalled_continue": _post("Content-Length: 500", "Expect: 100-continue"),
    "pipelined": _get("/livez") * 20,
    "pipelined_junk": _get("/livez") + b"\x00\xff junk\r\n" * 50 + b"\r\n\r\n",
    "binary": bytes(range(256)) * 8,
    "slow_reader": _get(LARGE_FILE),
    "pipelined_slow_reader": _get(LARGE_FILE) * 20,
}
# Kinds that say, after what they sent, that they will send no more.
HALF_OPEN: Final = {
    "half_open": _get("/livez"),
    "half_open_body": _post("Content-Length: 500") + b"{",
}
KINDS: Final = (*REQUESTS, *HALF_OPEN)


def stalled(port: int, kind: str) -> socket.socket:
    """Return a connection of this kind; nothing is read from it."""
    link = socket.socket()
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, FEW_BYTES)
    link.settimeout(60)
    link.connect(("127.0.0.1", port))
    link.sendall(REQUESTS[kind] if kind in REQUESTS else HALF_OPEN[kind])
    if kind in HALF_OPEN:
        link.shutdown(socket.SHUT_WR)
    return link
