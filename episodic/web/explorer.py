"""What the recall explorer shows: an answer taken apart, and why one is not in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from episodic.index import engine
from episodic.recall import (
    candidates,
    examples,
    explain,
    fusion,
    hit_sentences,
    neighbours,
    prompt_context,
    ranking,
    ranking_rows,
)
from episodic.recall import search as recall
from episodic.recall.examples import Example
from episodic.recall.explain import Explanation
from episodic.recall.prompt_context import Context
from episodic.recall.ranking_rows import RankingRow
from episodic.recall.request import K_MAX, QUERY_CHARS, Mode, Request
from episodic.recall.results import Hit
from episodic.recall.search import Answer
from episodic.web import comparison, curl_command, neighbour_graph
from episodic.web.comparison import Comparison
from episodic.web.recall_form import FIELD_OF, RecallForm
from memory import workspace_tree
from memory.journal import queries
from memory.models import JournalEntry
from memory.rules import errors
from memory.rules.convex import Parts
from memory.rules.fusion import Fusion
from memory.rules.permissions import Actor
from memory.web import pages

RANKING_SHOWN: Final = 8
RANKING_MOST: Final = 3 * K_MAX
GAP: Final = 0.6
# The most one ranking can add in reciprocal rank fusion: its first place.
MAX_SHARE: Final = fusion.reciprocal(1)


@dataclass(frozen=True, slots=True)
class Bar:
    """One piece of a contribution, in hundredths of the widest possible bar."""

    kind: str
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Line:
    """One entry of the fused answer. ``label`` says in words what the bars show.

    ``reason`` is one sentence on why it is there. A neighbour of a hit has no rank;
    ``beside`` is the hit it was reached from and ``relation`` how.
    """

    rank: int | None
    hit: Hit
    author: str
    bars: list[Bar]
    label: str
    reason: str = ""
    relation: str = ""
    beside: str = ""


@dataclass(frozen=True, slots=True)
class Explored:
    """An answer and its parts; ``rule`` is rrf, convex or product (dense alone)."""

    answer: Answer
    dense: list[RankingRow]
    words: list[RankingRow]
    context: list[RankingRow]
    returned: set[str]
    hits: list[Line]
    below: list[Line]
    rule: str
    silent: int
    neighbours: neighbour_graph.Drawing | None

    @property
    def asks_dense(self) -> bool:
        """Whether the mode uses the dense ranking."""
        return self.answer.request.mode is not Mode.SPARSE

    @property
    def asks_words(self) -> bool:
        """Whether words were used, by the mode or instead of the dense ranking."""
        mode = self.answer.request.mode
        return mode is not Mode.DENSE or self.answer.rankings.degraded is not None

    @property
    def asks_context(self) -> bool:
        """Whether the words around an entry were asked, which only convex does."""
        return self.rule == Fusion.CONVEX

    @property
    def preferences(self) -> list[str]:
        """What the question prefers, a sentence each."""
        return self.answer.rankings.preferences.sentences()

    @property
    def rest(self) -> float:
        """Milliseconds spent on fusing and loading."""
        return self.answer.timings.fuse + self.answer.timings.load


@dataclass(frozen=True, slots=True)
class RecallPage:
    """Everything on the page; ``explored`` is None before the first question.

    ``candidates`` are the entries that the words of an expected one may mean.
    """

    form: RecallForm
    explored: Explored | None
    why: Explanation | None
    entry: JournalEntry | None
    examples: list[Example]
    curl: str
    status: int
    context: Context | None = None
    compared: Comparison | None = None
    candidates: list[JournalEntry] | None = None

    @property
    def deeper(self) -> str:
        """The address of the same question with a K that returns the entry, or ""."""
        needed = self.why.would_need_k if self.why else None
        return _address(self.form, k=str(needed)) if needed else ""

    @property
    def can_index(self) -> bool:
        """Whether embedding the expected entry now may help."""
        if self.why is None or engine.embedder().name == "none":
            return False
        entry = self.why.entry
        if entry.erased_at or entry.restricted_at or entry.retired_at:
            return False
        verdicts = {check.name: check.verdict for check in self.why.checks}
        return verdicts["policy"] == "pass" and verdicts["state"] == "fail"

    @property
    def longer(self) -> str:
        """The address that shows the rankings to their ends, "" when it does."""
        return "" if self.form.shows_whole_rankings else _address(self.form, legs="all")

    @property
    def own_words(self) -> str:
        """The address that asks with the entry's own summary."""
        words = self.entry.summary[:QUERY_CHARS] if self.entry else ""
        return _address(self.form, query=words)


def _address(form: RecallForm, **changes: str) -> str:
    return pages.address("episodic:recall", query=form.address(**changes))


def _bars(hit: Hit, rule: str) -> tuple[list[Bar], str]:
    if rule == "product":
        wide = 100 * min(1.0, max(0.0, hit.score))
        return [Bar("", 0.0, round(wide, 2))], f"cosine × importance {hit.score:.3f}"
    if hit.parts is not None:
        return _part_bars(hit.parts)
    ranks = (hit.dense_rank, hit.sparse_rank)
    dense, words = (fusion.reciprocal(rank) if rank else 0.0 for rank in ranks)
    scale = (100 - GAP) / (2 * MAX_SHARE)
    bars = []
    if dense:
        bars.append(Bar("", 0.0, round(dense * scale, 2)))
    if words:
        start = dense * scale + GAP if dense else 0.0
        bars.append(Bar("two", round(start, 2), round(words * scale, 2)))
    return bars, f"dense {dense:.4f}, words {words:.4f}"


def _part_bars(parts: Parts) -> tuple[list[Bar], str]:
    """Return a bar for meaning, words, what stands around the entry, and the rest."""
    around = parts.context + parts.neighbours + parts.conversation
    rest = parts.substance + parts.preference
    shares = {"": parts.meaning, "two": parts.words, "three": around, "four": rest}
    bars, x = [], 0.0
    for kind, share in shares.items():
        if share > 0:
            width = share * (100 - 3 * GAP)
            bars.append(Bar(kind, round(x, 2), round(width, 2)))
            x += width + GAP
    label = (
        f"meaning {parts.meaning:.3f}, words {parts.words:.3f}, around it {around:.3f} "
        f"(words {parts.context:.3f}, neighbours {parts.neighbours:.3f}, conversation "
        f"{parts.conversation:.3f}), length {parts.substance:.3f}, "
        f"preference {parts.preference:.3f}"
    )
    return bars, label


def _line(hit: Hit, rank: int | None, author: str, rule: str, reason: str) -> Line:
    relation, _, hit_id = hit.via.partition(":")
    if hit_id:
        return Line(None, hit, author, [], "a neighbour", "", relation, hit_id)
    bars, label = _bars(hit, rule)
    return Line(rank, hit, author, bars, label, reason)


def _lines(answer: Answer, rule: str) -> tuple[list[Line], list[Line]]:
    hits = [*answer.hits, *answer.below]
    slugs = workspace_tree.agent_slugs([hit.entry for hit in hits])
    ranked = [hit.entry.id for hit in hits if ":" not in hit.via]
    ranks = {entry_id: rank for rank, entry_id in enumerate(ranked, 1)}
    texts = hit_sentences.sentences(answer, hits)
    lines = [
        _line(
            hit,
            ranks.get(hit.entry.id),
            slugs.get(hit.entry.agent_id or "", hit.entry.actor_id),
            rule,
            texts[hit.entry.id],
        )
        for hit in hits
    ]
    count = len(answer.hits)
    # A neighbour that was returned may have been found below the cut as well.
    returned = {hit.entry.id for hit in answer.hits}
    below = [line for line in lines[count:] if line.hit.entry.id not in returned]
    return lines[:count], below


def explore(answer: Answer, *, full: bool = False) -> Explored:
    """Return an answer by its parts; ``full`` shows the whole rankings."""
    limit = RANKING_MOST if full else RANKING_SHOWN
    dense, words = ranking_rows.of(answer, limit)
    rule = ranking.rule(answer.request, answer.rankings)
    hits, below = _lines(answer, rule)
    word_ids = set(answer.rankings.word_ids)
    return Explored(
        answer=answer,
        dense=dense,
        words=words,
        context=ranking_rows.of_context(answer, limit),
        returned={hit.entry.id for hit in answer.hits},
        hits=hits,
        below=below,
        rule=rule,
        silent=sum(row.entry_id not in word_ids for row in dense),
        neighbours=_relations(answer),
    )


def _relations(answer: Answer) -> neighbour_graph.Drawing | None:
    if not answer.hits:
        return None
    first = answer.hits[0].entry
    return neighbour_graph.draw(neighbours.graph(first, answer.reach))


def _answer(
    actor: Actor, form: RecallForm, request: Request
) -> tuple[Answer | None, Explanation | None]:
    """Return the answer, and the explanation when an entry is asked about."""
    try:
        if form.entry_asked:
            try:
                explanation = explain.explain(request, form.entry_asked, by=actor)
            except errors.NotFound:
                _refuse_unknown_id(form)
            else:
                return explanation.answer, explanation
        return recall.search(request, by=actor), None
    except errors.Invalid as error:
        form.add_error(FIELD_OF.get(error.problem_code), error.detail)
        return None, None


def _entry(actor: Actor, form: RecallForm) -> JournalEntry | None:
    """Return the entry that is asked about before there is a question."""
    if not form.entry_asked:
        return None
    try:
        return queries.entry(actor, form.entry_asked)
    except errors.NotFound:
        _refuse_unknown_id(form)
        return None


def _refuse_unknown_id(form: RecallForm) -> None:
    """Add a fault for an id; other words are searched for."""
    if candidates.is_id(form.entry_asked):
        form.add_error("entry_id", "There is no such entry here.")


def _compared(actor: Actor, form: RecallForm, answer: Answer) -> Comparison | None:
    """Return the answer beside that of the other question, None without one."""
    other = form.other(answer.request) if form.is_valid() else None
    if other is None:
        return None
    slugs = {crew.id: crew.slug for crew in form.crews}
    slugs |= {agent.id: agent.slug for agent in form.agents}
    try:
        return comparison.compare(answer, recall.search(other, by=actor), slugs)
    except errors.Invalid as error:
        form.add_error("against_agent_id", error.detail)
        return None


def build(actor: Actor, form: RecallForm, origin: str) -> RecallPage:
    """Return the page for a form, with an answer when there is a question."""
    request = form.request()
    answer, explanation, entry = None, None, None
    if request is not None:
        answer, explanation = _answer(actor, form, request)
    else:
        entry = _entry(actor, form)
    entry = explanation.entry if explanation else entry
    searches = bool(form.entry_asked) and entry is None
    context, compared = None, None
    if answer is not None:
        context = prompt_context.show(answer, form.budget)
        compared = _compared(actor, form, answer)
    return RecallPage(
        context=context,
        compared=compared,
        form=form,
        explored=explore(answer, full=form.shows_whole_rankings) if answer else None,
        why=explanation,
        entry=entry,
        candidates=candidates.search(actor, form.entry_asked) if searches else None,
        examples=[] if answer else examples.of(actor),
        curl=curl_command.build(request, origin) if request and answer else "",
        status=422 if form.errors else 200,
    )
