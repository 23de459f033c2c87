"""The word ranking in plain Python, from the rows: slow, and easy to believe."""

from __future__ import annotations

import math
from collections import Counter
from datetime import timedelta
from itertools import pairwise

from django.db.models import Q

from memory import authors
from memory.fulltext import WordScope
from memory.models import Agent, JournalEntry
from memory.rules import tokenizer
from memory.rules.entries import RULE_TYPE
from memory.word_index import bm25, terms

SILENCE = timedelta(minutes=30)


def _stems(text: str) -> list[str]:
    return [stem for word in tokenizer.split(text) for stem in terms.stems(word)]


def _attributed_text(row: JournalEntry) -> str:
    agent = Agent.objects.filter(pk=row.agent_id).first()
    return authors.attributed(agent.name if agent else None, row.summary)


def _in_scope(scope: WordScope) -> set[int]:
    rows = JournalEntry.objects.filter(
        workspace_id=scope.workspace_id,
        retired_at=None,
        restricted_at=None,
        erased_at=None,
    )
    owners = Q()
    if scope.crew_id is not None:
        owners |= Q(crew_id=scope.crew_id)
    if scope.agent_id is not None:
        owners |= Q(agent_id=scope.agent_id)
    if owners and scope.rules_crew_id is not None:
        owners |= Q(crew_id=scope.rules_crew_id, agent_id=None, entry_type=RULE_TYPE)
    rows = rows.filter(owners)
    if scope.embeddable_only:
        rows = rows.filter(embeddable=True)
    if scope.entry_types:
        rows = rows.filter(entry_type__in=scope.entry_types)
    if scope.since is not None:
        rows = rows.filter(ts__gte=scope.since)
    if scope.until is not None:
        rows = rows.filter(ts__lte=scope.until)
    if scope.recorded_until is not None:
        rows = rows.filter(recorded_at__lte=scope.recorded_until)
    return set(rows.values_list("docid", flat=True))


class Naive:
    """The ranking of one question."""

    def __init__(self, text: str, scope: WordScope) -> None:
        self.asked = set(
            _stems(" ".join(tokenizer.without_stop_words(tokenizer.split(text))))
        )
        self.rows = {
            row.docid: row
            for row in JournalEntry.objects.filter(workspace_id=scope.workspace_id)
        }
        self.words = {
            d: Counter(_stems(f"{_attributed_text(row)}\n{row.body}"))
            for d, row in self.rows.items()
        }
        self.scope = _in_scope(scope)
        self.speaking = [
            row
            for row in self.rows.values()
            if row.embeddable
            and not (row.retired_at or row.restricted_at or row.erased_at)
        ]
        self.before = self._before()

    def _before(self) -> dict[int, int]:
        """Return docid → the docid before it in its thread."""
        last: dict[object, JournalEntry] = {}
        before = {}
        for row in sorted(self.speaking, key=lambda row: (row.ts, row.docid)):
            key: object = row.trace_id
            if row.trace_id is None:
                if row.agent_id is None:
                    continue
                key = (row.crew_id, row.agent_id)
            earlier = last.get(key)
            last[key] = row
            if earlier is None:
                continue
            if row.trace_id is not None or row.ts - earlier.ts <= SILENCE:
                before[row.docid] = earlier.docid
        return before

    def _idf(self, stem: str) -> float:
        count = len(self.speaking)
        held_rows = sum(self.words[row.docid][stem] > 0 for row in self.speaking)
        return math.log(1 + (count - held_rows + 0.5) / (held_rows + 0.5))

    def _score(self, docids: list[int], *, is_window: bool = False) -> float:
        count = len(self.speaking)
        lengths = [sum(self.words[row.docid].values()) for row in self.speaking]
        average = max(1.0, sum(lengths) / max(1, count))
        counts: Counter[str] = Counter()
        for docid in docids:
            counts.update(self.words[docid])
        length, score = sum(counts.values()), 0.0
        for stem in self.asked:
            norm = bm25.K1 * (1 - bm25.B + bm25.B * length / average)
            if is_window:
                norm = bm25.K1
            score += (
                self._idf(stem) * counts[stem] * (bm25.K1 + 1) / (counts[stem] + norm)
            )
        return score

    def scores(self) -> dict[str, tuple[float, float]]:
        """Return entry id → own and context score of everything in scope."""
        after = {earlier: later for later, earlier in self.before.items()}
        result = {}
        for docid in self.scope:
            window = [docid]
            for links, steps in ((self.before, 3), (after, 2)):
                at = docid
                for _ in range(steps):
                    at = links.get(at, -1)
                    if at in self.scope:
                        window.append(at)
            row_id = self.rows[docid].id
            result[row_id] = (self._score([docid]), self._score(window, is_window=True))
        return result

    def lengths(self) -> dict[str, int]:
        """Return entry id → how many words it says: 0 for a question of up to 15."""
        lengths = {}
        for docid in self.scope:
            row, length = self.rows[docid], self.words[docid].total()
            is_short_question = length <= 15 and "?" in row.summary[-2:]
            lengths[row.id] = 0 if is_short_question else length
        return lengths

    def pairs(self, text: str) -> dict[str, float]:
        """Return entry id → the weight of the question's pairs of words in it."""
        words = tokenizer.split(text)
        request = {
            (_stems(first_word)[-1], _stems(right)[0])
            for first_word, right in pairwise(words)
            if not {first_word, right} <= tokenizer.STOP_WORDS
        }
        sums = {}
        for docid in self.scope:
            row = self.rows[docid]
            neighbours = set(pairwise(_stems(f"{_attributed_text(row)}\n{row.body}")))
            sums[row.id] = sum(
                max(self._idf(stem) for stem in pair if stem in self.asked)
                for pair in request & neighbours
            )
        return sums

    def neighbours(self) -> dict[str, tuple[str | None, str | None]]:
        """Return entry id → the entries directly before and after it in scope."""
        after = {earlier: later for later, earlier in self.before.items()}
        return {
            self.rows[docid].id: tuple(  # type: ignore[misc]
                self.rows[links[docid]].id if links.get(docid) in self.scope else None
                for links in (self.before, after)
            )
            for docid in self.scope
        }
