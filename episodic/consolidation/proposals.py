"""Proposed rules: their text, what approving would change, and their support."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from episodic.consolidation import promotion
from episodic.consolidation.pins import SOURCE
from episodic.consolidation.promotion import Score, Support
from episodic.models import ConsolidationProposal, Embedding, ProposalState
from memory import pagination, workspace_tree
from memory.files import paths, versions, writer
from memory.files.paths import Owner
from memory.files.versions import DiffLine
from memory.files.writer import Request
from memory.journal import append as journal
from memory.models import Agent, JournalEntry, MemoryFile
from memory.rules import errors, tokenizer
from memory.rules.permissions import Actor
from memory.rules.tiers import Place, Tier, WriteMode

SHOWN_IDS: Final = 8
MIN_SIMILARITY: Final = 0.75
AGES: Final = {"day": timedelta(days=1), "week": timedelta(days=7)}
OLDER: Final = "older"
# Of how many proposals the evidence is looked at for an agent, newest first.
AGENT_PROPOSALS: Final = 1_000
ID_BATCH: Final = 2_000
_HEADING: Final = re.compile(r"^##\s+(.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalFilter:
    """Filters beside the state; empty matches any.

    ``agent`` is the slug of whose entries are evidence; ``age`` is day, week or older.
    """

    crew_id: str = ""
    words: str = ""
    agent: str = ""
    age: str = ""


EVERY: Final = ProposalFilter()


@dataclass(frozen=True, slots=True)
class ProposalPage:
    """A page of proposals, newest first."""

    items: list[ConsolidationProposal]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """What approving now would do to a file."""

    label: str
    before: str
    after: str
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """The evidence of a proposal, how often it was recalled, and the score."""

    evidence: list[JournalEntry]
    missing_count: int
    support: Support
    score: Score


# ── The text of a rule ───────────────────────────────────────────────────────
def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def key(pattern: str) -> str:
    """Return a pattern's name: without case, accents, punctuation and spacing."""
    return digest(" ".join(tokenizer.split(tokenizer.fold(pattern))) or pattern)


def block(pattern: str, action: str, confidence: float, evidence: Sequence[str]) -> str:
    """Return a rule as text of a learned file."""
    ids = ", ".join(evidence[:SHOWN_IDS])
    if len(evidence) > SHOWN_IDS:
        ids += f" and {len(evidence) - SHOWN_IDS} more"
    parts = [f"## {pattern}", action, f"Evidence: {ids} (confidence {confidence:.2f})"]
    return "\n\n".join(part for part in parts if part) + "\n"


def headings(crew_files: Sequence[str]) -> list[str]:
    """Return the patterns of the rules in learned files."""
    return [heading for text in crew_files for heading in _HEADING.findall(text)]


def learned(owner: Owner) -> list[str]:
    """Return the texts of a crew's learned files."""
    rows = MemoryFile.objects.filter(crew=owner.crew, tier=Tier.LEARNED.value)
    files = rows.exclude(sha256="").select_related("crew__workspace", "agent")
    return [writer.current_text(owner, paths.place_of(row)) for row in files]


def is_alike(pattern: str, other: str) -> bool:
    """Whether two patterns say the same in nearly the same words."""
    left_words, right_words = (
        set(tokenizer.without_stop_words(tokenizer.split(text)))
        for text in (pattern, other)
    )
    return len(left_words & right_words) >= MIN_SIMILARITY * max(
        1, len(left_words | right_words)
    )


# ── Reading ──────────────────────────────────────────────────────────────────
def pending_count(actor: Actor) -> int:
    """Return how many proposals are pending, 0 for an actor who may not see them."""
    if not actor.can("proposals.read"):
        return 0
    rows = ConsolidationProposal.objects.filter(workspace_id=actor.workspace_id)
    return rows.filter(state=ProposalState.PENDING).count()


def proposal(actor: Actor, proposal_id: str) -> ConsolidationProposal:
    """Return a proposal of the actor's workspace, or NotFound."""
    actor.require("proposals.read")
    rows = ConsolidationProposal.objects.select_related(
        "crew__workspace", "learned_version"
    )
    row = rows.filter(pk=proposal_id, workspace_id=actor.workspace_id).first()
    if row is None:
        raise errors.NotFound
    return row


def _evidence_of(
    rows: QuerySet[ConsolidationProposal], workspace_id: str, agent: str
) -> list[str]:
    """Return the newest proposals with entries of an agent of this slug as evidence."""
    agents = Agent.objects.filter(workspace_id=workspace_id, slug=agent)
    crews = rows.filter(crew_id__in=agents.values("crew_id"))
    newest = crews.order_by("-created_at", "-id").values_list("pk", "evidence")
    evidence = {pk: set(ids) for pk, ids in newest[:AGENT_PROPOSALS]}
    ids = sorted(set().union(*evidence.values()))
    own: set[str] = set()
    for start in range(0, len(ids), ID_BATCH):
        entries = JournalEntry.objects.filter(pk__in=ids[start : start + ID_BATCH])
        entries = entries.filter(agent_id__in=agents.values("pk"))
        own.update(entries.values_list("pk", flat=True))
    return [pk for pk, entry_ids in evidence.items() if entry_ids & own]


def filtered(
    actor: Actor, state: str = "", filters: ProposalFilter = EVERY
) -> QuerySet[ConsolidationProposal]:
    """Return the proposals that match; an empty filter matches any."""
    actor.require("proposals.read")
    rows = ConsolidationProposal.objects.filter(workspace_id=actor.workspace_id)
    if state:
        rows = rows.filter(state=state)
    if filters.crew_id:
        rows = rows.filter(crew_id=filters.crew_id)
    words = filters.words.strip()
    if words:
        rows = rows.filter(Q(text__icontains=words) | Q(pk=words))
    if filters.age == OLDER:
        rows = rows.filter(created_at__lt=timezone.now() - AGES["week"])
    elif filters.age:
        if filters.age not in AGES:
            raise errors.unknown_value("age", [*AGES, OLDER])
        rows = rows.filter(created_at__gte=timezone.now() - AGES[filters.age])
    if filters.agent:
        pks = _evidence_of(rows, actor.workspace_id, filters.agent)
        rows = rows.filter(pk__in=pks)
    return rows


def page(
    actor: Actor,
    state: str = "",
    *,
    filters: ProposalFilter = EVERY,
    limit: int = 50,
    cursor: str | None = None,
) -> ProposalPage:
    """Return a page of proposals, newest first."""
    rows = filtered(actor, state, filters)
    question = pagination.digest(["proposals", state, asdict(filters)])
    if cursor:
        at, last = pagination.read(cursor, actor.workspace_id, question)
        edge = parse_datetime(str(at))
        rows = rows.filter(Q(created_at__lt=edge) | Q(created_at=edge, id__lt=last))
    newest = rows.select_related("crew").order_by("-created_at", "-id")
    items = list(newest[: limit + 1])
    if len(items) <= limit:
        return ProposalPage(items, None)
    end = items[limit - 1]
    position: list[str | int] = [end.created_at.isoformat(), end.id]
    next_cursor = pagination.make(actor.workspace_id, question, position)
    return ProposalPage(items[:limit], next_cursor)


def recent(actor: Actor, proposal_id: str) -> ConsolidationProposal | None:
    """Return the proposal that was just decided, None when it is there no more."""
    rows = filtered(actor).select_related("crew__workspace", "learned_version")
    return rows.filter(pk=proposal_id).first()


def state_counts(actor: Actor) -> dict[str, int]:
    """Return how many proposals are in each state."""
    rows = filtered(actor).order_by().values_list("state")
    return dict(rows.annotate(count=Count("pk")))


def living(rule: ConsolidationProposal) -> list[JournalEntry]:
    """Return the evidence that may still be used, of this crew, in the order given."""
    rows = JournalEntry.objects.filter(
        workspace_id=rule.workspace_id,
        crew_id=rule.crew_id,
        pk__in=rule.evidence,
        erased_at__isnull=True,
        restricted_at__isnull=True,
    )
    by_id = {row.id: row for row in rows}
    return [by_id[entry_id] for entry_id in rule.evidence if entry_id in by_id]


def support(rule: ConsolidationProposal, rows: Sequence[JournalEntry]) -> Support:
    """Return what the promotion score is made of.

    One recall counts every entry it returned, so the most recalled entry tells how many
    recalls there were at least; recalls at different moments were different questions,
    at least as far as each entry's last recall tells. Both are lower bounds.
    """
    embeddings = Embedding.objects.filter(pk__in=[row.id for row in rows])
    references = list(embeddings.values_list("reference_count", "last_referenced_at"))
    newest = max((row.ts for row in rows), default=None)
    age = (timezone.now() - newest).total_seconds() / 86_400 if newest else None
    return Support(
        confidence=rule.confidence,
        recalls=max((count for count, _ in references), default=0),
        queries=len({moment for _, moment in references if moment}),
        age_days=age,
        runs=rule.runs,
        evidence=len(rows),
        types=len({row.entry_type for row in rows}),
    )


def facts(rule: ConsolidationProposal) -> Facts:
    """Return the evidence and the score of a proposal, as of now."""
    rows = living(rule)
    backing = support(rule, rows)
    missing_count = len(rule.evidence) - len(rows)
    return Facts(rows, missing_count, backing, promotion.score(backing))


def rescore(rule: ConsolidationProposal) -> None:
    """Set today's score on a proposal, without saving it."""
    current = facts(rule)
    rule.signals, rule.score = current.score.signals, current.score.composite


def today(rule: ConsolidationProposal) -> tuple[Owner, Place]:
    """Return the file that approving a proposal now would write."""
    day = timezone.now().date().isoformat()
    return Owner(rule.crew), Place(Tier.LEARNED, day)


def change(rule: ConsolidationProposal, text: str | None = None) -> Change:
    """Return what approving would make of today's learned file."""
    owner, place = today(rule)
    before = writer.current_text(owner, place)
    request = request_of(owner, place, before, text or rule.text)
    after = writer.resulting_text(before, request)
    lines = versions.diff(before.encode(), after.encode())
    return Change(place.label, before, after, tuple(lines))


def request_of(owner: Owner, place: Place, before: str, text: str) -> Request:
    """Return the write that adds a rule to a file, after what it holds already."""
    appendix = f"\n{text}" if before.strip() else text
    return Request(owner, place, appendix, WriteMode.APPEND, SOURCE)


def seen_by(actor: Actor, rows: Sequence[JournalEntry]) -> dict[str, str]:
    """Return agent id → slug for the agents behind the evidence."""
    actor.require("proposals.read")
    return workspace_tree.agent_slugs(rows)


def moment(value: datetime | None) -> str | None:
    """Return a time as the API writes it."""
    return journal.stamp(value) if value else None
