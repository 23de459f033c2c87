"""One peer on given vectors, in a process of its own; run as a module.

Loads them, asks each question twice, of which the second time counts, and prints as
JSON how long and how much memory that took and which rows were nearest.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import django
import numpy as np
from numpy.typing import NDArray

from crewship_memory.bench import process
from crewship_memory.bench.spread import spread, timed

BLOCK: Final = 10_000
# Of a question, by its number: the rows of the nearest vectors, best first.
Ask = Callable[[int], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Given:
    """What ``crewship_memory.bench.peers`` wrote, and a folder for the peer's own."""

    folder: Path
    own: Path
    workspace_id: str
    entries: int
    dim: int
    top: int
    questions: list[str]

    def asked(self) -> NDArray[np.float32]:
        """Return the vectors of the questions."""
        return np.fromfile(self.folder / "questions.f32", "<f4").reshape(-1, self.dim)

    def blocks(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield the vectors in parts, each with the number of its first row."""
        with (self.folder / "vectors.f32").open("rb") as file:
            for first in range(0, self.entries, BLOCK):
                count = min(BLOCK, self.entries - first) * self.dim
                yield first, np.fromfile(file, "<f4", count).reshape(-1, self.dim)

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield each row's entry id and text."""
        with (self.folder / "texts.jsonl").open(encoding="utf-8") as file:
            for line in file:
                entry_id, text = json.loads(line)
                yield entry_id, text


def read(folder: Path, own: Path) -> Given:
    """Return what was written to ``folder``."""
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    return Given(folder, own, **about)


def loadable_sqlite() -> ModuleType:
    """Return an SQLite that loads extensions, also for what imports ``sqlite3``."""
    import sqlite3  # noqa: PLC0415  (which one, is the question)

    if hasattr(sqlite3.Connection, "enable_load_extension"):
        return sqlite3
    try:
        other = import_module("pysqlite3")
    except ImportError:
        message = (
            "This Python's sqlite3 loads no extensions: pip install pysqlite3-binary"
        )
        raise SystemExit(message) from None
    sys.modules["sqlite3"] = other
    return other


def crewship(given: Given) -> Ask:
    """Ask the index of this project, in the database of the benchmark."""
    from episodic.index import engine  # noqa: PLC0415  (after set-up)
    from episodic.vectors.base import VectorScope  # noqa: PLC0415

    model = engine.embedder().model
    scope = VectorScope(workspace_id=given.workspace_id, model=model)
    rows = {entry_id: row for row, (entry_id, _) in enumerate(given.texts())}
    index, asked = engine.vectors(), given.asked()

    def ask(number: int) -> Sequence[int]:
        hits = index.nearest(asked[number], scope, given.top, -1)
        return [rows[hit.entry_id] for hit in hits]

    ask(0)
    return ask


def numpy(given: Given) -> Ask:
    """Ask one matrix."""
    matrix = np.empty((given.entries, given.dim), np.float32)
    for first, block in given.blocks():
        matrix[first : first + len(block)] = block
    asked = given.asked()

    def ask(number: int) -> Sequence[int]:
        cosines = matrix @ asked[number]
        best = np.argpartition(-cosines, given.top)[: given.top]
        return list(best[np.argsort(-cosines[best])])

    return ask


def sqlite_vec(given: Given) -> Ask:
    """Ask a virtual table of sqlite-vec."""
    db = loadable_sqlite().connect(given.own / "vectors.db")
    db.enable_load_extension(True)  # noqa: FBT003  (the DB's own argument)
    import_module("sqlite_vec").load(db)
    db.execute(
        "CREATE VIRTUAL TABLE vectors USING"
        f" vec0(vector float[{given.dim}] distance_metric=cosine)"
    )
    insert = "INSERT INTO vectors (rowid, vector) VALUES (?, ?)"
    for first, block in given.blocks():
        db.executemany(insert, ((first + n, row) for n, row in enumerate(block)))
        db.commit()
    asked = given.asked()
    select = "SELECT rowid FROM vectors WHERE vector MATCH ? AND k = ?"

    def ask(number: int) -> Sequence[int]:
        return [row for (row,) in db.execute(select, (asked[number], given.top))]

    return ask


def faiss_flat(given: Given) -> Ask:
    """Ask an exact index of FAISS."""
    index, asked = import_module("faiss").IndexFlatIP(given.dim), given.asked()
    for _, block in given.blocks():
        index.add(block)

    def ask(number: int) -> Sequence[int]:
        _, rows = index.search(asked[number : number + 1], given.top)
        return list(rows[0])

    return ask


def _usearch(given: Given, *, exact: bool) -> Ask:
    index = import_module("usearch.index").Index(
        ndim=given.dim, metric="cos", dtype="f32"
    )
    asked = given.asked()
    for first, block in given.blocks():
        index.add(np.arange(first, first + len(block)), block)

    def ask(number: int) -> Sequence[int]:
        return list(index.search(asked[number], given.top, exact=exact).keys)

    return ask


def usearch_exact(given: Given) -> Ask:
    """Ask an index of usearch for the exact answer."""
    return _usearch(given, exact=True)


def usearch_hnsw(given: Given) -> Ask:
    """Ask an index of usearch as it is meant to be asked."""
    return _usearch(given, exact=False)


def _service(name: str) -> Callable[[Given], Ask]:
    def load(given: Given) -> Ask:
        from crewship_memory.bench import peer_services  # noqa: PLC0415  (it needs us)

        service: Callable[[Given], Ask] = getattr(peer_services, name)
        return service(given)

    return load


LOADERS: Final[dict[str, Callable[[Given], Ask]]] = {
    "crewship": crewship,
    "numpy": numpy,
    "sqlite-vec": sqlite_vec,
    "faiss-flat": faiss_flat,
    "usearch-exact": usearch_exact,
    "usearch-hnsw": usearch_hnsw,
    "mcp-memory-service": _service("mcp_memory"),
    "mem0": _service("mem0"),
}


def measure(load: Callable[[Given], Ask], given: Given) -> dict[str, Any]:
    """Load, ask, and return the figures."""
    pid, latencies = os.getpid(), list[float]()
    before, start = process.memory_mb(pid)["now"], time.perf_counter()
    ask = load(given)
    seconds = time.perf_counter() - start
    numbers = range(len(given.questions))
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
    given = read(Path(folder), Path(own))
    if name == "crewship":
        # Of no interest is what the framework takes.
        django.setup()
    sys.stdout.write("\n" + json.dumps(measure(LOADERS[name], given)) + "\n")
    sys.stdout.flush()
    # Threads of a peer must not keep the process.
    os._exit(0)
