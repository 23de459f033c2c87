"""Everything a reviewer reads about one held text, gathered before it is drawn."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.utils import timezone

from memory.files import inbox, marking, places, policy, review, versions, words
from memory.files.marking import Marked, Note
from memory.files.review import UNDO_DAYS, Decision
from memory.files.versions import DiffLine
from memory.models import HeldFile, HeldState, MemoryFile
from memory.rules import chunks, errors
from memory.rules import words as telling
from memory.rules.actors import Actor
from memory.rules.scanner import scoring

HIGH: Final = 0.9
MEDIUM: Final = 0.6
TITLE: Final = 80
# A plain finding names a case when it weighs this share of the heaviest one.
PLAIN: Final = 0.7
TERMS: Final = 6
CANDIDATES: Final = 14
READ: Final = 12_000


@dataclass(frozen=True, slots=True)
class Line:
    """A case as the list shows it."""

    held: HeldFile
    title: str
    excerpt: str
    level: str
    badge: str


@dataclass(frozen=True, slots=True)
class Search:
    """A search that would have found the text, and how many other pieces hold it."""

    words: str
    others: int


@dataclass(frozen=True, slots=True)
class Dossier:
    """One case in full. ``threshold`` is the score from which its source is held."""

    line: Line
    text: Marked
    threshold: float
    diff: list[DiffLine]
    redacted: list[DiffLine]
    headings: list[str]
    searches: list[Search]
    alike: list[HeldFile]
    source: str
    undo_until: timedelta | None
    writes: str

    @property
    def held(self) -> HeldFile:
        """The case itself."""
        return self.line.held

    @property
    def is_open(self) -> bool:
        """Whether it waits for a decision."""
        return self.held.state == HeldState.HELD


def level(risk: float) -> tuple[str, str]:
    """Return a risk as a word and a colour."""
    if risk >= HIGH:
        return "high", "red"
    return ("medium", "yellow") if risk >= MEDIUM else ("low", "")


def title(told: list[Note]) -> str:
    """Return what the heaviest finding says, in the words of the rule."""
    if not told:
        return "Resembles a text that was discarded"
    first = told[0]
    plain = next((n for n in told if not n.decoded), None)
    if plain and plain.weight >= first.weight * PLAIN:
        return plain.why.rstrip(".")[:TITLE]
    payload = max(marking.payloads(told), key=lambda n: len(n.decoded or ""))
    said = " ".join((payload.decoded or "").split())
    return f"Hidden: “{said[:48]}{'…' if len(said) > 48 else ''}”"


def line(held: HeldFile) -> Line:
    """Return a case for the list."""
    told = marking.notes(held.findings)
    word, badge = level(held.risk)
    shown = marking.excerpt(review.text_of(held), told)
    return Line(held, title(told), shown, word, badge)


def _redacted(held: HeldFile) -> list[DiffLine]:
    """Return what redacting every finding would change in the text."""
    spans = [(found["start"], found["end"]) for found in held.findings]
    return preview(held, spans)


def preview(held: HeldFile, spans: list[tuple[int, int]]) -> list[DiffLine]:
    """Return the difference between a held text and its redacted form."""
    if not spans:
        return []
    clean = review.redacted(held, spans)
    return versions.diff(bytes(held.body), clean.encode())


def change(held: HeldFile) -> list[DiffLine]:
    """Return what a release would change in the file now; nothing when it cannot."""
    try:
        return review.before_and_after(held)
    except errors.HouseError:
        return []


def _searches(held: HeldFile, text: str) -> list[Search]:
    """Return words that would lead a search to the text, rarest elsewhere first."""
    found = telling.telling(telling.split(text[:READ].lower()))
    common = [word for word, _ in Counter(found).most_common(CANDIDATES * 3)]
    asked = [word for word in common if 4 <= len(word) <= 24][:CANDIDATES]
    reach = MemoryFile.objects.filter(
        workspace_id=held.workspace_id, crew_id=held.crew_id
    ).exclude(sha256="")
    ids = [one.id for one in reach if one.agent_id in (None, held.agent_id)]
    ranked = [Search(word, len(words.find(ids, word, 20))) for word in asked]
    return sorted(ranked, key=lambda one: one.others)[:TERMS]


def _undo_until(held: HeldFile) -> timedelta | None:
    if held.decided_at is None:
        return None
    left = held.decided_at + timedelta(days=UNDO_DAYS) - timezone.now()
    return left if left > timedelta(0) else None


def of(held: HeldFile, actor: Actor) -> Dossier:
    """Gather a case for its reader."""
    text = review.text_of(held)
    headings = [piece.heading for piece in chunks.cut(text[:READ]) if piece.heading]
    owner = places.Owner(held.crew, held.agent) if held.crew else None
    return Dossier(
        line=line(held),
        text=marking.mark(text, held.findings),
        threshold=scoring.thresholds(held.source, held.tier).held,
        diff=change(held),
        redacted=_redacted(held),
        headings=list(dict.fromkeys(headings))[:TERMS],
        searches=_searches(held, text),
        alike=inbox.alike(actor, held),
        source=policy.SOURCES.get(held.source, held.source),
        undo_until=_undo_until(held),
        writes="/".join(owner.parts()) if owner else "",
    )


DECISIONS: Final = {
    Decision.REDACT: ("Redact and release", "Redacted and released"),
    Decision.RELEASE: ("Release", "Released"),
    Decision.DISCARD: ("Discard", "Discarded"),
    Decision.BLOCK_SOURCE: ("Block source", "Discarded, source blocked"),
    Decision.RELEASE_AND_ALLOW: ("Release and allow", "Released and allowed"),
}
REASONS: Final = (
    "False alarm, the text is about attacks",
    "False alarm, ordinary work of the agent",
    "Injected by a page or message the agent read",
    "A secret that must not be remembered",
    "An order that nobody of ours gave",
)
