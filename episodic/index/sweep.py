"""The index sweep: find entries to embed, claim them, embed them.

The journal is read from where the last sweep stopped; what deserves an embedding
becomes a pending row; pending rows are claimed by a conditional UPDATE with a lease, so
that two sweeps never embed one row twice and a crash costs a minute and not the row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from episodic.embedders.base import EmbedderError, Vectors
from episodic.index import change_log, engine, importance, policy, relations
from episodic.models import Embedding, IndexState, State
from episodic.vectors import pg_counts, pg_store
from memory import authors
from memory.jobs import time_box
from memory.journal.visibility import USABLE
from memory.models import ChainHead, JournalEntry
from memory.word_index import storage

# Appends wait while a chunk is queued: some 3 ms.
CHUNK: Final = 100
BATCH: Final = 32
LEASE: Final = timedelta(seconds=60)
MAX_ATTEMPTS: Final = 5
FIRST_WAIT: Final = timedelta(seconds=5)
LONGEST_WAIT: Final = timedelta(hours=1)
WITHOUT_VECTOR: Final = Q(state__in=(State.PENDING, State.FAILED))
# As in the partial index ``embedding_waiting``, which only a literal can match: else
# each look for new rows would read the index of all.
_NOT_INDEXED: Final = "NOT (journal_embeddings.state = 'indexed')"
_QUEUE: Final = (
    "INSERT INTO journal_embeddings (entry_id, workspace_id, seq, crew_id, agent_id,"
    " state, policy_version, importance_score, vector, dim, model, reference_count,"
    " attempts, last_error)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, 0, '', 0, 0, '')"
    " ON CONFLICT DO NOTHING"
)
# Plain SQL: appends wait while it runs, and the ORM would build a statement per vector.
# Re-embedding keeps the original indexed_at.
_KEEP: Final = (
    "UPDATE journal_embeddings SET state = %s, vector = %s, dim = %s, model = %s,"
    " indexed_at = COALESCE(indexed_at, %s), embedded_at = %s, attempts = 0,"
    " last_error = '', next_attempt_at = NULL, lease_until = NULL WHERE entry_id = %s"
)
_REFERENCED: Final = (
    "UPDATE journal_embeddings SET reference_count = reference_count + %s,"
    " last_referenced_at = %s WHERE entry_id = %s"
)


@dataclass(slots=True)
class Report:
    """How many entries a sweep indexed, skipped and failed."""

    indexed: int = 0
    skipped: int = 0
    failed: int = 0

    def add(self, other: Report) -> None:
        """Add another report's counts."""
        self.indexed += other.indexed
        self.skipped += other.skipped
        self.failed += other.failed


Watch = Callable[[int], None]


# ── Finding ──────────────────────────────────────────────────────────────────
def discover(workspace_id: str) -> int:
    """Make pending rows for entries the sweep has not read yet; return how many.

    It ends where its caller's time is over. Entries are read and judged before the
    transaction: appends wait while it writes.
    """
    IndexState.objects.get_or_create(workspace_id=workspace_id)
    states, count = IndexState.objects.filter(pk=workspace_id), 0
    while True:
        seq = _position(states.get()).seq
        unread = JournalEntry.objects.filter(
            workspace_id=workspace_id, seq__gt=seq, erased_at__isnull=True
        )
        rows = list(unread.order_by("seq")[:CHUNK])
        verdicts = {row.id: _embeds(row) for row in rows}
        with transaction.atomic():
            state = _position(states.select_for_update().get())
            is_own = state.seq == seq
            if is_own:
                count += _queue(_present(rows), verdicts)
                state.seq = rows[-1].seq if rows else seq
                state.save(update_fields=["seq", "policy_version"])
        # Where another sweep was quicker, what it left is read again.
        if (is_own and len(rows) < CHUNK) or time_box.is_over():
            return count


def _position(state: IndexState) -> IndexState:
    """Return how far a workspace was read under today's policy."""
    if state.policy_version != policy.VERSION:
        state.seq, state.policy_version = 0, policy.VERSION
    return state


def _present(rows: Sequence[JournalEntry]) -> list[JournalEntry]:
    """Return entries without those erased since they were read, and as visible."""
    by_id, present = {row.id: row for row in rows}, list[JournalEntry]()
    stored = JournalEntry.objects.filter(pk__in=by_id, erased_at__isnull=True)
    columns = ("priority", "retired_at", "restricted_at")
    for pk, *values in stored.values_list("pk", *columns):
        for column, value in zip(columns, values, strict=True):
            setattr(by_id[pk], column, value)
        present.append(by_id[pk])
    return present


def _embeds(row: JournalEntry) -> bool:
    return policy.judge(row.entry_type, row.severity, row.payload, row.refs).embeds


def make_pending(rows: Sequence[JournalEntry]) -> int:
    """Apply today's policy: correct each entry's flag and queue what it embeds."""
    return _queue(rows, {row.id: _embeds(row) for row in rows})


def _queue(rows: Sequence[JournalEntry], verdicts: Mapping[str, bool]) -> int:
    """Correct the flags of entries and queue those to embed; return how many."""
    for row in rows:
        if verdicts[row.id] != row.embeddable:
            row.embeddable = verdicts[row.id]
            JournalEntry.objects.filter(pk=row.pk).update(embeddable=row.embeddable)
    pending = [_pending(row) for row in rows if row.embeddable]
    if pending:
        with connection.cursor() as cursor:
            cursor.executemany(_QUEUE, pending)
    return len(pending)


def _pending(row: JournalEntry) -> tuple[str | int | float | bytes | None, ...]:
    """Return the columns of ``_QUEUE`` for an entry."""
    is_withheld = row.retired_at is not None or row.restricted_at is not None
    state = State.WITHHELD if is_withheld else State.PENDING
    weight = importance.base(row.entry_type, row.severity, row.priority)
    place = (row.id, row.workspace_id, row.seq, row.crew_id, row.agent_id)
    return (*place, state.value, policy.VERSION, weight, b"")


def _behind() -> list[str]:
    """Return the workspaces whose journal is longer than what was read."""
    heads = dict(ChainHead.objects.values_list("workspace_id", "seq"))
    states = IndexState.objects.filter(policy_version=policy.VERSION)
    read = dict(states.values_list("workspace_id", "seq"))
    return [w for w, seq in heads.items() if seq > read.get(w, 0)]


# ── Claiming ─────────────────────────────────────────────────────────────────
def _other_model() -> Q:
    return Q(state=State.INDEXED) & ~Q(model=engine.embedder().model)


def _ready(rows: QuerySet[Embedding], now: datetime) -> QuerySet[Embedding]:
    """Return the rows that are due and not leased."""
    due = Q(next_attempt_at__isnull=True) | Q(next_attempt_at__lte=now)
    free = Q(lease_until__isnull=True) | Q(lease_until__lt=now)
    return rows.filter(due, free)


def _candidates(now: datetime, limit: int, *, only_new: bool = False) -> list[str]:
    """Return ids to try: new rows before rows of another model, the newest first.

    What was just appended must not queue behind an import. The workspaces take turns,
    so that none starves another.
    """
    entry_ids: list[str] = []
    new = Embedding.objects.filter(WITHOUT_VECTOR).extra(  # noqa: S610  (a constant)
        where=[_NOT_INDEXED]
    )
    outdated = [] if only_new else [Embedding.objects.filter(_other_model())]
    for unembedded in (new, *outdated):
        rows = _ready(unembedded, now)
        workspace_ids = list(
            rows.order_by().values_list("workspace_id", flat=True).distinct()
        )
        for turn, workspace_id in enumerate(workspace_ids):
            # What one workspace leaves of its share goes to those after it.
            share = max(1, (limit - len(entry_ids)) // (len(workspace_ids) - turn))
            newest = rows.filter(workspace_id=workspace_id).order_by("-seq")
            entry_ids += list(newest.values_list("entry_id", flat=True)[:share])
        if len(entry_ids) >= limit:
            break
    return entry_ids[:limit]


def claim(
    entry_ids: Sequence[str], now: datetime, lease: timedelta = LEASE
) -> list[str]:
    """Lease rows to this worker and return those it got.

    Two workers may read the same row; the one that locks it while it is still free
    gets it, and the other skips it.
    """
    if not entry_ids:
        return []
    claimable = Embedding.objects.filter(WITHOUT_VECTOR | _other_model())
    rows = _ready(claimable.filter(pk__in=entry_ids), now)
    with transaction.atomic():
        locked = rows.order_by("pk").select_for_update(skip_locked=True)
        free = set(locked.values_list("pk", flat=True))
        claimed = [entry_id for entry_id in entry_ids if entry_id in free]
        Embedding.objects.filter(pk__in=claimed).update(lease_until=now + lease)
    return claimed


# ── Embedding ────────────────────────────────────────────────────────────────
def embed(entry_ids: Sequence[str]) -> Report:
    """Embed claimed entries as one batch; a batch that fails is tried one by one."""
    report = Report()
    usable = JournalEntry.objects.filter(USABLE, erased_at__isnull=True)
    # In the order in which decay locks them.
    rows = list(usable.filter(pk__in=entry_ids).order_by("pk"))
    report.skipped += len(entry_ids) - len(rows)
    if not rows:
        return report
    try:
        pairs = embed_rows(rows)
    except EmbedderError as error:
        if len(rows) > 1 and error.reason == "bad_answer":
            # One text that cannot be embedded must not fail the others.
            for row in rows:
                report.add(embed([row.id]))
            return report
        _postpone([row.id for row in rows], error)
        report.failed += len(rows)
    else:
        # After the commit, so that entries of one batch see each other.
        relations.link(pairs, engine.embedder().model)
        report.indexed += len(pairs)
    return report


def embed_rows(rows: Sequence[JournalEntry]) -> list[tuple[JournalEntry, Vectors]]:
    """Embed entries and keep their vectors; return those kept, to be linked.

    Raises EmbedderError.
    """
    engine_now = engine.embedder()
    names = authors.names(row.agent_id for row in rows)
    texts = [
        policy.text(
            authors.attributed(names.get(row.agent_id or ""), row.summary), row.payload
        )
        for row in rows
    ]
    vectors = engine_now.embed_documents(texts)
    with transaction.atomic():
        # What may still be used, and says the same, after the embedding, locked.
        usable = JournalEntry.objects.filter(USABLE, pk__in=[row.id for row in rows])
        locked = usable.select_for_update(no_key=True).filter(erased_at__isnull=True)
        alive = set(locked.order_by("pk").values_list("pk", "redacted_at"))
        renamed = dict(set(names.items()) - set(authors.names(names).items()))
        current = [
            (row, vector)
            for row, vector in zip(rows, vectors, strict=True)
            if (row.id, row.redacted_at) in alive and row.agent_id not in renamed
        ]
        _keep([(row.id, vector) for row, vector in current], engine_now.model)
    return current


def _keep(vectors: Sequence[tuple[str, Vectors]], model: str) -> None:
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    is_elsewhere, state = pg_store.is_used(), State.INDEXED.value
    blobs = [b"" if is_elsewhere else v.astype("<f4").tobytes() for _, v in vectors]
    rows = [
        (state, blob, len(vector), model, now, now, entry_id)
        for (entry_id, vector), blob in zip(vectors, blobs, strict=True)
    ]
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(_KEEP, rows)
    if is_elsewhere:
        pg_store.store(vectors)


def _postpone(entry_ids: Sequence[str], error: EmbedderError) -> None:
    """Postpone rows with a growing wait; after five attempts they count as failed."""
    now = timezone.now()
    for row in Embedding.objects.filter(pk__in=entry_ids):
        attempts = min(row.attempts + 1, 1_000)
        wait = min(FIRST_WAIT * 2 ** min(attempts - 1, 12), LONGEST_WAIT)
        row.attempts, row.last_error = attempts, f"{error.reason}: {error}"[:200]
        row.next_attempt_at, row.lease_until = now + wait, None
        if row.state != State.INDEXED and attempts >= MAX_ATTEMPTS:
            row.state = State.FAILED
        fields = ("attempts", "last_error", "next_attempt_at", "lease_until", "state")
        row.save(update_fields=fields)


def sweep(
    *,
    limit: int = 512,
    only_new: bool = False,
    watch: Watch = lambda _count: None,
) -> Report:
    """Read new journal entries, then embed at most ``limit`` pending rows.

    ``watch`` is called with the number of rows after each batch. With ``only_new`` no
    rows of another model are looked for, which reads the index of every row. Runs
    anywhere, any number of times, also at the same time, until its time is over.
    """
    report = Report()
    storage.fill_changed(time_box.is_over)
    for workspace_id in _behind():
        discover(workspace_id)
    if engine.embedder().name == "none":
        return report
    count = 0
    while count < limit:
        now = timezone.now()
        size = min(BATCH, limit - count)
        claimed = claim(_candidates(now, size, only_new=only_new), now)
        if not claimed:
            break
        batch, count = embed(claimed), count + len(claimed)
        report.add(batch)
        watch(len(claimed))
        # Where all failed the embedder is down: the next sweep tries again.
        if batch.failed == len(claimed) or time_box.is_over():
            break
        for workspace_id in _behind():
            discover(workspace_id)
    change_log.trim()
    pg_counts.fold_when_due()
    return report


def mark_referenced(counts: dict[str, int], when: datetime) -> None:
    """Add to the reference counts of entries that a recall returned."""
    at = connection.ops.adapt_datetimefield_value(when)
    with transaction.atomic(), connection.cursor() as cursor:
        for entry_id, times in sorted(counts.items()):  # as decay and others lock them
            cursor.execute(_REFERENCED, [times, at, entry_id])
