"""Libraries as peers, and this project's own index beside them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

import numpy as np

from crewship_memory.bench.peer_input import Ask, PeerInput


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


def crewship(peer_data: PeerInput) -> Ask:
    """Ask the index of this project, in the database of the benchmark."""
    from episodic.index import engine  # noqa: PLC0415  (after set-up)
    from episodic.vectors.base import VectorScope  # noqa: PLC0415

    model = engine.embedder().model
    scope = VectorScope(workspace_id=peer_data.workspace_id, model=model)
    rows = {entry_id: row for row, (entry_id, _) in enumerate(peer_data.texts())}
    index, vectors = engine.vectors(), peer_data.question_vectors()

    def ask(number: int) -> Sequence[int]:
        hits = index.nearest(vectors[number], scope, peer_data.top, -1)
        return [rows[hit.entry_id] for hit in hits]

    ask(0)
    return ask


def numpy(peer_data: PeerInput) -> Ask:
    """Ask one matrix."""
    matrix = np.empty((peer_data.entries, peer_data.dim), np.float32)
    for first, block in peer_data.blocks():
        matrix[first : first + len(block)] = block
    vectors = peer_data.question_vectors()

    def ask(number: int) -> Sequence[int]:
        cosines = matrix @ vectors[number]
        best = np.argpartition(-cosines, peer_data.top)[: peer_data.top]
        return list(best[np.argsort(-cosines[best])])

    return ask


def sqlite_vec(peer_data: PeerInput) -> Ask:
    """Ask a virtual table of sqlite-vec."""
    db = loadable_sqlite().connect(peer_data.own / "vectors.db")
    db.enable_load_extension(True)  # noqa: FBT003  (the DB's own argument)
    import_module("sqlite_vec").load(db)
    db.execute(
        "CREATE VIRTUAL TABLE vectors USING"
        f" vec0(vector float[{peer_data.dim}] distance_metric=cosine)"
    )
    insert = "INSERT INTO vectors (rowid, vector) VALUES (?, ?)"
    for first, block in peer_data.blocks():
        db.executemany(insert, ((first + n, row) for n, row in enumerate(block)))
        db.commit()
    vectors = peer_data.question_vectors()
    select = "SELECT rowid FROM vectors WHERE vector MATCH ? AND k = ?"

    def ask(number: int) -> Sequence[int]:
        return [row for (row,) in db.execute(select, (vectors[number], peer_data.top))]

    return ask


def faiss_flat(peer_data: PeerInput) -> Ask:
    """Ask an exact index of FAISS."""
    index, vectors = (
        import_module("faiss").IndexFlatIP(peer_data.dim),
        peer_data.question_vectors(),
    )
    for _, block in peer_data.blocks():
        index.add(block)

    def ask(number: int) -> Sequence[int]:
        _, rows = index.search(vectors[number : number + 1], peer_data.top)
        return list(rows[0])

    return ask


def _usearch(peer_data: PeerInput, *, exact: bool) -> Ask:
    index = import_module("usearch.index").Index(
        ndim=peer_data.dim, metric="cos", dtype="f32"
    )
    vectors = peer_data.question_vectors()
    for first, block in peer_data.blocks():
        index.add(np.arange(first, first + len(block)), block)

    def ask(number: int) -> Sequence[int]:
        return list(index.search(vectors[number], peer_data.top, exact=exact).keys)

    return ask


def usearch_exact(peer_data: PeerInput) -> Ask:
    """Ask an index of usearch for the exact answer."""
    return _usearch(peer_data, exact=True)


def usearch_hnsw(peer_data: PeerInput) -> Ask:
    """Ask an index of usearch as it is meant to be asked."""
    return _usearch(peer_data, exact=False)
