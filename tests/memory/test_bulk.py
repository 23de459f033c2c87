"""Acting on many items: each by itself, whatever happens to another."""

from __future__ import annotations

import pytest

from memory.rules import bulk
from memory.rules.bulk import Outcome, Pick

ROWS = {"a": "a", "b": "b", "c": "c"}


def run(*ids: str) -> list[bulk.Item]:
    def act(row: str, _pick: Pick) -> Outcome:
        if row == "b":
            raise OSError
        return Outcome(state="done", version=2)

    return bulk.run([Pick(name) for name in ids], lambda _ids: ROWS, act)


def test_a_fault_at_one_item_keeps_the_results_of_the_others() -> None:
    items = run("a", "b", "c")
    assert [(item.ok, item.code) for item in items] == [
        (True, None),
        (False, "failed"),
        (True, None),
    ]
    assert items[0].pick == "a:2:"


def test_a_fault_before_anything_was_done_is_raised() -> None:
    with pytest.raises(OSError, match=""):
        run("b", "a")
