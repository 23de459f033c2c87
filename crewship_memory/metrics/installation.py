"""The figures of the whole installation, read from its database and its queues.

Each is read at most every few seconds, for all processes that share a cache, and by
statements that read no large table: what is exact where it is cheap, and the
database's own estimate where it is not. A part that cannot be read is left out, and
``crewship_figures_read`` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache as cached_once
from typing import Any, Final

import structlog
from django.core.cache import cache
from django.db import DatabaseError, InterfaceError, connection, transaction
from prometheus_client.core import Metric

from crewship_memory.metrics import (
    index_figures,
    machine,
    queue_figures,
    work_figures,
)
from memory.measurements import declared
from memory.measurements.declared import Figure, Value

# How old a figure may be that costs some milliseconds, or more.
SECONDS: Final = 10
SLOW_SECONDS: Final = 120
# A figure is not worth more of the database than this.
MOST_MILLISECONDS: Final = 2_000
READ: Final = declared.computed(
    "figures_read",
    "Whether a part of the installation's figures could be read.",
    ["part"],
)
Values = dict[str, list[Value]]
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Part:
    """Some figures that are read together, and how old they may be."""

    name: str
    figures: tuple[Figure, ...]
    read: Callable[[], dict[Figure, list[Value]]]
    seconds: int = SECONDS
    is_of_database: bool = True


PARTS: Final = (
    Part("journal", work_figures.JOURNAL, work_figures.journal),
    Part("index", index_figures.LAG, index_figures.lag),
    Part("index_size", index_figures.SIZE, index_figures.size, SLOW_SECONDS),
    Part("review", work_figures.REVIEW, work_figures.review),
    Part("cases", work_figures.CASES, work_figures.cases),
    Part("jobs", work_figures.JOBS, work_figures.jobs),
    Part("webhooks", work_figures.WEBHOOKS, work_figures.webhooks),
    Part("erasures", work_figures.ERASURES, work_figures.erasures, SLOW_SECONDS),
    Part("database_size", work_figures.SIZE, work_figures.size, SLOW_SECONDS),
    Part("queues", queue_figures.QUEUES, queue_figures.queues, is_of_database=False),
)


def collect() -> Iterator[Metric]:
    """Yield every part that can be read, and which could be."""
    readable: list[Value] = []
    # Asked once, where a part is not cached: each would wait for one that is away.
    is_up = cached_once(lambda: machine.database_seconds() is not None)
    for part in PARTS:
        values = _cached(part, is_up)
        readable.append(((part.name,), float(values is not None)))
        for figure in part.figures:
            if values is not None and figure.name in values:
                yield figure.family(values[figure.name])
    yield READ.family(readable)


def _cached(part: Part, is_up: Callable[[], bool]) -> Values | None:
    key = f"crewship:metrics:{part.name}"
    values: Values | None = cache.get(key)
    if values is None and (is_up() or not part.is_of_database):
        values = _read(part)
        if values is not None:
            cache.set(key, values, part.seconds)
    return values


def _read(part: Part) -> Values | None:
    try:
        with _time_limit(part):
            return {figure.name: values for figure, values in part.read().items()}
    except (DatabaseError, InterfaceError, OSError) as error:
        log.warning("figures_not_read", part=part.name, error=type(error).__name__)
        return None


def _time_limit(part: Part) -> AbstractContextManager[Any]:
    """Return a context in which PostgreSQL gives a statement up after a while."""
    if connection.vendor != "postgresql" or not part.is_of_database:
        return nullcontext()
    return _statement_timeout()


@contextmanager
def _statement_timeout() -> Iterator[None]:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = {MOST_MILLISECONDS}")
        yield
        with connection.cursor() as cursor:
            # Also where a caller's own transaction goes on.
            cursor.execute("SET LOCAL statement_timeout = 0")
