"""How the house logs: one structured line per event, and nothing that is a secret.

No request body is ever handed to a logger here. What may still slip into a line, a
path's query, a bearer key, the token of a login link, is cut out of the finished text.
"""

from __future__ import annotations

import logging
import re
import sys
from typing import TYPE_CHECKING, Any, Final

import structlog

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor

OURS: Final = ("memory", "episodic", "gdpr", "crewship_memory", "django_structlog")
SECRETS: Final = (
    (re.compile(r"(cmk|uk)_[\w-]+"), r"\1_…"),
    (re.compile(r"(/login/)[^/\s]+/[^/\s]+"), r"\1…"),
    (re.compile(r"((?:^|[\s'\"(])/[^\s?'\"]*)\?[^\s'\"]*"), r"\1?…"),
)


def clean(text: str) -> str:
    """Return a text without keys, login tokens and query strings."""
    for pattern, mask in SECRETS:
        text = pattern.sub(mask, text)
    return text


def redact(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Clean every text of an event."""
    for name, value in event.items():
        if isinstance(value, str):
            event[name] = clean(value)
    return event


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
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": _first(),
        "processors": [
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            # Plain tracebacks: the pretty ones print local variables, bodies included.
            structlog.processors.format_exc_info,
            redact,
            _renderer(log_format),
        ],
    }


def configured(log_format: str, level: str) -> dict[str, Any]:
    """Set structlog up and return Django's LOGGING: one handler, on standard error."""
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
        "formatters": {"house": _formatter(log_format)},
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "house"}
        },
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            **{name: {"level": at} for name in OURS},
            "django": {"handlers": [], "level": "WARNING", "propagate": True},
            # A refusal has its line from django_structlog already.
            "django.request": {"level": "ERROR"},
        },
    }
