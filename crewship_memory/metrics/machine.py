"""What this machine's processes take, and whether they reach database and Redis."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, Final

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from prometheus_client.core import Metric
from prometheus_client.process_collector import ProcessCollector

from memory.measurements import declared, processes

REDIS_SECONDS: Final = 0.5
DATABASE_SECONDS_MOST: Final = 2.0
# As Prometheus's own client reads them, for each process.
PROCESS_LABELS: Final = ("pid", "role")
PROCESSES: Final = declared.computed(
    "processes", "Processes of this machine that serve, by role.", ["role"]
)
DATABASE_UP: Final = declared.computed(
    "database_up", "Whether the database answers this machine."
)
DATABASE_SECONDS: Final = declared.computed(
    "database_answer_seconds", "How long the database took to answer."
)
REDIS_UP: Final = declared.computed("redis_up", "Whether Redis answers this machine.")
REDIS_SECONDS_TAKEN: Final = declared.computed(
    "redis_answer_seconds", "How long Redis took to answer."
)
DISK_FREE: Final = declared.computed(
    "disk_free_bytes", "Free bytes of the data folder's disk."
)
DISK: Final = declared.computed("disk_bytes", "Size of the data folder's disk.")


def collect() -> Iterator[Metric]:
    """Yield all of it; what does not answer is said to be down."""
    yield from _processes()
    yield from _database()
    yield from _redis()
    yield from _disk()


def _processes() -> Iterator[Metric]:
    """Yield the figures of each live process; without a folder of this one alone."""
    roles = processes.roles()
    families: dict[str, Metric] = {}
    for pid, role in (roles or {os.getpid(): ""}).items():
        collector = ProcessCollector(pid=lambda pid=pid: pid, registry=None)  # type: ignore[misc]
        for family in collector.collect():
            labels = {"pid": str(pid), "role": role} if role else {}
            merged = families.setdefault(family.name, family)
            samples = [sample._replace(labels=labels) for sample in family.samples]
            earlier_samples = [] if merged is family else merged.samples
            merged.samples = [*earlier_samples, *samples]
    yield from families.values()
    by_role = Counter(roles.values())
    yield PROCESSES.family([((role,), count) for role, count in by_role.items()])


def database_seconds() -> float | None:
    """Return how long the database takes to answer, None when it does not in time."""
    start = time.perf_counter()
    try:
        if connection.vendor == "postgresql":
            # The pool's own time-out is longer than a scrape may take.
            with connection.pool.connection(timeout=DATABASE_SECONDS_MOST) as plain:  # type: ignore[attr-defined]
                plain.execute("SELECT 1")
        else:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
    except (DatabaseError, InterfaceError, connection.Database.Error):  # type: ignore[attr-defined]
        return None
    return time.perf_counter() - start


def _database() -> Iterator[Metric]:
    seconds = database_seconds()
    yield DATABASE_UP.family([((), float(seconds is not None))])
    if seconds is not None:
        yield DATABASE_SECONDS.family([((), seconds)])


@cache
def redis_client(url: str) -> Any:
    """Return a client that waits for half a second at most."""
    # The library takes a twentieth of a start's time, and is needed only with Redis.
    return import_module("redis").Redis.from_url(
        url, socket_timeout=REDIS_SECONDS, socket_connect_timeout=REDIS_SECONDS
    )


def _redis() -> Iterator[Metric]:
    if not settings.REDIS_URL:
        return
    start = time.perf_counter()
    try:
        redis_client(settings.REDIS_URL).ping()
    except (import_module("redis").RedisError, OSError):
        yield REDIS_UP.family([((), 0.0)])
        return
    yield REDIS_UP.family([((), 1.0)])
    yield REDIS_SECONDS_TAKEN.family([((), time.perf_counter() - start)])


def _disk() -> Iterator[Metric]:
    try:
        usage = shutil.disk_usage(settings.DATA_DIR)
    except OSError:
        return
    yield DISK_FREE.family([((), usage.free)])
    yield DISK.family([((), usage.total)])
