"""Records: remembered statements, each a chain of journal entries with one current.

Writing is permit → size → scan → one transaction with the journal entry. What the
scanner holds waits in the same quarantine as a file does; a person's release saves it.
Forgetting takes the words out of the record at once; what the journal said of it is
erased by a case, which leaves the chain whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from memory import journal, lexical, ranking, shelf
from memory.files import quarantine
from memory.files.places import Owner
from memory.files.vault import digest
from memory.lexical import WordScope
from memory.models import (
    HeldRecord,
    HeldState,
    JournalEntry,
    Record,
    RecordEntry,
    RecordStatus,
)
from memory.ranking import Question
from memory.rules import errors, scanner, words
from memory.rules.actors import Actor, AgentRole
from memory.rules.entries import NewEntry
from memory.shelf import Draft

SUMMARY_CHARS: Final = 600
TRIES: Final = 50
TYPES: Final = ("memory.recorded", "memory.revised")
LIMIT: Final = 50
DEEP: Final = 500


@dataclass(frozen=True, slots=True)
class Hit:
    """A record that answers a question; ``score`` lies in 0..1 within one answer."""

    record: Record
    score: float


# ── Permission ───────────────────────────────────────────────────────────────
def permit(owner: Owner | None, workspace_id: str, by: Actor) -> None:
    """Refuse to write for somebody else: an agent its own, a lead its crew's too."""
    by.require("records.write", workspace_id)
    if not by.is_agent:
        return
    if owner is None or owner.crew.id != by.crew_id:
        raise errors.NotFound
    if owner.agent_id is None and by.agent_role is not AgentRole.LEAD:
        detail = "The crew's records are written by its lead only."
        raise errors.Forbidden(detail, code="lead_only")
    if owner.agent_id not in (None, by.id):
        raise errors.NotFound


# ── Writing ──────────────────────────────────────────────────────────────────
def _entry(record: Record, verb: str, draft: Draft, version: int) -> NewEntry:
    """Return the entry that says what happened; its words are the record's alone."""
    short = draft.content.strip()[:SUMMARY_CHARS]
    forgotten = verb == "forgotten"
    return NewEntry(
        entry_type=f"memory.{verb}",
        summary=f"A record was forgotten ({record.id})" if forgotten else short,
        payload={} if len(draft.content) <= len(short) else {"content": draft.content},
        refs={
            "record_id": record.id,
            "version": version,
            "kind": record.kind,
            "provenance": record.provenance,
            **({} if forgotten else {"episodic": True}),
        },
        crew_id=record.crew_id,
        agent_id=record.agent_id,
        subjects=draft.subjects,
    )


def _chain(record: Record, verb: str, draft: Draft, *, by: Actor) -> JournalEntry:
    new = _entry(record, verb, draft, record.version)
    entry = journal.write([new], by=by)[0]
    RecordEntry.objects.create(
        workspace_id=record.workspace_id,
        record=record,
        entry=entry,
        version=record.version,
    )
    return entry


def save(draft: Draft, *, provenance: str, by: Actor) -> Record:
    """Save a new record; it is committed and searchable when this returns.

    Raises Forbidden, Invalid, TooLarge, Held or Refused; then nothing was saved.
    """
    permit(draft.owner, by.workspace_id, by)
    shelf.check(draft)
    return insert(
        shelf.gate(draft, "", source=provenance, by=by), provenance=provenance, by=by
    )


def insert(draft: Draft, *, provenance: str, by: Actor) -> Record:
    """Save a draft that was judged already: by the gate, or by a person."""
    owner = draft.owner
    permit(owner, by.workspace_id, by)
    shelf.check(draft)
    record = Record(
        workspace_id=by.workspace_id,
        crew=owner.crew if owner else None,
        agent=owner.agent if owner else None,
        scope_user=draft.scope.user,
        scope_agent=draft.scope.agent,
        scope_namespace=draft.scope.namespace,
        scope_thread=draft.scope.thread,
        content=draft.content,
        sha256=digest(draft.content.encode()),
        metadata=draft.metadata,
        confidence=draft.confidence,
        provenance=provenance,
        turn_range=draft.turn_range,
        expires_at=draft.expires_at,
        **{name: getattr(draft, name) for name in shelf.NAMED},
    )
    with transaction.atomic():
        record.save(force_insert=True)
        record.current_entry = _chain(record, "recorded", draft, by=by)
        record.save(update_fields=["current_entry"])
    return record


def draft_of(record: Record, content: str, subjects: tuple[str, ...] = ()) -> Draft:
    """Return a record as the draft of its next version."""
    owner = Owner(record.crew, record.agent) if record.crew else None
    return Draft(
        content=content,
        owner=owner,
        kind=record.kind,
        metadata=record.metadata,
        confidence=record.confidence,
        external_id=record.external_id,
        subjects=subjects,
    )


def replace_content(
    record: Record, draft: Draft, *, expected: int, by: Actor
) -> Record | None:
    """Make a judged draft the next version; None when the record moved on meanwhile."""
    permit(draft.owner, record.workspace_id, by)
    shelf.check(draft)
    with transaction.atomic():
        live = Record.objects.select_for_update().filter(pk=record.pk).first()
        if live is None or live.status != RecordStatus.CURRENT:
            raise errors.NotFound
        if live.version != expected:
            return None
        live.version += 1
        live.content, live.metadata = draft.content, draft.metadata
        live.sha256 = digest(draft.content.encode())
        live.confidence, live.updated_at = draft.confidence, timezone.now()
        live.current_entry = _chain(live, "revised", draft, by=by)
        live.save()
    return live


def revise(
    record: Record,
    change: Callable[[str], str],
    *,
    provenance: str,
    subjects: tuple[str, ...] = (),
    by: Actor,
) -> Record:
    """Change a record's content; many at once each see what the one before left.

    The gate stands outside the transaction: what it holds must outlive its refusal.
    """
    for _ in range(TRIES):
        rows = Record.objects.select_related("crew__workspace", "agent")
        live = rows.filter(pk=record.pk, status=RecordStatus.CURRENT).first()
        if live is None:
            raise errors.NotFound
        draft = draft_of(live, change(live.content), subjects)
        permit(draft.owner, live.workspace_id, by)
        shelf.check(draft)
        draft = shelf.gate(draft, live.id, source=provenance, by=by)
        done = replace_content(live, draft, expected=live.version, by=by)
        if done is not None:
            return done
    raise errors.Conflict("The record keeps changing; try again.", code="busy_record")


# ── Forgetting ───────────────────────────────────────────────────────────────
def forget(record: Record, *, by: Actor) -> bool:
    """Take a record's words away, with an entry; False when it was gone already."""
    owner = Owner(record.crew, record.agent) if record.crew else None
    permit(owner, record.workspace_id, by)
    with transaction.atomic():
        live = Record.objects.select_for_update().filter(pk=record.pk).first()
        if live is None or live.status == RecordStatus.FORGOTTEN:
            return False
        live.version += 1
        live.current_entry = _chain(
            live, "forgotten", Draft(content="", owner=owner), by=by
        )
        live.status, live.updated_at = RecordStatus.FORGOTTEN, timezone.now()
        live.content, live.sha256, live.metadata = "", "", {}
        live.external_id, live.turn_range = "", None
        live.save()
    return True


def forget_subject(alias: str, *, owner: Owner | None, by: Actor) -> int:
    """Forget every record of an owner that names a person; return how many."""
    by.require("records.write")
    named = RecordEntry.objects.filter(
        workspace_id=by.workspace_id,
        entry__mentions__workspace_id=by.workspace_id,
        entry__mentions__folded=words.fold(alias),
    )
    rows = mine(owner, by=by).filter(pk__in=named.values("record_id"))
    if by.is_agent and by.agent_role is not AgentRole.LEAD:
        rows = rows.filter(agent_id=by.id)
    with transaction.atomic():
        return sum(forget(row, by=by) for row in list(rows))


# ── Reading ──────────────────────────────────────────────────────────────────
def mine(owner: Owner | None, *, by: Actor) -> QuerySet[Record]:
    """Return the current records an owner reaches: its own, and its crew's shared ones.

    Without an owner a person reaches the workspace; an agent always names itself.
    """
    by.require("records.read")
    rows = Record.objects.filter(
        workspace_id=by.workspace_id, status=RecordStatus.CURRENT
    ).select_related("crew__workspace", "agent")
    rows = rows.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()))
    if owner is None:
        if by.is_agent:
            raise errors.NotFound
        return rows
    if owner.workspace_id != by.workspace_id:
        raise errors.NotFound
    if by.is_agent and (
        owner.crew.id != by.crew_id or owner.agent_id not in (None, by.id)
    ):
        raise errors.NotFound
    own = Q(agent=None) | Q(agent_id=owner.agent_id)
    return rows.filter(own, crew=owner.crew)


def get(record_id: str, *, owner: Owner | None, by: Actor) -> Record:
    """Return one current record that an owner reaches."""
    found = mine(owner, by=by).filter(pk=record_id).first()
    if found is None:
        raise errors.NotFound
    return found


def _question(owner: Owner | None, query: str, by: Actor) -> Question:
    named = owner is not None and not by.is_agent
    agent_id = owner.agent_id if named and owner else None
    crew_id = owner.crew.id if named and owner and agent_id is None else None
    scope = "crew_shared" if by.is_agent or agent_id else None
    return Question(
        query=query,
        scope=scope,
        crew_id=crew_id,
        agent_id=agent_id,
        limit=LIMIT,
        entry_types=TYPES,
    )


def _ranked(owner: Owner | None, query: str, by: Actor) -> dict[str, float]:
    """Return entry id → score: the ranker's list, then what words alone find deeper.

    Old versions of records take places in the ranker's list; the deeper look makes sure
    that a record is not missed because its past crowds it out.
    """
    found = ranking.ranker().recall(_question(owner, query, by), by=by)
    scores = {hit.entry.id: hit.score for hit in found}
    best = max(scores.values(), default=1.0) or 1.0
    scores = {entry_id: score / best for entry_id, score in scores.items()}
    scope = WordScope(
        workspace_id=by.workspace_id,
        crew_id=owner.crew.id if owner else None,
        entry_types=TYPES,
        embeddable_only=False,
    )
    deep = lexical.rank(lexical.ask(by.workspace_id, query), scope, DEEP)
    floor = min(scores.values(), default=1.0)
    for rank, hit in enumerate(deep, 1):
        scores.setdefault(hit.entry_id, floor / (1 + rank))
    return scores


def find(
    query: str,
    *,
    owner: Owner | None,
    kinds: tuple[str, ...] = (),
    limit: int = 10,
    by: Actor,
) -> list[Hit]:
    """Return the best current records, by meaning where the ranker can."""
    scores = _ranked(owner, query, by)
    rows = mine(owner, by=by).filter(current_entry_id__in=list(scores))
    if kinds:
        rows = rows.filter(kind__in=kinds)
    hits = [Hit(row, round(scores[str(row.current_entry_id)], 4)) for row in rows]
    hits.sort(key=lambda hit: (-hit.score, hit.record.id))
    return hits[: max(1, min(limit, LIMIT))]


def probe(workspace_id: str) -> None:
    """Ask the store for a row, for a health check; raises when it does not answer."""
    Record.objects.filter(workspace_id=workspace_id).order_by("id").first()


def is_safe(record: Record) -> bool:
    """Whether a model may see a record: the scanner says so now, or a person did."""
    if not scanner.scan(record.content, source="prompt").is_held:
        return True
    if quarantine.is_cleared(record.workspace_id, record.content):
        return True
    rows = HeldRecord.objects.filter(record=record, workspace_id=record.workspace_id)
    return rows.filter(
        held__state=HeldState.RELEASED, held__sha256=record.sha256
    ).exists()
