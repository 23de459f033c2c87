"""Spans around what takes time; nothing at all unless ``start`` was called.

What traces are exported with is imported by ``crewship_memory.tracing`` alone, and
only where they are switched on. A span's name and attributes are words of the program:
no text, no address, no id of a row or a person.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import perf_counter
from typing import Final, Protocol

from memory.measurements import recorded

# The servers that are called. Only the embedder and the language model are the
# installation's own: their server gets the id of the trace, nobody else does.
EMBEDDER: Final = "embedder"
MODEL: Final = "language_model"
PROVIDER: Final = "provider"
GATEWAY: Final = "gateway"
WEBHOOK: Final = "webhook"
OWN_PEERS: Final = frozenset({EMBEDDER, MODEL})
TRACE_HEADER: Final = "traceparent"
# A call that was refused had an answer of this status, or of a higher one.
ERROR_STATUS: Final = 400
# Everything that a span may say, besides its name.
ATTRIBUTES: Final = frozenset(
    {
        "error.type",
        "http.request.method",
        "http.response.status_code",
        "http.route",
        "mode",
        "peer",
    }
)
Attribute = str | int


class Span(Protocol):
    """What is said of a span while it runs."""

    def rename(self, name: str) -> None: ...

    def set(self, name: str, value: Attribute) -> None:
        """Set an attribute; one that is not in ``ATTRIBUTES`` is dropped."""

    def fail(self) -> None: ...


class Backend(Protocol):
    """What makes spans."""

    def span(
        self, name: str, kind: str, parent: str, attributes: dict[str, Attribute]
    ) -> AbstractContextManager[Span]:
        """Return a context that is a span; an exception leaves its type in it.

        ``kind`` is internal, server, client or consumer; ``parent`` is the header of
        whoever called, "" for the span around this one.
        """

    def header(self) -> str:
        """Return the header that names the span around the caller, "" for none."""

    def stop(self) -> None:
        """Send what is left, as far as it takes no longer than a moment."""


class _NoSpan:
    def rename(self, name: str) -> None:
        """Do nothing."""

    def set(self, name: str, value: Attribute) -> None:
        """Do nothing."""

    def fail(self) -> None:
        """Do nothing."""


_NO_CONTEXT: Final[AbstractContextManager[Span]] = nullcontext(_NoSpan())


class _Tracing:
    """The backend of this process, None while no traces are made."""

    backend: Backend | None = None


_tracing = _Tracing()


def start(backend: Backend | None) -> None:
    """Make spans with a backend from now on, or none."""
    _tracing.backend = backend


def stop() -> None:
    """Send what is left before the process ends."""
    if _tracing.backend is not None:
        _tracing.backend.stop()


def is_on() -> bool:
    return _tracing.backend is not None


def span(
    name: str, kind: str = "internal", parent: str = "", **attributes: Attribute
) -> AbstractContextManager[Span]:
    """Return a context that is a span where traces are made."""
    backend = _tracing.backend
    return (
        _NO_CONTEXT if backend is None else backend.span(name, kind, parent, attributes)
    )


def header() -> str:
    """Return the header that names the span around the caller, "" for none."""
    return _tracing.backend.header() if _tracing.backend is not None else ""


def headers(peer: str) -> dict[str, str]:
    """Return the headers that tell a server of the trace: none for a foreign one."""
    value = header() if peer in OWN_PEERS else ""
    return {TRACE_HEADER: value} if value else {}


class Call:
    """A call to another server; it failed unless it was answered."""

    def __init__(self, span: Span) -> None:
        self._span, self.result = span, "failed"

    def answered(self, status: int) -> None:
        """Note the status of the answer."""
        self._span.set("http.response.status_code", status)
        self.result = "refused" if status >= ERROR_STATUS else "answered"


@contextmanager
def outbound(peer: str) -> Iterator[Call]:
    """Measure a call to another server, in a span of its own."""
    begin = perf_counter()
    with span(f"call {peer}", "client", peer=peer) as current:
        call = Call(current)
        try:
            yield call
        finally:
            elapsed = perf_counter() - begin
            recorded.OUTBOUND_SECONDS.labels(peer, call.result).observe(elapsed)
