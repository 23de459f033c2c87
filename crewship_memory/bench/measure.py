"""Latencies of append, of becoming recallable, and of recall, over HTTP."""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from crewship_memory.bench import baseline, process
from crewship_memory.bench.client import Client
from crewship_memory.bench.dataset import AGENTS, BenchWorkspace, Writer
from crewship_memory.bench.server import Running
from crewship_memory.bench.spread import spread, timed
from episodic.index import engine
from memory.models import JournalEntry

# The peer loads every vector for each question.
NAIVE_MOST: Final = 200_000


def _entry(writer: Writer, n: int) -> dict[str, Any]:
    return {
        "entry_type": "memory.recorded",
        "summary": writer.sentence(9),
        "payload": {"text": writer.sentence(25), "order": n},
    }


def append_single(http: Client, count: int, pid: int) -> dict[str, Any]:
    """Append one by one over one connection, while the server embeds beside it."""
    writer, latencies = Writer(11), list[float]()
    indexed = http.get("/episodic/index").json()["indexed"]
    cpu, start = process.cpu_seconds(pid), time.perf_counter()
    for n in range(count):
        with timed(latencies):
            http.post("/journal", json=_entry(writer, n)).raise_for_status()
    seconds = time.perf_counter() - start
    cpu_after = process.cpu_seconds(pid)
    indexed = http.get("/episodic/index").json()["indexed"] - indexed
    return {
        "entries": count,
        "per_second": round(count / seconds),
        "ms": spread(latencies),
        "embedded_beside_per_second": round(indexed / seconds, 1),
        "server_cpu_ms_per_append": None
        if cpu is None or cpu_after is None
        else round((cpu_after - cpu) / count * 1_000, 2),
    }


def append_side_by_side(url: str, token: str, clients: int, count: int) -> Any:
    """Append one by one over several connections at once, a thread for each."""

    def run(number: int) -> list[float]:
        writer, latencies = Writer(20 + number), list[float]()
        with Client(url, token) as http:
            for n in range(count // clients):
                with timed(latencies):
                    http.post("/journal", json=_entry(writer, n)).raise_for_status()
        return latencies

    start = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        latencies = [ms for part in pool.map(run, range(clients)) for ms in part]
    seconds = time.perf_counter() - start
    return {
        "clients": clients,
        "entries": len(latencies),
        "per_second": round(len(latencies) / seconds),
        "ms": spread(latencies),
    }


def append_batches(http: Client, batches: int, size: int) -> dict[str, Any]:
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


def indexed(http: Client, count: int) -> dict[str, Any]:
    """Append an entry and wait, without asking, until the sweep has embedded it."""
    writer, latencies = Writer(14), list[float]()
    for n in range(count):
        with timed(latencies):
            body = _entry(writer, n)
            http.post("/journal", json=body).raise_for_status()
            end = time.perf_counter() + 30
            while time.perf_counter() < end:
                if not http.get("/episodic/index").json()["pending"]:
                    break
                time.sleep(0.01)
    return {"entries": count, "ms": spread(latencies)}


def recallable(http: Client, count: int) -> dict[str, Any]:
    """Append an entry and ask until the dense ranking has it, ``count`` times.

    ``at_once`` is how many the first question found: what its asker wrote a moment ago
    is embedded with it.
    """
    writer, latencies, at_once = Writer(13), list[float](), 0
    for n in range(count):
        body = _entry(writer, n)
        before = time.perf_counter()
        entry_id = http.post("/journal", json=body).raise_for_status().json()["id"]
        question = {"query": body["summary"], "mode": "dense", "mark": False}
        questions = 0
        while time.perf_counter() - before < 30:
            hits = http.post("/episodic/recall", json=question).json()["hits"]
            questions += 1
            if any(hit["entry_id"] == entry_id for hit in hits):
                break
            time.sleep(0.01)
        at_once += questions == 1
        latencies.append((time.perf_counter() - before) * 1000)
    return {"entries": count, "at_once": at_once, "ms": spread(latencies)}


def wait_for_index(http: Client, seconds: float) -> dict[str, Any]:
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


def recall(http: Client, questions: int, rounds: int, pid: int) -> dict[str, Any]:
    """Ask hybrid questions; the first round warms the cache of question vectors."""
    writer = Writer(99)
    bodies = [{"query": writer.sentence(6), "mark": False} for _ in range(questions)]
    for body in bodies:
        http.post("/episodic/recall", json=body).raise_for_status()
    stages: dict[str, list[float]] = {}
    latencies: list[float] = []
    cpu = process.cpu_seconds(pid)
    for body in bodies * rounds:
        with timed(latencies):
            answer = http.post("/episodic/recall", json=body).raise_for_status().json()
        for name, value in answer["timings_ms"].items():
            stages.setdefault(name, []).append(value)
    cpu_after = process.cpu_seconds(pid)
    return {
        "questions": len(latencies),
        "end_to_end_ms": spread(latencies),
        "server_cpu_ms_per_question": None
        if cpu is None or cpu_after is None
        else round((cpu_after - cpu) / len(latencies) * 1_000, 2),
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


def cold_start(http: Client, started: float) -> dict[str, float]:
    """Ask the first question; return the seconds to it, and since the process began.

    The server was ready a moment ago: it has begun to load by itself.
    """
    asking_start = time.perf_counter()
    question = {"query": Writer(98).sentence(6), "mark": False}
    http.post("/episodic/recall", json=question).raise_for_status()
    answered = time.perf_counter()
    return {
        "process_start_to_ready_seconds": round(asking_start - started, 3),
        "first_answer_seconds": round(answered - asking_start, 3),
        "process_start_to_first_answer_seconds": round(answered - started, 3),
    }


def compare(
    running: Running, workspace: BenchWorkspace, own_token: str
) -> dict[str, Any]:
    """Measure recall at one size: the product over HTTP, the peer in this process."""
    pid = running.pid
    with Client(running.url, workspace.token) as http:
        cold = cold_start(http, running.started)
        loaded_memory = process.memory_mb(pid)
        idle_after = process.wait_until_idle(pid)
        own_run = recall(http, questions=60, rounds=5, pid=pid)
    with Client(running.url, own_token) as http:
        own_scope = recall(http, questions=60, rounds=5, pid=pid)
    memory = process.memory_mb(pid)
    rows = JournalEntry.objects.filter(workspace_id=workspace.workspace_id)
    entries = rows.count()
    return {
        "entries": entries,
        "data": "generated: texts by Zipf's law, random unit vectors",
        "cold_start": {**cold, "idle_after_seconds": idle_after},
        "hybrid": own_run,
        "hybrid_own_scope": {"agents": AGENTS, **own_scope},
        "server_memory_mb": {**memory, "after_first_answer": loaded_memory["now"]},
        **_naive(workspace, entries, own_run["end_to_end_ms"]["p50"]),
    }


def _naive(workspace: BenchWorkspace, entries: int, ours: float) -> dict[str, Any]:
    """Return the peer's figures, and how much slower than ours it is."""
    if entries > NAIVE_MOST:
        why = f"not run above {NAIVE_MOST} entries: minutes and gigabytes a question"
        return {"naive": {"skipped": why}, "times_faster": None}
    figures = naive_recall(workspace, 3 if entries > 10_000 else 10)
    return {"naive": figures, "times_faster": round(figures["ms"]["p50"] / ours, 1)}
