"""What the processes count while they work, by bounded labels."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import wraps
from time import perf_counter
from typing import Final, ParamSpec, TypeVar

from memory.measurements import declared

P = ParamSpec("P")
R = TypeVar("R")
SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
# A stage of a recall, and an append, take a millisecond or a few.
SHORT: Final = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.5, 2.0)
LONG: Final = (0.1, 1.0, 10.0, 60.0, 600.0, 3_600.0)

# ── Requests ─────────────────────────────────────────────────────────────────
REQUESTS: Final = declared.counter(
    "requests", "Answers, by class of status.", ["status"]
)
REQUEST_SECONDS: Final = declared.histogram(
    "request_seconds",
    "Time to answer a request, by the pattern of its route.",
    ["method", "route", "status"],
    SECONDS,
)

# ── Journal and recall ───────────────────────────────────────────────────────
APPEND_SECONDS: Final = declared.histogram(
    "append_seconds", "Time to append what an agent sent.", ["kind"], SHORT
)
APPENDED: Final = declared.counter(
    "appended_entries", "Entries that agents appended.", ["kind"]
)
RECALLS: Final = declared.counter("recalls", "Recalls answered.", ["mode"])
DEGRADED: Final = declared.counter(
    "recalls_degraded", "Recalls answered by words alone.", ["mode"]
)
RECALL_SECONDS: Final = declared.histogram(
    "recall_seconds", "Time of a recall, by stage.", ["mode", "stage"], SHORT
)

# ── The embedder ─────────────────────────────────────────────────────────────
EMBEDDER_UP: Final = declared.single_gauge(
    "embedder_up", "Whether the last call was answered.", "livemostrecent"
)
EMBEDDER_LAST_MS: Final = declared.single_gauge(
    "embedder_last_ms", "The last call's length.", "livemostrecent"
)
EMBEDDER_CALLS: Final = declared.counter(
    "embedder_calls", "Calls of the embedder.", ["result"]
)
QUERY_CACHE_HITS: Final = declared.single_counter(
    "query_cache_hits", "Questions already embedded."
)
QUERY_CACHE_MISSES: Final = declared.single_counter(
    "query_cache_misses", "Questions embedded anew."
)

# ── What a process keeps in memory ───────────────────────────────────────────
QUERY_CACHE_SIZE: Final = declared.single_gauge(
    "query_cache_size", "Questions kept.", "livesum"
)
VECTOR_BYTES: Final = declared.single_gauge(
    "vector_memory_bytes", "Vectors kept in memory.", "livesum"
)
WORD_INDEX_BYTES: Final = declared.single_gauge(
    "word_index_bytes", "Word indexes kept in memory.", "livesum"
)
POOL: Final = declared.gauge(
    "database_pool_connections", "Connections in the pools.", ["state"], "livesum"
)
POOL_WAITING: Final = declared.single_gauge(
    "database_pool_waiting", "Requests that wait for a connection.", "livesum"
)

# ── Jobs and what goes out ───────────────────────────────────────────────────
JOB_RUNS: Final = declared.counter("job_runs", "Runs of jobs.", ["name", "state"])
JOB_SECONDS: Final = declared.histogram(
    "job_seconds", "Time of a run of a job.", ["name"], LONG
)
JOB_SUCCESS: Final = declared.gauge(
    "job_last_success_timestamp_seconds", "When a job last ended well.", ["name"], "max"
)
WEBHOOKS: Final = declared.counter(
    "webhook_deliveries", "Attempts to deliver a webhook.", ["result"]
)
MAILS: Final = declared.counter("mails", "Mails handed over.", ["result"])
OUTBOUND_SECONDS: Final = declared.histogram(
    "outbound_seconds", "Time of a call to another server.", ["peer", "result"], SECONDS
)


def append_measured(kind: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Measure an append that succeeds, and count the entries that it wrote.

    A batch has them in ``accepted``.
    """

    def measured(append: Callable[P, R]) -> Callable[P, R]:
        @wraps(append)
        def act(*args: P.args, **kwargs: P.kwargs) -> R:
            start = perf_counter()
            result = append(*args, **kwargs)
            APPEND_SECONDS.labels(kind).observe(perf_counter() - start)
            APPENDED.labels(kind).inc(len(getattr(result, "accepted", (result,))))
            return result

        return act

    return measured


def recalled(mode: str, milliseconds: dict[str, float], *, is_degraded: bool) -> None:
    """Count a recall and the time of the stages that it had."""
    RECALLS.labels(mode).inc()
    # Also by nothing: a rate needs to see the first one come.
    DEGRADED.labels(mode).inc(int(is_degraded))
    for stage, value in milliseconds.items():
        if value:
            RECALL_SECONDS.labels(mode, stage).observe(value / 1_000)


def webhook_sent(result: str) -> None:
    """Count an attempt to deliver a webhook."""
    for outcome in {result, "failed"}:
        WEBHOOKS.labels(outcome).inc(int(outcome == result))


def embedder_called(milliseconds: float, failure: str | None) -> None:
    """Count a call of the embedder; ``failure`` is its code."""
    EMBEDDER_CALLS.labels(failure or "ok").inc()
    EMBEDDER_UP().set(0.0 if failure else 1.0)
    EMBEDDER_LAST_MS().set(milliseconds)


def job_ended(job: str, state: str, began_at: datetime, now: datetime) -> None:
    """Count a run of a job."""
    for outcome in {state, "failed"}:
        JOB_RUNS.labels(job, outcome).inc(int(outcome == state))
    JOB_SECONDS.labels(job).observe(max(0.0, (now - began_at).total_seconds()))
    if state == "done":
        JOB_SUCCESS.labels(job).set(now.timestamp())
