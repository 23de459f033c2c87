"""Which rows of a workspace are read to answer a question.

A small scope is read as a whole. Otherwise the rarest terms come first, as long as the
rows that hold them fit the budget; then rows that hold several of the frequent ones;
and where no term is rare, the newest with one, and those it says most in. All of it is
one statement, of which PostgreSQL runs no more than fills the budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memory import fulltext
from memory.fulltext import WordScope
from memory.rules.entries import RULE_TYPE
from memory.word_index import pg_read, pg_rows, pg_scope, pg_table
from memory.word_index.frequencies import Counts
from memory.word_index.pg_rows import SELECTED, Rows
from memory.word_index.pg_table import KEYS_SQL, TIERS

# Rows that are read; a scope that has no more is read as a whole.
BUDGET: Final = 3_000
# So many rows of rare terms are enough to leave out frequent words alone.
ENOUGH: Final = 300
NEWEST: Final = 500
# How far back the newest rows with a word are sought.
NEWEST_AMONG: Final = 50_000
PAIRS: Final = 6
# A list that most rows of a workspace are on narrows nothing.
SELECTIVE: Final = 3
# Times the rows of a scope: so many postings cost more than the rows.
LONG: Final = 20


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows that are on one list of each of ``lists``; ``newest`` are of the last ones.

    ``holding`` are terms, of which the newest rows hold one.
    """

    lists: tuple[list[int], ...] = ()
    holding: tuple[int, ...] = ()


def scope_lists(scope: WordScope) -> list[list[int]]:
    """Return the keys of a scope's owners and of its types; rows are on one of each.

    A crew's rules are sought among all rules: these are few, what a crew wrote is not.
    """
    columns = {"crew_id": scope.crew_id, "agent_id": scope.agent_id}
    owned = {column: value for column, value in columns.items() if value is not None}
    if owned and scope.rules_crew_id is not None:
        owned["entry_type"] = RULE_TYPE
    owners = {pg_table.of_column(*pair) for pair in owned.items()}
    types = {pg_table.of_column("entry_type", kind) for kind in scope.entry_types}
    return [sorted(keys) for keys in (owners, types) if keys]


class Plan:
    """The parts of the statement that reads a question's candidates."""

    def __init__(
        self, scope: WordScope, numbers: Sequence[int], counts: Counts, budget: int
    ) -> None:
        self._scope, self._counts, self._budget = scope, counts, budget
        by_term: Mapping[int, int] = counts.by_term
        self._terms = sorted(numbers, key=lambda number: by_term[number])
        total = max(1, counts.entries)
        lists = scope_lists(scope)
        sizes = [sum(by_term[key] for key in keys) for keys in lists]
        self._size = min([total, *sizes])
        self._share = min(1.0, self._size / total)
        self._lists = [
            pg_table.keys(scope.workspace_id, keys)
            for keys, size in zip(lists, sizes, strict=True)
            if size * SELECTIVE <= total or size <= budget
        ]

    def _expected(self, *numbers: int) -> float:
        """Return how many rows in scope hold all of some terms, about."""
        share = self._share
        for number in numbers:
            share *= self._counts.by_term[number] / max(1, self._counts.entries)
        return share * self._counts.entries

    def _keys(self, numbers: Sequence[int], tiers: Sequence[int]) -> list[int]:
        return pg_table.keys(self._scope.workspace_id, numbers, tiers)

    def parts(self) -> Iterator[_Part]:
        """Yield the parts in the order in which they are to fill the budget."""
        if self._size <= self._budget:
            yield self._small()
            return
        rare, rows = list[int](), 0.0
        for number in self._terms:
            rows += self._expected(number)
            if rows > self._budget:
                break
            rare.append(number)
        frequent = self._terms[len(rare) :]
        if rare:
            yield _Part((self._keys(rare, range(TIERS)),))
            rows = sum(map(self._expected, rare))
        else:
            rows = 0.0
        yield from self._together(frequent, self._budget - rows)
        if frequent and rows < ENOUGH:
            yield from self._single_terms(frequent)

    def _small(self) -> _Part:
        """Return the rows of a small scope that hold a term, or all of them.

        All, where the lists of the terms are long and the scope is not. Of what is not
        embedded nobody knows how much there is.
        """
        postings = sum(self._counts.by_term[number] for number in self._terms)
        is_known = bool(self._lists) and self._scope.embeddable_only
        if is_known and postings > LONG * self._size:
            return _Part()
        return _Part((self._keys(self._terms, range(TIERS)),))

    def _together(self, frequent: Sequence[int], room: float) -> Iterator[_Part]:
        """Yield rows that hold two of the frequent terms, or all of them."""
        pairs = sorted(combinations(frequent, 2), key=lambda p: self._expected(*p))
        is_cut = False
        for pair in pairs[:PAIRS]:
            room -= self._expected(*pair)
            if room < 0:
                is_cut = True
                break
            yield _Part(tuple(self._keys([n], range(TIERS)) for n in pair))
        if is_cut:
            yield _Part(tuple(self._keys([n], range(TIERS)) for n in frequent))

    def _single_terms(self, frequent: Sequence[int]) -> Iterator[_Part]:
        """Yield the newest rows with one of the terms, then those that it says most in.

        The newest first: where a list is cut off, many rows say the same.
        """
        yield _Part(holding=tuple(frequent))
        for tier in range(TIERS - 1, -1, -1):
            yield _Part((self._keys(frequent, [tier]),))

    # ── The statement ────────────────────────────────────────────────────────
    def statement(self) -> tuple[str, list[Any]]:
        """Return the subquery of the candidates, and its parameters."""
        queries, params = [], list[Any]()
        for part in self.parts():
            sql, values = self._newest(part) if part.holding else self._from_lists(part)
            queries.append(f"({sql})")
            params += values
        return (
            f"SELECT * FROM ({' UNION ALL '.join(queries)}) AS parts LIMIT %s",  # noqa: S608
            [*params, self._budget],
        )

    def _from_lists(self, part: _Part) -> tuple[str, list[Any]]:
        where, params = pg_scope.of_words(self._scope)
        lists = [*part.lists, *self._lists]
        where += f" AND {KEYS_SQL}" * len(lists)
        sql = f"SELECT {SELECTED}, 1 AS inside FROM journal_words w WHERE {where}"  # noqa: S608
        return sql, [*params, *map(pg_read.array, lists)]

    def _newest(self, part: _Part) -> tuple[str, list[Any]]:
        """Return the newest rows that may hold a term: its bytes are in their words."""
        where, params = pg_scope.of_words(self._scope)
        where += " AND w.docid > %s AND ("
        where += " OR ".join(["position(%s IN w.words) > 0"] * len(part.holding)) + ")"
        low, _ = fulltext.docids(self._scope.workspace_id)
        first = low + self._counts.seq - NEWEST_AMONG
        terms = [number.to_bytes(4, "little") for number in part.holding]
        sql = (
            f"SELECT {SELECTED}, 1 AS inside FROM journal_words w WHERE {where}"  # noqa: S608
            " ORDER BY w.docid DESC LIMIT %s"
        )
        size = min(NEWEST, self._budget // 2)
        return sql, [*params, first, *terms, size]


def read(scope: WordScope, numbers: NDArray[np.uint32], counts: Counts) -> Rows:
    """Return the candidates of a question, and entries whose words are not written."""
    plan = Plan(scope, numbers.tolist(), counts, BUDGET)
    sql, params = plan.statement()
    rows = pg_rows.select(sql, params, numbers)
    if counts.unwritten:
        rows = rows.union(pg_rows.load(scope, counts.unwritten, numbers))
    return rows
