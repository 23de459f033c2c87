"""The web server: waitress inside this process.

One thread reads and writes every connection and holds no request up for a slow one: a
request reaches a request thread when the last byte of its body is there, and its answer
is kept for the client to fetch, in memory and from 1 MiB on in a temporary file without
a name. A client that stalls costs a connection, never a thread.

A request costs the processor what it costs with gunicorn's gthread worker (an append
2.6 ms, a recall 8 ms); that one stands still for two seconds for every socket that is
left open after its last answer.

With 200 stalled clients of one kind (tests/hostile.py) /livez and an append took at
most 0.5 s there; with 900 that fetch nothing of 20 large answers each, once 6.6 s. From
CONNECTIONS on new clients wait until silent ones are cut off: an address that may open
that many is for a proxy in front to stop. What waitress does not do: answer 408 to a
body that stops coming (it hangs up), and problem+json for what it refuses itself
(400, 413, 431). How it ends is in ``server_end``.

There is no master that forks: worker and scheduler run beside the request threads, one
process id is all there is to stop, and a supervisor (systemd, a container) restarts it.
"""

from __future__ import annotations

import errno
import gc
import resource
import socket
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import structlog
from django.conf import settings
from waitress.server import create_server

from crewship_memory import server_end
from crewship_memory.server_end import ServerState
from memory.measurements import recorded

BODY_BYTES: Final = 32 * 1024 * 1024
# An answer above this ends its connection, so that requests sent in advance over one
# connection cannot pile up large answers that nobody fetches.
KEPT_BYTES: Final = 64 * 1024
BLOCK_BYTES: Final = 256 * 1024
# How long a connection may be silent, before, in and between requests.
SILENT_SECONDS: Final = 60
# How long a client may take nothing of its answer before the system drops it.
UNREAD_SECONDS: Final = 30
CONNECTIONS: Final = 1_000
FILES: Final = 8_192
# How long a task may go on in Python while a request waits for its turn. A request
# gives its turn away at each query, so that Python's own 5 ms would add up to 50.
TURN_SECONDS: Final = 0.000_5
LIMITS: Final[dict[str, Any]] = {
    "backlog": 2_048,
    "connection_limit": CONNECTIONS,
    "asyncore_use_poll": True,
    "channel_timeout": SILENT_SECONDS,
    "cleanup_interval": 5,
    "max_request_header_size": 64 * 1024,
    "max_request_body_size": BODY_BYTES + 1,
    "recv_bytes": 16_384,
    # A request thread waits for a slow client only above this: never.
    "outbuf_high_watermark": 2**40,
    "log_socket_errors": False,
    # Who is a proxy is decided in client_address, which has to see the headers.
    "clear_untrusted_proxy_headers": False,
    "ident": None,
}


log = structlog.get_logger(__name__)


class PortTaken(Exception):
    """The address cannot be bound; the message says why in one line."""


@dataclass(frozen=True, slots=True)
class Address:
    """Host, port and number of request threads."""

    host: str
    port: int
    threads: int = 8
    # Whether other processes of ours may listen on it, too.
    is_shared: bool = False

    @property
    def url(self) -> str:
        """The URL for a browser on this machine."""
        anywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  (compared)
        host = anywhere.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def bind(address: Address) -> socket.socket:
    """Bind the socket without listening: nobody connects before the server is ready."""
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise PortTaken(_explanation(address, error)) from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if address.is_shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if sys.platform == "linux":
            # Connections inherit it: one whose client takes nothing is dropped.
            unread = UNREAD_SECONDS * 1_000
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, unread)
        listener.bind(where)
    except OSError as error:
        listener.close()
        raise PortTaken(_explanation(address, error)) from error
    return listener


def _explanation(address: Address, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {address.port} on {address.host} is in use. "
            "Stop the other program or choose another --port."
        )
    return f"Cannot listen on {address.host}:{address.port}: {error.strerror}."


Start = Callable[..., Any]
Headers = list[tuple[str, str]]
Wsgi = Callable[[dict[str, Any], Start], Iterable[bytes]]


class CountingApplication:
    """Wraps Django's application and counts responses by status class.

    A request that comes here is whole: the server has its body and has set its length,
    chunked or not. The server itself refuses a broken body (400) or one above
    BODY_BYTES (413), and hangs up on one that stops coming.
    """

    def __init__(self, inside: Wsgi, state: ServerState | None = None) -> None:
        self.inside, self.state = inside, state or ServerState()

    def __call__(self, environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        has_body = environ["REQUEST_METHOD"] != "HEAD"

        def start_counted(status: str, headers: Headers, *rest: Any) -> Any:
            recorded.REQUESTS.labels(f"{status[:1]}xx").inc()
            largest = -1 if self.state.is_ending else KEPT_BYTES
            sent_headers = _ending_if_above(largest, headers) if has_body else headers
            return start(status, sent_headers, *rest)

        # A file that is handed over would stay open until the client has all of it.
        environ.pop("wsgi.file_wrapper", None)
        answer = self.inside(environ, start_counted)
        return _in_blocks(answer) if has_body else _without_body(answer)


def _in_blocks(answer: Iterable[bytes]) -> Iterable[bytes]:
    """Join small pieces: files come in pages of 4 KiB, and each piece is a write."""
    parts, size = [], 0
    try:
        for part in answer:
            parts.append(part)
            size += len(part)
            if size >= BLOCK_BYTES:
                yield b"".join(parts)
                parts, size = [], 0
        if parts:
            yield b"".join(parts)
    finally:
        _close(answer)


def _close(answer: Iterable[bytes]) -> None:
    close = getattr(answer, "close", None)
    if close is not None:
        close()


def _without_body(answer: Iterable[bytes]) -> Iterable[bytes]:
    """Close the response to HEAD without sending its body."""
    _close(answer)
    return []


def _ending_if_above(largest: int, headers: Headers) -> Headers:
    """Remove the Content-Length of a larger response: then it ends its connection."""
    length = next((v for k, v in headers if k.lower() == "content-length"), "0")
    if int(length) <= largest:
        return headers
    return [(k, v) for k, v in headers if k.lower() != "content-length"]


def allow(address: Address) -> None:
    """Add the bound address to the allowed hosts."""
    if address.host not in ("0.0.0.0", "::", *settings.ALLOWED_HOSTS):  # noqa: S104
        settings.ALLOWED_HOSTS.append(address.host)


def _raise_file_limit() -> None:
    """Raise the soft limit of open files to the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft_limit = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < soft_limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft_limit, hard))


def serve(address: Address, listener: socket.socket, application: Wsgi) -> None:
    """Serve until SIGTERM or Ctrl-C; how it ends says ``server_end``."""
    _raise_file_limit()
    state = ServerState()
    connections: dict[int, Any] = {}
    try:
        web = create_server(
            CountingApplication(application, state),
            map=connections,
            sockets=[listener],
            threads=address.threads,
            **LIMITS,
        )
    except OSError as error:
        raise PortTaken(_explanation(address, error)) from error
    sys.setswitchinterval(TURN_SECONDS)
    # Objects made at start-up stay; the collector need not visit them again.
    gc.freeze()
    if address.is_shared:
        # Asked over the port, another process might answer.
        log.info("web_server_listens", host=address.host, port=address.port)
    server_end.run(web, connections, state, is_shared=address.is_shared)
