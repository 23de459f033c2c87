"""Everything a reviewer reads about one held text, gathered before it is drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.utils import timezone

from memory.files import paths, policy, search_index, versions
from memory.files.versions import DiffLine
from memory.models import HeldFile, HeldState, MemoryFile
from memory.review import highlight
from memory.review import preview as review_preview
from memory.review import queue as review_queue
from memory.review.decide import UNDO_DAYS, Decision
from memory.review.highlight import Marked, Note
from memory.review.preview import Preview
from memory.rules import chunks, errors
from memory.rules import tokenizer as telling
from memory.rules.permissions import Actor
from memory.scanner import scoring

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
    redacted: Redaction | None
    chosen: frozenset[tuple[int, int]]
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
    def ticked(self) -> frozenset[int]:
        """The numbers of the findings to be cut; at first it is every one."""
        return frozenset(
            note.number
            for note in self.text.notes
            if not self.chosen or (note.start, note.end) in self.chosen
        )

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
    payload = max(highlight.payloads(told), key=lambda n: len(n.decoded or ""))
    said = " ".join((payload.decoded or "").split())
    return f"Hidden: “{said[:48]}{'…' if len(said) > 48 else ''}”"


def line(held: HeldFile) -> Line:
    """Return a case for the list."""
    told = highlight.notes(held.findings)
    word, badge = level(held.risk)
    shown = highlight.excerpt(review_preview.text_of(held), told)
    return Line(held, title(told), shown, word, badge)


@dataclass(frozen=True, slots=True)
class Redaction:
    """What redacting would leave, drawn: the difference, and what an agent reads.

    ``beside`` are the words that stay next to a part that goes.
    """

    preview: Preview
    diff: list[DiffLine]
    beside: list[str]

    @property
    def is_clean(self) -> bool:
        """Whether it may be released."""
        return self.preview.left is not None and self.preview.left.is_clean

    @property
    def cut(self) -> int:
        """How many characters at the end a page does not draw."""
        return max(0, len(self.preview.reads) - highlight.SHOWN)

    @property
    def why(self) -> str:
        """What is wrong with the rest, as a sentence."""
        return self.preview.left.why if self.preview.left else ""


def redaction(
    held: HeldFile, chosen: Sequence[tuple[int, int]] = ()
) -> Redaction | None:
    """Return what redacting the chosen parts would leave; without any, every finding.

    None when there is nothing to take out, or nowhere to put what is left.
    """
    if not chosen and not held.findings:
        return None
    made = review_preview.of_redaction(held, chosen)
    text, left = review_preview.text_of(held), made.left
    beside = [text[start:end] for start, end in left.beside] if left else []
    return Redaction(made, versions.diff(bytes(held.body), made.text.encode()), beside)


def drawn(held: HeldFile, chosen: Sequence[tuple[int, int]] = ()) -> Redaction | None:
    """Return the same for a case as it is opened; None also where it cannot be made."""
    try:
        return redaction(held, chosen) if held.state == HeldState.HELD else None
    except errors.HouseError:
        return None


def change(held: HeldFile) -> list[DiffLine]:
    """Return what a release would change in the file now; nothing when it cannot."""
    try:
        return review_preview.before_and_after(held)
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
    ranked = [Search(word, len(search_index.find(ids, word, 20))) for word in asked]
    return sorted(ranked, key=lambda one: one.others)[:TERMS]


def _undo_until(held: HeldFile) -> timedelta | None:
    if held.decided_at is None:
        return None
    left = held.decided_at + timedelta(days=UNDO_DAYS) - timezone.now()
    return left if left > timedelta(0) else None


def of(held: HeldFile, actor: Actor, chosen: Sequence[tuple[int, int]] = ()) -> Dossier:
    """Gather a case for its reader; ``chosen`` are the parts ticked to be cut."""
    text = review_preview.text_of(held)
    headings = [piece.heading for piece in chunks.cut(text[:READ]) if piece.heading]
    owner = paths.Owner(held.crew, held.agent) if held.crew else None
    return Dossier(
        line=line(held),
        text=highlight.mark(text, held.findings),
        threshold=scoring.thresholds(held.source, held.tier).held,
        diff=change(held),
        redacted=drawn(held, chosen),
        chosen=frozenset(chosen),
        headings=list(dict.fromkeys(headings))[:TERMS],
        searches=_searches(held, text),
        alike=review_queue.alike(actor, held),
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
