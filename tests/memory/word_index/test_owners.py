"""Which rows belong to whom, remembered: the same as compared row by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memory.word_index.owners import NOBODY, OwnerRows, Part, united

RULE = 1
# Most rows belong to few, so that some are remembered and some compared each time.
CODES = st.sampled_from([NOBODY, 0, 0, 0, 0, 0, 0, 1, 2, 3])
ROWS = st.lists(st.tuples(CODES, CODES, st.integers(0, 2)), max_size=60)


@dataclass(frozen=True)
class Columns:
    crew: NDArray[np.int32]
    agent: NDArray[np.int32]
    type: NDArray[np.int32]


def columns_of(rows: list[tuple[int, int, int]]) -> Columns:
    numbers = np.array(rows, dtype=np.int32).reshape(-1, 3)
    return Columns(*(numbers[:, n].copy() for n in range(3)))


def listed(part: Part) -> list[int]:
    if part.mask is not None:
        assert part.rows is None
        return [int(row) for row in np.flatnonzero(part.mask)]
    assert part.rows is not None
    return [int(row) for row in part.rows]


@given(ROWS, st.lists(st.integers(0, 60), min_size=1, max_size=6), st.booleans())
def test_the_rows_of_each_owner_are_those_that_name_it(
    rows: list[tuple[int, int, int]], sizes: list[int], changes: bool
) -> None:
    columns, owned = columns_of(rows), OwnerRows()
    for size in (min(size, len(rows)) for size in sizes):
        if changes and size:
            columns.agent[size // 2] = 3
            owned.forget()
        crews, agents, types = (
            c[:size].tolist() for c in (columns.crew, columns.agent, columns.type)
        )
        for code in range(4):
            of_crew = owned.of(columns, size, "crew", code)
            of_agent = owned.of(columns, size, "agent", code)
            rules = owned.rules(columns, size, code, RULE)
            assert listed(of_crew) == [n for n in range(size) if crews[n] == code]
            assert listed(of_agent) == [n for n in range(size) if agents[n] == code]
            owners = zip(crews, agents, types, strict=True)
            expected = [row == (code, NOBODY, RULE) for row in owners]
            assert listed(rules) == np.flatnonzero(expected).tolist()
            all_of_them = {*listed(of_crew), *listed(of_agent), *listed(rules)}
            together = united([of_crew, of_agent, rules], size)
            assert listed(together) == sorted(all_of_them)


def test_only_rows_that_came_since_are_looked_at_again() -> None:
    columns, owned = columns_of([(0, n % 50, 0) for n in range(500)]), OwnerRows()
    assert listed(owned.of(columns, 400, "agent", 7)) == list(range(7, 400, 50))
    columns.agent[:400] = 9
    assert listed(owned.of(columns, 500, "agent", 7)) == list(range(7, 500, 50))
    assert owned.nbytes == 10 * 4
    owned.forget()
    assert listed(owned.of(columns, 500, "agent", 7)) == [407, 457]


def test_what_was_found_before_a_change_is_not_remembered_after_it() -> None:
    owned = OwnerRows()

    class Changing(Columns):
        def __getattribute__(self, name: str) -> NDArray[np.int32]:
            codes: NDArray[np.int32] = super().__getattribute__(name)
            if name == "agent":
                # Another thread's change, between the reading and the remembering.
                codes = codes.copy()
                super().__getattribute__("agent")[:] = 1
                owned.forget()
            return codes

    columns = columns_of([(0, n % 50, 0) for n in range(500)])
    changing = Changing(columns.crew, columns.agent, columns.type)
    assert len(listed(owned.of(changing, 500, "agent", 7))) == 10
    assert listed(owned.of(columns, 500, "agent", 7)) == []
