"""Remove secrets and personal data from log lines.

A path becomes its route, an exception its type and the lines of code it passed. What a
message holds beyond that is cut by pattern: queries, addresses, keys, login tokens,
labels of a person's file.
"""

from __future__ import annotations

import copy
import logging
import re
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

import structlog

if TYPE_CHECKING:
    from django.http import HttpRequest
    from structlog.typing import EventDict

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None]

# The first words of our addresses; what follows them may be anybody's name.
SECTIONS: Final = (
    *("accounts", "admin", "api", "certificates", "compat", "conformance", "episodic"),
    *("files", "find", "first", "gateway", "glossary", "health", "invitations", "jobs"),
    *("journal", "language", "livez", "login", "map", "mcp", "metrics", "privacy"),
    *(
        "proposals",
        "providers",
        "quarantine",
        "readyz",
        "recall",
        "records",
        "requests",
    ),
    *("static", "views", "workspace"),
)
NO_ROUTE: Final = "(no route)"
_SECTION: Final = "|".join(SECTIONS)
# No word and no host precedes a path of ours.
_PATH: Final = re.compile(
    rf"(?<![\w.…/-])/(api/v1/\w+|compat/\w+|{_SECTION})(?:/[^\s'\"]+|\?[^\s'\"]*)"
)
CUTS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (re.compile(r"(cmk|uk)_[\w-]+"), r"\1_…"),
    (re.compile(r"(https?://)(?:[^\s/@'\"]*@)?([^\s/?'\"]+)[^\s'\"]*"), r"\1\2/…"),
    (re.compile(r"\b([A-Z]+) /\S* (HTTP/\d)"), r"\1 /… \2"),
    (_PATH, r"/\1/…"),
    (re.compile(r"((?:^|[\s'\"(])/[^\s?'\"]*)\?[^\s'\"]*"), r"\1?…"),
    (re.compile(r"\bpeers/[^\s'\"]+"), "peers/…"),
    (re.compile(r"[^\s'\"<>()=:,/]+@[^\s'\"<>(),/]+"), "…@…"),
)
# Types whose messages are the program's or the system's, never a row's or a caller's.
PLAIN: Final = (ImportError, AttributeError, NameError, MemoryError, RecursionError)
# The same, by name: this module knows no database.
PLAIN_NAMES: Final = frozenset({"OperationalError", "InterfaceError"})
# A message of waitress's, with the path in it as it was decoded.
_SERVING: Final = re.compile(r"( while serving ).*", re.DOTALL)


def clean(text: str) -> str:
    """Return a text without keys, tokens, queries, addresses and personal paths."""
    for pattern, mask in CUTS:
        text = pattern.sub(mask, text)
    return text


def route(request: HttpRequest) -> str:
    """Return the URL pattern that a request matched, never its path.

    It has no slash in front, so that ``clean`` does not take it for an address.
    """
    # runserver hands its socket over under the same name.
    match = getattr(request, "resolver_match", None)
    return (match.route or "/") if match is not None else NO_ROUTE


# ── Exceptions ───────────────────────────────────────────────────────────────
def _message(error: BaseException) -> str:
    if isinstance(error, OSError):
        # Its text would name the file.
        return error.strerror if isinstance(error.strerror, str) else ""
    names = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, PLAIN) or names & PLAIN_NAMES:
        return clean(str(error).partition("\n")[0])
    return "(its message may quote data and is not logged)"


def _lines(error: BaseException, visited: set[int]) -> list[str]:
    """Return a traceback, causes first, with messages that quote no input."""
    visited.add(id(error))
    lines = []
    hidden = error.__suppress_context__ and error.__cause__ is None
    earlier = error.__cause__ or (None if hidden else error.__context__)
    if earlier is not None and id(earlier) not in visited:
        lines += [*_lines(earlier, visited), "\nThen:\n\n"]
    kind = type(error)
    lines.append("Traceback (most recent call last):\n")
    lines += traceback.format_tb(error.__traceback__)
    lines.append(f"{kind.__module__}.{kind.__qualname__}: {_message(error)}\n")
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            lines += ["\nIn the group:\n\n", *_lines(part, visited)]
    return lines


def _traceback(exc_info: ExcInfo) -> str:
    return "".join(_lines(exc_info[1], set())).rstrip()


# Tracebacks without local variables and without what exceptions quote.
render_exception: Final = structlog.processors.ExceptionRenderer(_traceback)


# ── Records of other packages ────────────────────────────────────────────────
def _argument(request: HttpRequest | None) -> Callable[[Any], Any]:
    """Return what replaces an argument of a record."""

    def replaced(value: Any) -> Any:
        if isinstance(value, BaseException):
            return type(value).__name__
        if not isinstance(value, str):
            return value
        if request is not None and value.startswith("/"):
            return route(request)
        if value.startswith("/"):
            # Decoded, a path may hold spaces: all of the argument is the path.
            return clean(value.replace(" ", "_"))
        return value

    return replaced


def _arguments(record: logging.LogRecord) -> Any:
    """Return a record's arguments without paths, exceptions and task arguments."""
    replaced = _argument(getattr(record, "request", None))
    if isinstance(record.args, dict):
        secret_names = {"exc", "traceback", "args", "kwargs"} & set(record.args)
        return dict(record.args) | dict.fromkeys(secret_names, "…")
    if isinstance(record.args, tuple):
        return tuple(replaced(value) for value in record.args)
    return record.args


def _text(record: logging.LogRecord) -> Any:
    """Return a record's text without values that a library added to it."""
    if record.name.startswith("django.security"):
        # It quotes the host, the referrer or the field that was refused.
        kind = record.name.rpartition(".")[2]
        return f"{kind} refused: {_where(record)}"
    if record.name == "waitress" and isinstance(record.msg, str):
        return _SERVING.sub(r"\1a request", record.msg)
    return record.msg


def _where(record: logging.LogRecord) -> str:
    request = getattr(record, "request", None)
    return route(request) if request is not None else NO_ROUTE


class Formatter(structlog.stdlib.ProcessorFormatter):
    """Formats a log record after redacting it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; the record stays unchanged for other handlers."""
        if isinstance(record.msg, dict):
            # An event of structlog's; its values are cleaned by ``redact``.
            return super().format(record)
        redacted = copy.copy(record)
        redacted.args, redacted.msg = _arguments(record), _text(record)
        if record.name.startswith("django.security"):
            redacted.args, redacted.exc_info = (), None
        # Another handler may have kept the traceback as text.
        redacted.exc_text = None
        return super().format(redacted)


def redact(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Redact every text of a structlog event."""
    # It is personal data and does not help to find a fault.
    event.pop("user_agent", None)
    if event.get("event") == "task_failed":
        # The exception's message; its traceback follows without one.
        event.pop("error", None)
    for name, value in event.items():
        if isinstance(value, str):
            event[name] = clean(value)
        elif isinstance(value, BaseException):
            event[name] = type(value).__name__
    return event
