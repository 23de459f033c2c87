"""What the recall explorer shows: an answer taken apart, and why one is not in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext

from episodic.index import engine
from episodic.recall import (
    candidates,
    examples,
    explain,
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
from episodic.recall.search import Answer
from episodic.web import (
    answer_lines,
    comparison,
    curl_command,
    neighbour_graph,
    what_if_panel,
)
from episodic.web.answer_lines import Line
from episodic.web.comparison import Comparison
from episodic.web.recall_form import FIELD_OF, RecallForm
from episodic.web.what_if_panel import Expectation, WhatIfPanel
from memory.journal import queries
from memory.models import JournalEntry
from memory.rules import errors
from memory.rules.fusion import Fusion
from memory.rules.permissions import Actor
from memory.web import pages

RANKING_SHOWN: Final = 8
RANKING_MOST: Final = 3 * K_MAX


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
    def degraded(self) -> str:
        """Which ranking is missing, in words; "" for none."""
        return ranking.degraded_text(self.answer.rankings.degraded)

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
    what_if: WhatIfPanel | None = None
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


def explore(answer: Answer, *, full: bool = False) -> Explored:
    """Return an answer by its parts; ``full`` shows the whole rankings."""
    limit = RANKING_MOST if full else RANKING_SHOWN
    dense, words = ranking_rows.of(answer, limit)
    rule = ranking.rule(answer.request, answer.rankings)
    hits, below = answer_lines.lines(answer, rule)
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
        form.add_error("entry_id", gettext("There is no such entry here."))


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


def build(
    actor: Actor, form: RecallForm, origin: str, expectation: Expectation | None = None
) -> RecallPage:
    """Return the page for a form, with an answer when there is a question.

    ``expectation`` is what the priority that was changed last was to bring.
    """
    request = form.request()
    answer, explanation, entry = None, None, None
    if request is not None:
        answer, explanation = _answer(actor, form, request)
    else:
        entry = _entry(actor, form)
    entry = explanation.entry if explanation else entry
    # A fault that is added below would empty what was asked.
    words = form.entry_asked
    searches = bool(words) and entry is None
    context, compared, panel = None, None, None
    if answer is not None:
        context = prompt_context.show(answer, form.budget)
        compared = _compared(actor, form, answer)
        panel = what_if_panel.build(actor, form, answer, entry, expectation)
    return RecallPage(
        context=context,
        compared=compared,
        what_if=panel,
        form=form,
        explored=explore(answer, full=form.shows_whole_rankings) if answer else None,
        why=explanation,
        entry=entry,
        candidates=candidates.search(actor, words) if searches else None,
        examples=[] if answer else examples.of(actor),
        curl=curl_command.build(request, origin) if request and answer else "",
        status=422 if form.errors else 200,
    )
