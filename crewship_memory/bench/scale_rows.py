"""A generated workspace of millions of entries, copied into PostgreSQL.

What no measurement reads is made up: hashes and salts are random, so that such a chain
does not verify. It can be appended to; words and vectors are those that the
application would write. Each chunk is a transaction: a load that was broken off goes on
where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import import_module
from operator import itemgetter
from typing import Any, Final

import numpy as np
from django.db import connection, transaction
from django.utils import timezone
from pgvector import HalfVector
from psycopg import sql

from crewship_memory.bench.dataset import BenchWorkspace
from crewship_memory.bench.scale_topics import DIM, Floats, Topics
from episodic.index import importance, policy
from episodic.models import IndexState, State
from episodic.vectors import pg_pages
from memory import workspace_numbers
from memory.journal import append, head
from memory.models import Agent, ChainHead
from memory.rules import entries, hashing
from memory.word_index import storage

CHUNK: Final = 5_000
# Entries of one agent in a row, which share a trace.
THREAD: Final = 8
DAYS: Final = 180
MODEL: Final = "bench-384"
_TYPES: Final = ("memory.recorded", "peer.escalation", "summary.generated")
_SHARES: Final = (0.9, 0.04, 0.06)
_OF_ENTRY: Final = (
    *("workspace_id", "id", "crew_id", "agent_id", "entry_type", "ts", "recorded_at"),
)
# The columns with their types; the server reads the bytes of a vector in its own form.
_VECTOR_COLUMNS: Final = {
    **dict.fromkeys(("workspace_id", "entry_id", "crew_id", "agent_id"), "text"),
    "entry_type": "text",
    "ts": "timestamptz",
    "recorded_at": "timestamptz",
    "model": "text",
    "importance": "float8",
    "dim": "int2",
    "is_ranked": "bool",
    "vec": "bytea",
}
_GRAPHS: Final = {
    statement.split()[2]: statement.replace(
        "CREATE INDEX", "CREATE INDEX IF NOT EXISTS"
    )
    for statement in import_module("episodic.migrations.0006_vector_table").INDEXES
    if "hnsw" in statement
}
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows of the journal with their vectors, and the author's name of each."""

    rows: list[Row]
    vectors: Floats
    importances: list[float]
    names: list[str]


def fill(
    workspace: BenchWorkspace,
    upto: int,
    *,
    agents: Sequence[Agent],
    seed: int = 7,
    watch: Callable[[int], None] = lambda _count: None,
) -> None:
    """Copy entries until the workspace holds ``upto``; ``watch`` gets each chunk's end.

    The agents write them in turn, some of a thread at a time.
    """
    topics = Topics(seed)
    pg_pages.fit(workspace.workspace_id, DIM)
    IndexState.objects.get_or_create(
        workspace_id=workspace.workspace_id,
        defaults={"policy_version": policy.VERSION},
    )
    while True:
        with transaction.atomic():
            end = head.locked(workspace.workspace_id)
            count = min(CHUNK, upto - end.seq)
            if count <= 0:
                return
            numbers = range(end.seq + 1, end.seq + count + 1)
            chunk = _chunk(workspace.workspace_id, numbers, upto, agents, topics)
            _write(chunk)
            end.seq, end.entry_hash = numbers[-1], chunk.rows[-1]["entry_hash"]
            end.mac = hashing.head_mac(
                append.key(), end.workspace_id, end.seq, end.entry_hash
            )
            head.move(end)
            states = IndexState.objects.filter(pk=workspace.workspace_id)
            states.update(seq=end.seq)
        watch(numbers[-1])


def _chunk(
    workspace_id: str,
    numbers: range,
    upto: int,
    agents: Sequence[Agent],
    topics: Topics,
) -> Chunk:
    seed = [topics.seed, workspace_numbers.of(workspace_id), numbers[0]]
    rng = np.random.default_rng(seed)
    of_rows = rng.integers(0, len(topics.directions), len(numbers))
    texts = topics.texts(of_rows, rng)
    kinds = rng.choice(_TYPES, len(numbers), p=_SHARES).tolist()
    ids = iter(rng.bytes(8 * len(numbers)).hex(" ", 8).split())
    owners = [agents[seq // THREAD % len(agents)] for seq in numbers]
    now, rows, weights = timezone.now(), list[Row](), list[float]()
    for seq, text, kind, owner in zip(numbers, texts, kinds, owners, strict=True):
        days = DAYS * (upto - seq) / upto
        row = _row(text, kind, now - timedelta(days=days))
        row |= {"id": f"j_{next(ids)}", "workspace_id": workspace_id, "seq": seq}
        row["docid"] = (workspace_numbers.of(workspace_id) << entries.SEQ_BITS) + seq
        row |= {"crew_id": owner.crew_id, "agent_id": owner.id, "actor_id": owner.id}
        row["trace_id"] = f"t_{workspace_numbers.of(workspace_id):x}_{seq // THREAD:x}"
        rows.append(row)
        exact = importance.explain(kind, "info", "normal", days=days, references=0)
        weights.append(exact.value)
    vectors = topics.vectors(of_rows, rng)
    _sign(rows, rng)
    return Chunk(rows, vectors, weights, [owner.name for owner in owners])


def _row(text: tuple[str, str], kind: str, moment: datetime) -> Row:
    """Return what an entry says, as the journal keeps it."""
    payload = {"text": text[1]}
    return {
        "ts": entries.round_ms(moment),
        "recorded_at": moment,
        "entry_type": kind,
        "severity": "info",
        "priority": "normal",
        "priority_at_emit": "normal",
        "actor_type": "agent",
        "summary": text[0],
        "payload": entries.canonical(payload),
        "refs": "{}",
        "body": entries.body_of(kind, payload),
        "embeddable": True,
    }


def _sign(rows: Sequence[Row], rng: np.random.Generator) -> None:
    """Give rows random salts and hashes, each with that of the row before it."""
    previous = ""
    for row in rows:
        row["salt"], digests = rng.bytes(hashing.SALT_BYTES), rng.bytes(64).hex()
        row["commitment"], row["entry_hash"] = digests[:64], digests[64:]
        row["prev_hash"], previous = previous, row["entry_hash"]


# ── Writing ──────────────────────────────────────────────────────────────────
def _write(chunk: Chunk) -> None:
    copy("journal_entries", list(chunk.rows[0]), (r.values() for r in chunk.rows))
    _write_words(chunk)
    _write_vectors(chunk)


def _write_words(chunk: Chunk) -> None:
    """Write the words as an append does, with their keys."""
    read = itemgetter("docid", "summary", "body")
    entries_named = zip(chunk.rows, chunk.names, strict=True)
    owners = itemgetter("crew_id", "agent_id", "entry_type")
    storage.store(
        [(*read(row), name) for row, name in entries_named],
        {row["docid"]: owners(row) for row in chunk.rows},
    )


def _write_vectors(chunk: Chunk) -> None:
    now = timezone.now()
    constant: Row = {
        "vector": b"",
        "state": State.INDEXED.value,
        "dim": DIM,
        "model": MODEL,
        "embedded_at": now,
        "reference_count": 0,
        "policy_version": policy.VERSION,
        "attempts": 0,
        "last_error": "",
    }
    own = ("id", "workspace_id", "seq", "crew_id", "agent_id", "ts")
    columns = ("entry_id", *own[1:-1], "indexed_at", "importance_score")
    weighed = list(zip(chunk.rows, chunk.importances, strict=True))
    rows = ((*map(row.get, own), weight, *constant.values()) for row, weight in weighed)
    copy("journal_embeddings", [*columns, *constant], rows)
    read = itemgetter(*_OF_ENTRY)
    vectors = (
        (*read(row), MODEL, weight, DIM, True, HalfVector(vector).to_binary())
        for (row, weight), vector in zip(weighed, chunk.vectors, strict=True)
    )
    copy("journal_vectors", list(_VECTOR_COLUMNS), vectors, _VECTOR_COLUMNS.values())


def copy(
    table: str, columns: Sequence[str], rows: Iterator[Any], types: Iterable[str] = ()
) -> None:
    """Copy rows into a table; with ``types`` in the binary form of these."""
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    form = sql.SQL("(FORMAT BINARY)" if types else "")
    into = sql.SQL("COPY {} ({}) FROM STDIN {}")
    with (
        connection.cursor() as cursor,
        cursor.copy(into.format(sql.Identifier(table), names, form)) as target,
    ):
        if types:
            target.set_types(list(types))
        for row in rows:
            target.write_row(tuple(row))


def entries_in(workspace_id: str) -> int:
    """Return how many entries a workspace holds."""
    heads = ChainHead.objects.filter(pk=workspace_id)
    return int(heads.values_list("seq", flat=True).first() or 0)


# ── Indexes ──────────────────────────────────────────────────────────────────
def drop_graphs() -> None:
    """Drop the HNSW indexes: copying into them takes ten times as long."""
    with connection.cursor() as cursor:
        for name in _GRAPHS:
            cursor.execute(f"DROP INDEX IF EXISTS {name}")


def build_graphs() -> None:
    """Build the HNSW indexes that are missing, with the server's settings."""
    with connection.cursor() as cursor:
        for statement in _GRAPHS.values():
            cursor.execute(statement)
