"""Everything that the page shows a reviewer about one held text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.utils import timezone

from memory.files import policy, scan_context, search_index, versions
from memory.files.versions import DiffLine
from memory.models import HeldFile, HeldState, MemoryFile
from memory.review import context_words, highlight
from memory.review import preview as review_preview
from memory.review import queue as review_queue
from memory.review.context_words import Row
from memory.review.decide import UNDO_DAYS, Decision
from memory.review.highlight import Marked, Note
from memory.review.preview import Preview
from memory.rules import chunks, errors, tokenizer
from memory.rules.permissions import Actor
from memory.rules.translation import gettext, gettext_noop

HIGH: Final = 0.9
MEDIUM: Final = 0.6
TITLE: Final = 80
# A finding in plain text names a case when it has this share of the heaviest weight.
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

    @property
    def is_tickable(self) -> bool:
        """Whether the case can be decided or, once decided, its decision undone."""
        return self.held.state == HeldState.HELD or _undo_time(self.held) > timedelta(0)


@dataclass(frozen=True, slots=True)
class Search:
    """A search word that finds the text, and how many other chunks contain it."""

    words: str
    other_count: int


@dataclass(frozen=True, slots=True)
class CaseDetail:
    """One case in full; such a text is held from the score ``threshold``.

    ``context`` is what the text was judged as, part by part.
    """

    line: Line
    text: Marked
    threshold: float
    suspicious: float
    context: list[Row]
    judges_policy: bool
    diff: list[DiffLine]
    redacted: Redaction | None
    selected_spans: frozenset[tuple[int, int]]
    headings: list[str]
    searches: list[Search]
    alike: list[HeldFile]
    source: str
    undo_until: timedelta | None

    @property
    def held_file(self) -> HeldFile:
        return self.line.held

    @property
    def selected_notes(self) -> frozenset[int]:
        """The numbers of the findings to redact; all without a selection."""
        return frozenset(
            note.number
            for note in self.text.notes
            if not self.selected_spans or (note.start, note.end) in self.selected_spans
        )

    @property
    def is_open(self) -> bool:
        """Whether the case waits for a decision."""
        return self.held_file.state == HeldState.HELD


def level(risk: float) -> tuple[str, str]:
    """Return a risk as a word and a colour."""
    if risk >= HIGH:
        return "high", "red"
    return ("medium", "yellow") if risk >= MEDIUM else ("low", "")


def title(notes: list[Note]) -> str:
    """Return the reason of the heaviest finding, or the payload that it hides."""
    if not notes:
        return gettext("Resembles a text that was discarded")
    first = notes[0]
    plain = next((n for n in notes if not n.decoded), None)
    if plain and plain.weight >= first.weight * PLAIN:
        return gettext(plain.why).rstrip(".")[:TITLE]
    payload = max(highlight.payloads(notes), key=lambda n: len(n.decoded or ""))
    payload_text = " ".join((payload.decoded or "").split())
    excerpt = payload_text[:48] + ("…" if len(payload_text) > 48 else "")
    return gettext("Hidden: “{excerpt}”").format(excerpt=excerpt)


def line(case: HeldFile) -> Line:
    notes = highlight.notes(case.findings)
    word, badge = level(case.risk)
    excerpt = highlight.excerpt(review_preview.text_of(case), notes)
    return Line(case, title(notes), excerpt, word, badge)


@dataclass(frozen=True, slots=True)
class Redaction:
    """What redacting would leave: the difference, and what an agent reads.

    ``beside`` is the text that stays directly next to a part that is taken out.
    """

    preview: Preview
    diff: list[DiffLine]
    beside: list[str]

    @property
    def is_clean(self) -> bool:
        """Whether the remaining text may be released."""
        return self.preview.remainder is not None and self.preview.remainder.is_clean

    @property
    def hidden_chars(self) -> int:
        """How many characters at the end the page leaves out."""
        return max(0, len(self.preview.reads) - highlight.MAX_CHARS)

    @property
    def fault(self) -> str:
        """What is wrong with the remaining text, as a sentence."""
        return gettext(self.preview.remainder.why) if self.preview.remainder else ""


def redaction(
    case: HeldFile, spans: Sequence[tuple[int, int]] = ()
) -> Redaction | None:
    """Return the result of redacting the spans; without any, of every finding.

    None when there is nothing to take out.
    """
    if not spans and not case.findings:
        return None
    preview = review_preview.of_redaction(case, spans)
    text, remainder = review_preview.text_of(case), preview.remainder
    neighbours = (
        [text[start:end] for start, end in remainder.beside] if remainder else []
    )
    return Redaction(
        preview, versions.diff(bytes(case.body), preview.text.encode()), neighbours
    )


def redaction_or_none(
    case: HeldFile, spans: Sequence[tuple[int, int]] = ()
) -> Redaction | None:
    """Return the redaction of an open case; None also where it is not possible."""
    try:
        return redaction(case, spans) if case.state == HeldState.HELD else None
    except errors.AppError:
        return None


def change(case: HeldFile) -> list[DiffLine]:
    """Return what a release would change in the file; empty when it is not possible."""
    try:
        return review_preview.before_and_after(case)
    except errors.AppError:
        return []


def _searches(case: HeldFile, text: str) -> list[Search]:
    """Return words by which a search finds the text, rarest in other chunks first."""
    terms = tokenizer.without_stop_words(tokenizer.split(text[:READ].lower()))
    common = [word for word, _ in Counter(terms).most_common(CANDIDATES * 3)]
    candidates = [word for word in common if 4 <= len(word) <= 24][:CANDIDATES]
    reach = MemoryFile.objects.filter(
        workspace_id=case.workspace_id, crew_id=case.crew_id
    ).exclude(sha256="")
    ids = [row.id for row in reach if row.agent_id in (None, case.agent_id)]
    ranked = [Search(word, search_index.count(ids, word, 20)) for word in candidates]
    return sorted(ranked, key=lambda row: row.other_count)[:TERMS]


def _undo_time(case: HeldFile) -> timedelta:
    """Return how long a decision can still be undone; negative when it was too long."""
    if case.decided_at is None:
        return timedelta(0)
    return case.decided_at + timedelta(days=UNDO_DAYS) - timezone.now()


def case_detail(
    case: HeldFile, actor: Actor, spans: Sequence[tuple[int, int]] = ()
) -> CaseDetail:
    """Return a case in full; ``spans`` are the parts selected for redaction."""
    text = review_preview.text_of(case)
    headings = [piece.heading for piece in chunks.split(text[:READ]) if piece.heading]
    remaining, context = _undo_time(case), scan_context.context_of(case)
    return CaseDetail(
        line=line(case),
        text=highlight.mark(text, case.findings),
        threshold=context.held,
        suspicious=context.suspicious,
        context=context_words.rows(context),
        judges_policy=context.judges_policy,
        diff=change(case),
        redacted=redaction_or_none(case, spans),
        selected_spans=frozenset(spans),
        headings=list(dict.fromkeys(headings))[:TERMS],
        searches=_searches(case, text),
        alike=review_queue.similar_cases(actor, case),
        source=gettext(policy.SOURCES.get(case.source, case.source)),
        undo_until=remaining if remaining > timedelta(0) else None,
    )


DECISIONS: Final = {
    Decision.REDACT: (
        gettext_noop("Redact and release"),
        gettext_noop("Redacted and released"),
    ),
    Decision.RELEASE: (
        gettext_noop("Release"),
        gettext_noop("Released"),
    ),
    Decision.DISCARD: (
        gettext_noop("Discard"),
        gettext_noop("Discarded"),
    ),
    Decision.BLOCK_SOURCE: (
        gettext_noop("Block source"),
        gettext_noop("Discarded, source blocked"),
    ),
    Decision.RELEASE_AND_ALLOW: (
        gettext_noop("Release and allow"),
        gettext_noop("Released and allowed"),
    ),
}
REASONS: Final = (
    gettext_noop("False alarm, the text is about attacks"),
    gettext_noop("False alarm, ordinary work of the agent"),
    gettext_noop("Injected by a page or message the agent read"),
    gettext_noop("A secret that must not be remembered"),
    gettext_noop("An order that nobody of ours gave"),
)
