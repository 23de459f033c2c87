"""The web server: gunicorn's threaded worker, run in this very process.

There is no master that forks: worker and clock live beside the request threads, one
process id is all there is to stop, and a supervisor (systemd, a container) restarts it.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import selectors
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from django.core.wsgi import get_wsgi_application
from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger
from gunicorn.workers.gthread import TConn, ThreadWorker

from crewship_memory import metrics

BRIEF_SECONDS: Final = 0.25
PATIENCE_SECONDS: Final = 15.0
BODY_SECONDS: Final = 60.0
BODY_BYTES: Final = 32 * 1024 * 1024
BACKLOG: Final = 2048
STOP_SECONDS: Final = 5
# How long a task may go on in Python while a request waits for its turn. A request
# gives its turn away at each query, so that Python's own 5 ms would add up to 50.
TURN_SECONDS: Final = 0.000_5


class PortTaken(Exception):
    """The address cannot be listened on; the message says why in one line."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen, and with how many request threads."""

    host: str
    port: int
    threads: int = 8

    @property
    def url(self) -> str:
        """What a person on this machine types."""
        anywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  (compared)
        host = anywhere.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def bind(address: Address) -> socket.socket:
    """Take the port, without listening yet: nobody connects before we are ready."""
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(where)
    except OSError as error:
        raise PortTaken(_why(address, error)) from error
    return listener


def _why(address: Address, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {address.port} on {address.host} is in use. "
            "Stop the other program or choose another --port."
        )
    return f"Cannot listen on {address.host}:{address.port}: {error.strerror}."


class PatientSocket(socket.socket):
    """A connection that waits for its client, but not for ever.

    While it waits it holds a thread. Half of the threads may wait long; once they do,
    other clients that stall are cut off at once, so that the rest keep being served.
    """

    waiters: threading.BoundedSemaphore

    def setblocking(self, flag: bool, /) -> None:  # noqa: FBT001  (socket's own)
        """Let "blocking" mean a limit, so that a stalled client frees its thread."""
        self.settimeout(PATIENCE_SECONDS if flag else 0.0)

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        """Read; a client that stalls counts as one that hung up."""
        self.settimeout(BRIEF_SECONDS)
        try:
            return super().recv(size, flags)
        except TimeoutError:
            return self._recv_late(size, flags)
        finally:
            self.settimeout(PATIENCE_SECONDS)

    def _recv_late(self, size: int, flags: int) -> bytes:
        stalled = ConnectionResetError(errno.ECONNRESET, "stalled")
        if not self.waiters.acquire(blocking=False):
            raise stalled
        self.settimeout(PATIENCE_SECONDS)
        try:
            return super().recv(size, flags)
        except TimeoutError:
            raise stalled from None
        finally:
            self.waiters.release()


class Quiet(Logger):  # type: ignore[misc]  # gunicorn is untyped
    """Gunicorn's log, through the house's own handler and its redaction."""

    def setup(self, cfg: Any) -> None:
        """Let records rise to the root handler; the access log stays off."""
        self.cfg = cfg
        self._access_log_enabled = False
        self.error_log.propagate = True
        self.error_log.setLevel("WARNING")


class Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn is untyped
    """Gunicorn's threaded worker without a parent."""

    def init_process(self) -> None:
        """Count who waits; then everything of gunicorn's own, until the end."""
        self.waiters = threading.BoundedSemaphore(max(1, self.cfg.threads // 2))
        super().init_process()

    def is_parent_alive(self) -> bool:
        """Nobody forked us; whoever started the shell may leave."""
        return True

    def init_signals(self) -> None:
        """Stop the same gentle way on Ctrl-C and on SIGTERM."""
        super().init_signals()
        signal.signal(signal.SIGINT, self.handle_exit)

    def accept(self, listener: socket.socket) -> None:
        """Let a new connection wait in the poller until it says something.

        Gunicorn gives it a thread at once; browsers open connections on suspicion, and
        eight of those would hold every thread for seconds.
        """
        try:
            client, where = listener.accept()
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK):
                return
            raise
        patient = PatientSocket(fileno=client.detach())
        patient.waiters = self.waiters
        conn = TConn(self.cfg, patient, where, listener.getsockname())
        conn.timeout = time.monotonic() + self.cfg.keepalive
        self.nr_conns += 1
        self.pending_conns.append(conn)
        readable = partial(self.on_pending_socket_readable, conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, readable)


Start = Callable[..., Any]
Wsgi = Callable[[dict[str, Any], Start], Iterable[bytes]]


class Doorway:
    """Stands before Django: waits for the whole body, counts the answers.

    A body that does not arrive in time is answered 408 here, and Django never starts;
    one without a length (chunked) is given one, because Django reads no other.
    """

    def __init__(self, inside: Wsgi) -> None:
        self.inside = inside

    def __call__(self, environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        """Answer one request."""

        def counted(status: str, *rest: Any) -> Any:
            metrics.REQUESTS.labels(f"{status[:1]}xx").inc()
            return start(status, *rest)

        try:
            _receive(environ)
        except (TimeoutError, ConnectionResetError, EOFError):
            return _closed("408 Request Timeout", counted)
        except OSError:
            # What gunicorn raises for a broken chunk is an OSError, too.
            return _closed("400 Bad Request", counted)
        return self.inside(environ, counted)


def _closed(status: str, start: Start) -> Iterable[bytes]:
    start(status, [("Content-Length", "0"), ("Connection", "close")])
    return [b""]


def _receive(environ: dict[str, Any]) -> None:
    """Put the body into memory; leave one that is too large for Django to refuse."""
    chunked = "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower()
    length = int(environ.get("CONTENT_LENGTH") or 0)
    if length > BODY_BYTES or not (length or chunked):
        return
    body = _read(environ["wsgi.input"], BODY_BYTES if chunked else length)
    if not chunked and len(body) < length:
        raise EOFError
    environ["wsgi.input"] = io.BytesIO(body)
    environ["CONTENT_LENGTH"] = str(len(body))


def _read(source: Any, limit: int) -> bytes:
    until = time.monotonic() + BODY_SECONDS
    parts, left = [], limit
    while left > 0 and (part := source.read(min(left, 65_536))):
        parts.append(part)
        left -= len(part)
        if time.monotonic() > until:
            raise TimeoutError
    return b"".join(parts)


class Application(BaseApplication):  # type: ignore[misc]  # gunicorn is untyped
    """Gunicorn's settings, from code alone: no file and no environment is read."""

    def __init__(self, address: Address) -> None:
        self.address = address
        super().__init__()

    def load_config(self) -> None:
        """Set what differs from gunicorn's own."""
        wanted = {
            "threads": self.address.threads,
            "keepalive": 60,
            "graceful_timeout": STOP_SECONDS,
            "logger_class": Quiet,
            "limit_request_line": 8190,
        }
        for name, value in wanted.items():
            self.cfg.set(name, value)

    def load(self) -> Wsgi:
        """Return what answers requests."""
        return Doorway(get_wsgi_application())


def serve(address: Address, listener: socket.socket) -> None:
    """Answer requests until SIGTERM or Ctrl-C; requests under way get five seconds."""
    application = Application(address)
    log = Quiet(application.cfg)
    try:
        listener.listen(BACKLOG)
    except OSError as error:
        raise PortTaken(_why(address, error)) from error
    worker = Worker(0, os.getpid(), [listener], application, 0, application.cfg, log)
    sys.setswitchinterval(TURN_SECONDS)
    # What start-up made stays; the collector need not walk through it ever again.
    gc.freeze()
    try:
        worker.init_process()
    finally:
        worker.tmp.close()
