"""The entries around an entry in its thread, and the question's words in them.

Only for explaining: the ranking by context has counted those words already. Like it,
this knows of no entry outside the asker's scope; it stops at one, where the ranking
looks past it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from episodic.recall.ranking import Rankings
from episodic.recall.search import Answer
from memory.models import JournalEntry
from memory.word_index import ranking as word_ranking
from memory.word_index.threads import AFTER, BEFORE


@dataclass(frozen=True, slots=True)
class Window:
    """The ids of the entries before and after one in its thread, nearest first."""

    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Words:
    """The question's words in an entry, in those before it, and in those after it."""

    own: list[str]
    before: list[str]
    after: list[str]

    @property
    def all(self) -> list[str]:
        """Each word once, those of the entry first."""
        return list(dict.fromkeys([*self.own, *self.before, *self.after]))


def windows(rankings: Rankings, entry_ids: Sequence[str]) -> dict[str, Window]:
    """Return what the ranking by context reads beside entries, as far as in scope."""
    around = {entry_id: Window() for entry_id in entry_ids}
    before = after = {entry_id: entry_id for entry_id in entry_ids}
    # What is beside a candidate is known from scoring it.
    sides = {
        entry_id: (signals.before, signals.after)
        for entry_id in rankings.parts
        for signals in [rankings.signals[entry_id]]
    }
    for step in range(max(BEFORE, AFTER)):
        before = before if step < BEFORE else {}
        after = after if step < AFTER else {}
        ends = dict.fromkeys([*before.values(), *after.values()])
        if rankings.word_answer and (unknown := [e for e in ends if e not in sides]):
            details = rankings.word_answer.details(unknown)
            sides |= {
                e: (details[e].before, details[e].after)
                for e in unknown
                if e in details
            }
        before = _step(before, sides, 0)
        after = _step(after, sides, 1)
        for entry_id, side in before.items():
            around[entry_id].before.append(side)
        for entry_id, side in after.items():
            around[entry_id].after.append(side)
    return around


def _step(
    ends: dict[str, str], sides: dict[str, tuple[str | None, str | None]], way: int
) -> dict[str, str]:
    """Return the next entry in one direction, of those that have one."""
    return {
        entry_id: side
        for entry_id, end in ends.items()
        if (side := sides.get(end, (None, None))[way])
    }


def words_of(answer: Answer, entry_ids: Iterable[str]) -> dict[str, list[str]]:
    """Return which of the question's words each entry in scope says."""
    rows = answer.reach.load(list(dict.fromkeys(entry_ids)))
    return words_in(answer, rows.values())


def words_in(answer: Answer, entries: Iterable[JournalEntry]) -> dict[str, list[str]]:
    """Return which of the question's words each of some entries says."""
    return word_ranking.matching_words(
        answer.reach.workspace_id,
        answer.rankings.word_query.terms,
        {entry.id: entry.docid for entry in entries},
    )


def words_around(answer: Answer, around: dict[str, Window]) -> dict[str, Words]:
    """Return which of the question's words stand in and around entries."""
    words_by_id = words_of(
        answer,
        (
            e
            for key, window in around.items()
            for e in (key, *window.before, *window.after)
        ),
    )
    terms = answer.rankings.word_query.terms

    def of(entry_ids: Iterable[str]) -> list[str]:
        side_words = {
            word for entry_id in entry_ids for word in words_by_id.get(entry_id, ())
        }
        return [word for word in terms if word in side_words]

    return {
        entry_id: Words(of([entry_id]), of(window.before), of(window.after))
        for entry_id, window in around.items()
    }
