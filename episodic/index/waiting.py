"""Embed with a question what its asker wrote a moment ago.

The sweep embeds an entry about a tenth of a second after its append. A question does
not wait for that: the newest entries of its scope that still have no vector come first,
at most TEXTS of them and no more than fit into BUDGET_SECONDS, but one at least. Rows
are leased as by the sweep, so that two never embed one; what the sweep is embedding is
waited for as long. What is left out, for whatever reason, stays as it was, for the
sweep, and nothing here fails a question.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import structlog
from celery import current_app
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from episodic.embedders import limited
from episodic.embedders.base import State as EmbedderState
from episodic.embedders.base import Vectors
from episodic.index import engine, policy, relations, sweep
from episodic.models import Embedding, State
from episodic.vectors import stored as stored_vectors
from episodic.vectors.base import VectorScope
from memory.installation import identity as installation
from memory.installation import schema_version
from memory.jobs import dispatch
from memory.journal.visibility import USABLE
from memory.models import JournalEntry
from memory.rules import errors

TEXTS: Final = 4
BUDGET_SECONDS: Final = 0.04
# An embedder that takes longer for one text is left alone, and tried again later.
SLOW_SECONDS: Final = 0.25
RETRY_SECONDS: Final = 10.0
# How often is looked whether the sweep has embedded what it leased.
LOOK_SECONDS: Final = 0.004
# How long to wait for another writer before the rows are left to the sweep.
LOCK_SECONDS: Final = 0.02
KEEP_SECONDS: Final = 0.25
# The newest rows that are looked at; those of other scopes are among them.
LOOK: Final = 64
# What waits for longer is a backlog, and the sweep's.
RECENT: Final = timedelta(minutes=1)
# Short: rows of a process that is cut off are soon the sweep's again.
LEASE: Final = timedelta(seconds=5)
LINK_TASK: Final = "episodic.link"
# Plain SQL: every question runs the first two, and building them costs more.
_READ: Final = (
    "SELECT h.seq, s.seq, s.policy_version FROM journal_chain_heads h"
    " LEFT JOIN journal_index_states s ON s.workspace_id = h.workspace_id"
    " WHERE h.workspace_id = %s"
)
# The condition is written as in the partial index ``embedding_waiting``.
_PENDING: Final = (
    "SELECT seq, entry_id, crew_id, agent_id, state, attempts FROM journal_embeddings"
    " WHERE workspace_id = %s AND NOT (state = 'indexed') ORDER BY seq DESC LIMIT %s"
)
# With both ends the planner expects few, and starts no further processes.
_UNREAD: Final = (
    "SELECT j.seq, j.id, j.crew_id, j.agent_id, 'pending', 0 FROM journal_entries j"
    " LEFT JOIN journal_embeddings e ON e.entry_id = j.id"
    " WHERE j.workspace_id = %s AND j.seq > %s AND j.seq <= %s AND j.embeddable"
    " AND e.entry_id IS NULL"
)
log = structlog.get_logger(__name__)


# ── How many texts fit ───────────────────────────────────────────────────────
@dataclass(slots=True)
class _Pace:
    """How long one text took this process last, per model."""

    model: str = ""
    seconds: float = 0.0
    measured_at: float = 0.0


_pace = _Pace()
_pace_lock = threading.Lock()


def forget_pace() -> None:
    """Forget how long texts took; the next question tries again."""
    _note_pace("", 0.0)


def _note_pace(model: str, seconds: float) -> None:
    with _pace_lock:
        _pace.model, _pace.seconds = model, seconds
        _pace.measured_at = time.monotonic()


def _allowed(model: str) -> int:
    """Return how many texts to embed: none where one takes far too long."""
    with _pace_lock:
        if _pace.model != model or not _pace.seconds:
            return 1
        if _pace.seconds > SLOW_SECONDS:
            return int(time.monotonic() - _pace.measured_at > RETRY_SECONDS)
        return min(TEXTS, max(1, int(BUDGET_SECONDS / _pace.seconds)))


# ── What waits ───────────────────────────────────────────────────────────────
def _rows(sql: str, *params: str | int) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())


def _reaches(scope: VectorScope, crew_id: str | None, agent_id: str | None) -> bool:
    """Whether a scope may see the entries of a crew and an agent."""
    if scope.only_crewless and crew_id is not None:
        return False
    if scope.crew_id is None and scope.agent_id is None:
        return True
    if scope.agent_id is not None and agent_id == scope.agent_id:
        return True
    if scope.crew_id is not None and crew_id == scope.crew_id:
        return True
    return (
        scope.rules_crew_id is not None
        and crew_id == scope.rules_crew_id
        and agent_id is None
    )


def _newest(scope: VectorScope) -> list[str]:
    """Return ids of the newest entries in scope that wait for their first vector."""
    heads = _rows(_READ, scope.workspace_id)
    if not heads:
        return []
    head_seq, read_seq, version = heads[0]
    rows = _rows(_PENDING, scope.workspace_id, LOOK)
    read_seq = read_seq if version == policy.VERSION else 0
    if head_seq > read_seq:
        # No further back, however much the sweep has not read yet.
        since = max(read_seq, head_seq - LOOK)
        rows += _rows(_UNREAD, scope.workspace_id, since, head_seq)
    newest = sorted(rows, key=lambda row: -int(row[0]))
    return [
        str(entry_id)
        for _, entry_id, crew_id, agent_id, state, attempts in newest
        if state == State.PENDING
        and not attempts
        and _reaches(scope, crew_id, agent_id)
    ]


# ── Embedding ────────────────────────────────────────────────────────────────
def embed_for(scope: VectorScope) -> int:
    """Embed the newest entries in scope that still wait; return how many.

    Two index look-ups where nothing waits. 0 too when the embedder does not answer or
    is too slow, when another writer holds the database, or another worker the rows.
    """
    embedder = engine.embedder()
    if embedder.name == "none" or not embedder.model:
        return 0
    entry_ids = _newest(scope)
    if not entry_ids or engine.status().state is EmbedderState.FAILING:
        return 0
    allowed = _allowed(embedder.model)
    if not allowed or installation.problem() is not None:
        return 0
    try:
        return _embed(entry_ids[:allowed])
    except (DatabaseError, errors.Unavailable) as error:
        # Locked, or away: the question itself shows it where that matters to it.
        log.debug("waiting_entries_left", error=type(error).__name__)
        return 0


@contextmanager
def _waiting_at_most(seconds: float) -> Iterator[None]:
    """Give up on a lock soon, where the database has a single writer."""
    database = transaction.get_connection()
    limit = getattr(database, "waiting_at_most", None)
    if limit is None or database.in_atomic_block:
        yield
        return
    with limit(seconds):
        yield


def _embed(entry_ids: Sequence[str]) -> int:
    schema_version.guard()
    deadline = time.monotonic() + BUDGET_SECONDS
    usable = JournalEntry.objects.filter(USABLE, erased_at__isnull=True)
    since = timezone.now() - RECENT
    rows = list(usable.filter(pk__in=entry_ids, recorded_at__gte=since))
    if not rows:
        return 0
    own_ids = _claim(rows)
    count = _embed_claimed([row for row in rows if row.id in own_ids])
    _wait_for([row.id for row in rows if row.id not in own_ids], deadline)
    return count


def _claim(rows: Sequence[JournalEntry]) -> set[str]:
    """Queue and lease entries in one transaction; return those that are ours."""
    ids = [row.id for row in rows]
    with _waiting_at_most(LOCK_SECONDS), transaction.atomic():
        queued = set(Embedding.objects.filter(pk__in=ids).values_list("pk", flat=True))
        sweep.make_pending([row for row in rows if row.id not in queued])
        return set(sweep.claim(ids, timezone.now(), LEASE))


def _embed_claimed(rows: Sequence[JournalEntry]) -> int:
    if not rows:
        return 0
    start, model = time.monotonic(), engine.embedder().model
    with _waiting_at_most(KEEP_SECONDS), limited.for_a_question():
        try:
            pairs = sweep.embed_rows(rows)
        except DatabaseError:
            # Giving the lease back would wait as long again; it is short.
            raise
        except Exception as error:  # noqa: BLE001  (nothing here fails a question)
            _note_pace(model, time.monotonic() - start)
            log.debug("waiting_entries_left", error=type(error).__name__)
            # As if nobody had tried: the sweep counts its own attempts.
            leased = Embedding.objects.filter(pk__in=[row.id for row in rows])
            leased.filter(state=State.PENDING).update(lease_until=None)
            return 0
    _note_pace(model, (time.monotonic() - start) / len(rows))
    _link([row.id for row, _ in pairs])
    return len(pairs)


def _wait_for(entry_ids: Sequence[str], deadline: float) -> None:
    """Wait until another worker has embedded entries, at most until the deadline."""
    pending = Embedding.objects.filter(pk__in=entry_ids, state=State.PENDING)
    while entry_ids and pending.exists() and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)


# ── Linking ──────────────────────────────────────────────────────────────────
def _link(entry_ids: list[str]) -> None:
    """Let a worker find similar entries: a question does not wait for that."""
    is_sent = current_app.conf.get("crewship_delivers") and dispatch.send(
        LINK_TASK, [entry_ids]
    )
    if not is_sent:
        link(entry_ids)


def link(entry_ids: Sequence[str]) -> int:
    """Write the similar edges of indexed entries; return how many were made.

    It may run twice, and for entries that are gone meanwhile.
    """
    model = engine.embedder().model
    stored = Embedding.objects.filter(pk__in=entry_ids, state=State.INDEXED)
    rows = list(stored.filter(model=model).defer("vector").select_related("entry"))
    by_workspace: dict[str, list[str]] = {}
    for row in rows:
        by_workspace.setdefault(row.workspace_id, []).append(row.entry_id)
    vectors: dict[str, Vectors] = {}
    for workspace_id, ids in by_workspace.items():
        vectors |= stored_vectors.vectors(workspace_id, ids)
    pairs = [(r.entry, vectors[r.entry_id]) for r in rows if r.entry_id in vectors]
    return relations.link(pairs, model)
