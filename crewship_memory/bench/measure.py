"""Latencies of append, of becoming recallable, and of recall, over HTTP."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx

from crewship_memory.bench import baseline
from crewship_memory.bench.dataset import BenchWorkspace, Writer
from episodic.index import engine
from memory.models import JournalEntry


def spread(milliseconds: Sequence[float]) -> dict[str, float]:
    """Return median, p95, p99 and maximum in milliseconds."""
    ascending = sorted(milliseconds)

    def at(share: float) -> float:
        return round(ascending[min(len(ascending) - 1, int(share * len(ascending)))], 2)

    return {"p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "max": at(1.0)}


@contextmanager
def timed(latencies: list[float]) -> Iterator[None]:
    """Append to ``latencies`` how many milliseconds the block took."""
    before = time.perf_counter()
    yield
    latencies.append((time.perf_counter() - before) * 1_000)


def client(url: str, workspace: BenchWorkspace) -> httpx.Client:
    """Return a client with one kept-alive connection and the workspace's key."""
    headers = {"Authorization": f"Bearer {workspace.token}"}
    return httpx.Client(base_url=f"{url}/api/v1", headers=headers, timeout=60)


def _entry(writer: Writer, n: int) -> dict[str, Any]:
    return {
        "entry_type": "memory.recorded",
        "summary": writer.sentence(9),
        "payload": {"text": writer.sentence(25), "order": n},
    }


def append_single(http: httpx.Client, count: int) -> dict[str, Any]:
    """Append one by one over one connection."""
    writer, latencies = Writer(11), list[float]()
    start = time.perf_counter()
    for n in range(count):
        with timed(latencies):
            http.post("/journal", json=_entry(writer, n)).raise_for_status()
    rate = count / (time.perf_counter() - start)
    return {"entries": count, "per_second": round(rate), "ms": spread(latencies)}


def append_batches(http: httpx.Client, batches: int, size: int) -> dict[str, Any]:
    """Append in batches over one connection."""
    writer, latencies = Writer(12), list[float]()
    for _ in range(batches):
        body = {"entries": [_entry(writer, n) for n in range(size)]}
        with timed(latencies):
            answer = http.post("/journal/batch", json=body).raise_for_status().json()
        if len(answer["accepted"]) != size:
            message = "The server rejected entries of the benchmark."
            raise RuntimeError(message)
    rate = batches * size / (sum(latencies) / 1000)
    return {
        "entries": batches * size,
        "batch": size,
        "per_second": round(rate),
        "ms_per_batch": spread(latencies),
    }


def recallable(http: httpx.Client, count: int) -> dict[str, Any]:
    """Append an entry and ask until the dense ranking has it, ``count`` times."""
    writer, latencies = Writer(13), []
    for n in range(count):
        body = _entry(writer, n)
        before = time.perf_counter()
        entry_id = http.post("/journal", json=body).raise_for_status().json()["id"]
        question = {"query": body["summary"], "mode": "dense", "mark": False}
        while time.perf_counter() - before < 30:
            hits = http.post("/episodic/recall", json=question).json()["hits"]
            if any(hit["entry_id"] == entry_id for hit in hits):
                break
            time.sleep(0.01)
        latencies.append((time.perf_counter() - before) * 1000)
    return {"entries": count, "ms": spread(latencies)}


def wait_for_index(http: httpx.Client, seconds: float) -> dict[str, Any]:
    """Wait until nothing is pending; return the seconds and entries per second."""
    start = time.perf_counter()
    first = last = http.get("/episodic/index").json()
    while last["pending"] and time.perf_counter() - start < seconds:
        time.sleep(0.5)
        last = http.get("/episodic/index").json()
    elapsed = time.perf_counter() - start
    indexed = last["indexed"] - first["indexed"]
    return {
        "indexed": indexed,
        "left": last["pending"],
        "per_second": round(indexed / elapsed, 1) if indexed else None,
    }


def recall(http: httpx.Client, questions: int, rounds: int) -> dict[str, Any]:
    """Ask hybrid questions; the first round warms the cache of question vectors."""
    writer = Writer(99)
    bodies = [{"query": writer.sentence(6), "mark": False} for _ in range(questions)]
    for body in bodies:
        http.post("/episodic/recall", json=body).raise_for_status()
    stages: dict[str, list[float]] = {}
    latencies: list[float] = []
    for body in bodies * rounds:
        with timed(latencies):
            answer = http.post("/episodic/recall", json=body).raise_for_status().json()
        for name, value in answer["timings_ms"].items():
            stages.setdefault(name, []).append(value)
    return {
        "questions": len(latencies),
        "end_to_end_ms": spread(latencies),
        "stage_p50_ms": {k: round(statistics.median(v), 2) for k, v in stages.items()},
    }


def naive_recall(workspace: BenchWorkspace, runs: int) -> dict[str, Any]:
    """Measure the peer's recall in this process."""
    query = engine.embedder().embed_query(Writer(99).sentence(6)).tolist()
    latencies: list[float] = []
    for _ in range(runs):
        with timed(latencies):
            baseline.recall(workspace.workspace_id, query)
    return {"runs": runs, "ms": spread(latencies)}


def compare(url: str, workspace: BenchWorkspace) -> dict[str, Any]:
    """Measure recall at one size: the product over HTTP, the peer in this process."""
    with client(url, workspace) as http:
        own_run = recall(http, questions=60, rounds=5)
    rows = JournalEntry.objects.filter(workspace_id=workspace.workspace_id)
    entries = rows.count()
    peer_run = naive_recall(workspace, 3 if entries > 10_000 else 10)
    faster = peer_run["ms"]["p50"] / own_run["end_to_end_ms"]["p50"]
    return {
        "entries": entries,
        "hybrid": own_run,
        "naive": peer_run,
        "times_faster": round(faster, 1),
    }
