"""Mixed load at a constant rate, and what it did to latency, memory and data."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import connection, connections

from crewship_memory.bench import load_checks, load_fleet, load_servers
from crewship_memory.bench.client import Client
from crewship_memory.bench.load_fleet import Fleet, Ledger
from crewship_memory.bench.load_mix import WEIGHTS, Mix
from crewship_memory.bench.load_sender import Plan, Results, Sender
from crewship_memory.bench.load_servers import Servers
from crewship_memory.bench.measure import wait_for_index
from crewship_memory.bench.spread import spread

Progress = Callable[[str], object]
# The model is loaded and caches fill in the first part, which no slope counts.
WARM_TENTHS: Final = 3
DRAIN_SECONDS: Final = 300


def measure(plan: Plan, progress: Progress) -> dict[str, Any]:
    """Run servers, send the load, and return figures and checks."""
    folder = Path(settings.DATA_DIR)
    fleet, ledger = load_fleet.make(), Ledger()
    connections.close_all()
    with _servers(folder) as servers:
        with Client(servers.url, fleet.admin) as http:
            progress("waiting for the index of what was there before …")
            wait_for_index(http, DRAIN_SECONDS)
        report = _run(servers, fleet, ledger, plan, progress)
        with Client(servers.url, fleet.admin) as http:
            progress("waiting for the index …")
            report["index"] = _drain(http)
        progress("verifying …")
        report["checks"] = load_checks.check(servers.url, fleet, ledger)
        connections.close_all()
        report["faults"] = faults(report)
    report["log_lines"] = load_servers.log_lines(folder)
    return report


def _servers(folder: Path) -> AbstractContextManager[Servers]:
    if connection.vendor == "sqlite":
        return load_servers.embedded(folder)
    return load_servers.scaled_out(folder)


def _run(
    servers: Servers, fleet: Fleet, ledger: Ledger, plan: Plan, progress: Progress
) -> dict[str, Any]:
    sender = Sender(servers.url, Mix(fleet, ledger), plan)
    tenths, before = [_sample(servers, 0)], _disk(servers.folder)
    cpu, own_cpu, start = servers.cpu_seconds(), time.process_time(), time.monotonic()
    for tenth in sender.run():
        tenths.append(_sample(servers, tenth))
        progress(_line(tenth, sender.results, tenths[-1]))
    own_cpu, seconds = time.process_time() - own_cpu, time.monotonic() - start
    results = sender.results
    after = servers.cpu_seconds()
    return {
        "database": connection.vendor,
        "seconds": plan.seconds,
        "mix_of_100": WEIGHTS,
        "rate_asked": plan.rate,
        "rate_reached": round(results.requests / max(results.last_answer, 1e-9), 1),
        "not_sent": plan.requests - results.requests,
        **figures(results),
        "tenths": tenths,
        "memory_slope_mb_per_minute": slopes(tenths, plan.seconds),
        "disk": {"before": before, "after": _disk(servers.folder)},
        "cpu_share": {
            "generator": round(own_cpu / seconds, 3),
            **{name: _share(cpu[name], after[name], seconds) for name in cpu},
        },
        "load_average": round(os.getloadavg()[0], 1),
    }


def figures(results: Results) -> dict[str, Any]:
    """Return counts, latencies by kind, and how late the generator itself was."""
    return {
        "requests": results.requests,
        "server_errors": results.total("5"),
        # By kind: nothing of the mix asks for one.
        "client_errors": client_errors(results),
        "no_answer": results.requests - sum(results.total(d) for d in "12345"),
        "statuses": {
            kind: dict(counter) for kind, counter in sorted(results.statuses.items())
        },
        "ms": {
            kind: spread(all_ms) for kind, all_ms in sorted(results.latencies.items())
        },
        "sent_late_ms": spread(results.late),
    }


def client_errors(results: Results) -> dict[str, int]:
    """Return by kind how many answers were a 4xx, of kinds with any."""
    return {
        kind: count
        for kind in sorted(results.statuses)
        if (count := results.total("4", kind))
    }


def slopes(tenths: list[dict[str, Any]], seconds: int) -> dict[str, float | None]:
    """Return by process how memory grew after the first part, by least squares."""
    minutes = seconds / 600
    counted = [row for row in tenths if row["tenth"] > WARM_TENTHS]
    times = [row["tenth"] * minutes for row in counted]
    result: dict[str, float | None] = {}
    for name in tenths[0]["memory_mb"]:
        sizes = [row["memory_mb"][name] for row in counted]
        if len(sizes) < 2 or None in sizes:
            result[name] = None
            continue
        result[name] = round(statistics.linear_regression(times, sizes).slope, 2)
    return result


def _sample(servers: Servers, tenth: int) -> dict[str, Any]:
    return {
        "tenth": tenth,
        "memory_mb": servers.memory_mb(),
        "disk_mb": _disk(servers.folder),
    }


def _disk(folder: Path) -> dict[str, float]:
    """Return the size of the database and of its log in MB."""
    if connection.vendor == "sqlite":
        file = Path(settings.DATABASES["default"]["NAME"])
        log = file.with_name(file.name + "-wal")
        return {"database": _mb(file), "log": _mb(log), "folder": _folder_mb(folder)}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_database_size(current_database()),"
            " pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')"
        )
        size, written = cursor.fetchone()
    return {
        "database": round(size / 1e6, 1),
        "log_written": round(float(written) / 1e6, 1),
    }


def _mb(path: Path) -> float:
    return round(path.stat().st_size / 1e6, 1) if path.exists() else 0.0


def _folder_mb(folder: Path) -> float:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            continue
    return round(total / 1e6, 1)


def _share(before: float | None, after: float | None, seconds: float) -> float | None:
    if before is None or after is None:
        return None
    return round((after - before) / seconds, 3)


def _line(tenth: int, results: Results, sample: dict[str, Any]) -> str:
    recent = results.latencies["recall"][-500:]
    p99 = spread(recent)["p99"] if recent else None
    return (
        f"{tenth}/10: {results.requests} answered, recall p99 {p99} ms,"
        f" 5xx {results.total('5')}, memory {sample['memory_mb']}"
    )


def _drain(http: Client) -> dict[str, Any]:
    """Return how far behind the index was at the end, and how long it took."""
    at_end = http.get("/episodic/index").json()
    start = time.perf_counter()
    wait_for_index(http, DRAIN_SECONDS)
    last = http.get("/episodic/index").json()
    return {
        "pending_at_end": at_end["pending"],
        "oldest_pending_seconds": at_end["oldest_pending_seconds"],
        "drained_seconds": round(time.perf_counter() - start, 1),
        "left": last["pending"],
        "failed": last["failed"],
        "indexed": last["indexed"],
        "embeddable": last["embeddable"],
    }


def faults(report: dict[str, Any]) -> list[str]:
    """Return a sentence on each thing that failed, is lost, or is there twice."""
    sentences = [
        f"{n} answers were a 4xx: {kind}."
        for kind, n in report["client_errors"].items()
    ]
    if report["server_errors"]:
        sentences.append(f"{report['server_errors']} answers were a 5xx.")
    if report["no_answer"]:
        sentences.append(f"{report['no_answer']} requests had no answer.")
    return [*sentences, *report["checks"]["faults"]]
