"""One peer on given vectors, in a process of its own; run as a module.

Loads them, asks each question twice, of which the second time counts, and prints as
JSON how long and how much memory that took and which rows were nearest.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import django

from crewship_memory.bench import peer_input, peer_libraries, peer_services, process
from crewship_memory.bench.peer_input import Ask, PeerInput
from crewship_memory.bench.spread import spread, timed

LOADERS: Final[dict[str, Callable[[PeerInput], Ask]]] = {
    "crewship": peer_libraries.crewship,
    "numpy": peer_libraries.numpy,
    "sqlite-vec": peer_libraries.sqlite_vec,
    "faiss-flat": peer_libraries.faiss_flat,
    "usearch-exact": peer_libraries.usearch_exact,
    "usearch-hnsw": peer_libraries.usearch_hnsw,
    "mcp-memory-service": peer_services.mcp_memory,
    "mem0": peer_services.mem0,
}


def measure(load: Callable[[PeerInput], Ask], peer_data: PeerInput) -> dict[str, Any]:
    """Load, ask, and return the figures."""
    pid, latencies = os.getpid(), list[float]()
    before, start = process.memory_mb(pid)["now"], time.perf_counter()
    ask = load(peer_data)
    seconds = time.perf_counter() - start
    numbers = range(len(peer_data.questions))
    nearest = [[int(row) for row in ask(number)] for number in numbers]
    for number in numbers:
        with timed(latencies):
            ask(number)
    after = process.memory_mb(pid)["now"]
    added = None if before is None or after is None else round(after - before, 1)
    ms = spread(latencies)
    return {
        "load_seconds": round(seconds, 2),
        "ms": {"p50": ms["p50"], "p99": ms["p99"]},
        "memory_added_mb": added,
        "nearest": nearest,
    }


if __name__ == "__main__":
    name, folder, own = sys.argv[1:]
    peer_data = peer_input.read(Path(folder), Path(own))
    if name == "crewship":
        # Of no interest is what the framework takes.
        django.setup()
    sys.stdout.write("\n" + json.dumps(measure(LOADERS[name], peer_data)) + "\n")
    sys.stdout.flush()
    # Threads of a peer must not keep the process.
    os._exit(0)
