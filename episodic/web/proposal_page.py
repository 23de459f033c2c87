"""The inbox of proposed rules: what its page shows, and the queries of its links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from django.http import QueryDict
from django.utils.translation import gettext, gettext_noop

from episodic.consolidation import approval, promotion, proposals, undo
from episodic.consolidation.approval import TEXT_CHARS, Seen
from episodic.consolidation.proposals import (
    EVERY,
    Change,
    Facts,
    ProposalFilter,
    ProposalPage,
)
from episodic.models import ConsolidationProposal
from memory.files import versions
from memory.files.paths import Owner
from memory.files.versions import DiffLine
from memory.models import Crew
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.web import pages
from memory.web.bulk_page import Report

STATES: Final = {
    "pending": gettext_noop("Waiting"),
    "approved": gettext_noop("Approved"),
    "rejected": gettext_noop("Rejected"),
    "all": gettext_noop("All"),
}
# Stored as they are; pages show them in the reader's language.
PRESETS: Final = (
    gettext_noop("True, but too trivial to be a rule"),
    gettext_noop("The entries have nothing in common"),
    gettext_noop("Only one incident, told twice"),
    gettext_noop("Out of date: it no longer happens"),
    gettext_noop("Wrong: this is not what should be done"),
)
AGES: Final = (
    ("day", gettext_noop("Last day")),
    ("week", gettext_noop("Last 7 days")),
    ("older", gettext_noop("Older than 7 days")),
)
SIGNALS: Final = {
    "relevance": (
        gettext_noop("Confidence"),
        gettext_noop("how sure the summariser is"),
    ),
    "frequency": (gettext_noop("Recalled"), gettext_noop("times at least, full at 30")),
    "query_diversity": (
        gettext_noop("Different questions"),
        gettext_noop("at least, full at 10"),
    ),
    "recency": (gettext_noop("Recency"), gettext_noop("halves every 14 days")),
    "consolidation": (
        gettext_noop("Found again"),
        gettext_noop("runs that found it, full at 5"),
    ),
    "richness": (
        gettext_noop("Evidence"),
        gettext_noop("how many entries, of how many types"),
    ),
}
WORDS_CHARS: Final = 100


@dataclass(frozen=True, slots=True)
class Filters:
    """The list beside the open proposal; ``state`` is never empty."""

    state: str
    narrow: ProposalFilter = EVERY
    cursor: str = ""

    @property
    def is_narrow(self) -> bool:
        return self.narrow != EVERY

    def query(self, **changes: str) -> str:
        """Return the filters as a query string for links."""
        params = QueryDict(mutable=True)
        parts = {
            "state": self.state,
            "crew": self.narrow.crew_id,
            "q": self.narrow.words,
            "agent": self.narrow.agent,
            "age": self.narrow.age,
            "cursor": self.cursor,
        }
        params.update({key: text for key, text in (parts | changes).items() if text})
        return params.urlencode()


@dataclass(frozen=True, slots=True)
class Tab:
    """A state with its count."""

    word: str
    count: int
    href: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """The open proposal with what backs it and what approving it would write.

    ``obstacle`` is why its approval cannot be undone, "" when it can.
    """

    proposal: ConsolidationProposal
    facts: Facts
    signals: list[tuple[str, str, float, float]]
    change: Change | None
    names: dict[str, str]
    hold_reason: str
    obstacle: str = ""

    @property
    def is_too_long(self) -> bool:
        return len(self.proposal.text) > TEXT_CHARS

    @property
    def reason(self) -> str:
        """The reason of a rejection; one from the list in the reader's language."""
        reason = self.proposal.reason
        preset = next((text for text in PRESETS if reason.startswith(text)), "")
        return gettext(preset) + reason[len(preset) :] if preset else reason


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed between the reading and the decision."""

    lines: Sequence[DiffLine]
    missing_evidence: list[str]
    new_evidence: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    """Everything on the page."""

    filters: Filters
    tabs: list[Tab]
    page: ProposalPage
    crews: list[Crew]
    reading: Reading | None
    previous: str
    following: str
    recent: ConsolidationProposal | None = None
    report: Report | None = None
    refusal: errors.AppError | None = None
    difference: Difference | None = None
    data: QueryDict = field(default_factory=QueryDict)
    presets: tuple[str, ...] = PRESETS
    ages: tuple[tuple[str, str], ...] = AGES

    @property
    def query(self) -> str:
        return self.filters.query()

    @property
    def newest_href(self) -> str:
        """The first page of the list, "" on it."""
        if not self.filters.cursor:
            return ""
        return pages.address("proposals:list", query=self.filters.query(cursor=""))

    @property
    def older_href(self) -> str:
        """The page of the list after this one, "" on the last."""
        if not self.page.next_cursor:
            return ""
        query = self.filters.query(cursor=self.page.next_cursor)
        return pages.address("proposals:list", query=query)

    @property
    def text(self) -> str:
        """The text of the field: what was typed, or the proposed one."""
        if "text" in self.data:
            return str(self.data["text"])
        return self.reading.proposal.text if self.reading else ""


# ── What a request asks for ──────────────────────────────────────────────────
def filters_of(data: QueryDict, proposal: ConsolidationProposal | None) -> Filters:
    """Return the filters of a page; its state is that of the proposal by default."""
    state = data.get("state") or (proposal.state if proposal else "pending")
    if state not in STATES:
        raise errors.Invalid(gettext("There is no such state."), code="unknown_state")
    narrow = ProposalFilter(
        crew_id=_text(data, "crew")[:32],
        words=_text(data, "q")[:WORDS_CHARS],
        agent=_text(data, "agent")[:64],
        age=_text(data, "age"),
    )
    return Filters(str(state), narrow, data.get("cursor", ""))


def _text(data: QueryDict, name: str) -> str:
    return data.get(name, "").replace("\0", "").strip()


def seen_in(data: QueryDict) -> Seen:
    """Return what the form says was on the page."""
    return Seen(data.get("seen_text", ""), tuple(data.getlist("seen_evidence")))


# ── The page ─────────────────────────────────────────────────────────────────
def listing(actor: Actor, filters: Filters) -> ProposalPage:
    state = "" if filters.state == "all" else filters.state
    return proposals.page(
        actor, state, filters=filters.narrow, cursor=filters.cursor or None
    )


def neighbours(
    rows: Sequence[ConsolidationProposal], proposal: ConsolidationProposal | None
) -> tuple[str, str]:
    """Return the ids before and after a proposal in its list, "" for none."""
    ids = [row.id for row in rows]
    if proposal is None or proposal.id not in ids:
        return "", ids[0] if ids else ""
    at = ids.index(proposal.id)
    return ids[at - 1] if at else "", ids[at + 1] if at + 1 < len(ids) else ""


def tabs(actor: Actor, filters: Filters) -> list[Tab]:
    counts = proposals.state_counts(actor)
    counts["all"] = sum(counts.values())
    return [
        Tab(
            gettext(word),
            counts.get(value, 0),
            pages.address("proposals:list", state=value),
            is_current=value == filters.state,
        )
        for value, word in STATES.items()
    ]


def reading(actor: Actor, proposal: ConsolidationProposal) -> Reading:
    facts = proposals.facts(proposal)
    values = facts.score.signals
    hold_reason = obstacle = ""
    if proposal.learned_label and proposal.is_undoable:
        obstacle = undo.obstacle(proposal)
    if proposal.is_pending:
        hold_reason = approval.hold_reason(Owner(proposal.crew), proposal.text, actor)
    return Reading(
        proposal,
        facts,
        [
            (*SIGNALS[name], values[name], weight)
            for name, weight in promotion.WEIGHTS.items()
        ],
        proposals.change(proposal) if proposal.is_pending else None,
        proposals.seen_by(actor, facts.evidence),
        hold_reason,
        obstacle,
    )


def difference(proposal: ConsolidationProposal, data: QueryDict) -> Difference | None:
    """Return what changed since the form was shown, None when nothing did."""
    seen = seen_in(data)
    ids = [row.id for row in proposals.living(proposal)]
    lines: Sequence[DiffLine] = ()
    if seen.text_sha256 != proposal.content_hash:
        before = data.get("text", "").replace("\r\n", "\n").strip() + "\n"
        lines = versions.diff(before.encode(), proposal.text.encode())
    missing = [entry_id for entry_id in seen.evidence if entry_id not in ids]
    new = [entry_id for entry_id in ids if entry_id not in seen.evidence]
    return Difference(lines, missing, new) if lines or missing or new else None
