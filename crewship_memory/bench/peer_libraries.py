"""Libraries as peers, and this project's own index beside them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

import numpy as np

from crewship_memory.bench.peer_input import Ask, Given


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
