"""Logging: one structured line per event on standard error.

No request body is ever passed to a logger here. ``log_redaction`` removes what may
still get into a line: a path, a query, a bearer key, the quotation of an exception.
"""

from __future__ import annotations

import logging
import secrets
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

import structlog

from crewship_memory import log_redaction

if TYPE_CHECKING:
    from structlog.typing import Processor

OWN_LOGGERS: Final = (
    "memory",
    "episodic",
    "gdpr",
    "crewship_memory",
    "django_structlog",
)


def _first() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def _renderer(log_format: str) -> Processor:
    if log_format == "json":
        return structlog.processors.JSONRenderer(ensure_ascii=False)
    return structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())


def _formatter(log_format: str) -> dict[str, Any]:
    return {
        "()": log_redaction.Formatter,
        "foreign_pre_chain": _first(),
        "processors": [
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            log_redaction.render_exception,
            log_redaction.redact,
            _renderer(log_format),
        ],
    }


def configured(log_format: str, level: str) -> dict[str, Any]:
    """Configure structlog and return Django's LOGGING with one handler."""
    _catch_uncaught()
    number = logging.getLevelNamesMapping().get(level.upper(), logging.INFO)
    structlog.configure(
        processors=[*_first(), structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    at = logging.getLevelName(number)
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": _formatter(log_format)},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            **{name: {"level": at} for name in OWN_LOGGERS},
            "django": {"handlers": [], "level": "WARNING", "propagate": True},
            # A refusal has its line from django_structlog already.
            "django.request": {"level": "ERROR"},
            # runserver's own; Django gives it a handler that prints whole addresses.
            "django.server": {
                "handlers": ["stderr"],
                "level": "WARNING",
                "propagate": False,
            },
            # Below this they print the addresses that they call.
            "httpx": {"level": "WARNING"},
            "httpcore": {"level": "WARNING"},
            # A task that fails has its line from django_structlog already.
            "celery.app.trace": {"level": "CRITICAL"},
            # A line for every request that waits for a thread.
            "waitress.queue": {"level": "ERROR"},
        },
    }


@contextmanager
def own_run() -> Iterator[None]:
    """Give the lines of work that no request set going an id of their own."""
    with structlog.contextvars.bound_contextvars(run_id=secrets.token_hex(8)):
        yield


# ── What nobody caught ───────────────────────────────────────────────────────
def _catch_uncaught() -> None:
    """Make warnings and uncaught exceptions lines as all others."""
    logging.captureWarnings(capture=True)
    sys.excepthook = _uncaught
    threading.excepthook = thread_failed


def thread_failed(failure: threading.ExceptHookArgs) -> None:
    """Log a thread's exception; Python's own hook would print the quoted data."""
    if failure.exc_value is None:
        return
    name = failure.thread.name if failure.thread is not None else None
    log = structlog.get_logger(__name__)
    log.error("thread_failed", thread=name, exc_info=failure.exc_value)


def _uncaught(
    kind: type[BaseException], error: BaseException, where: TracebackType | None
) -> None:
    """Log what ends the process; before the settings are read, print it."""
    if issubclass(kind, KeyboardInterrupt) or not logging.getLogger().handlers:
        sys.__excepthook__(kind, error, where)
        return
    log = structlog.get_logger(__name__)
    log.critical("process_failed", exc_info=error)
