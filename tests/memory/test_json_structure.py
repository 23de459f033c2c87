"""The count over the bytes agrees with what a JSON reader would build."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.rules.json_structure import measure

TRICKY = st.sampled_from(['"', "\\", '\\"', "[[[{", "x,y]", '\\\\"', "", "é{", "\n,"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TRICKY | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(TRICKY, inner, max_size=4)
    ),
    max_leaves=40,
)


def counts(value: Any) -> tuple[int, int]:
    """Return depth and number of values of a built value."""
    inner = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list):
        return 0, 1
    parts = [counts(part) for part in inner]
    depth = 1 + max((part[0] for part in parts), default=0)
    return depth, 1 + sum(part[1] for part in parts)


@given(JSON, st.booleans(), st.sampled_from([None, 2]))
def test_neither_depth_nor_values_are_ever_understated(
    value: Any, ascii_only: bool, indent: int | None
) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    depth, values = counts(value)
    measured = measure(raw, depth=3, values=10_000)
    assert measured.values >= values
    assert (measured.depth > 3) == (depth > 3)
    # A limit just met is not exceeded: brackets and commas are one a value at most.
    brackets = values + raw.count(b"[]") + raw.count(b"{}")
    assert measure(raw, values=2 * brackets).values <= 2 * brackets
    assert values <= 5 or measure(raw, values=5).values > 5


@pytest.mark.parametrize(
    ("raw", "depth", "values"),
    [
        (b"[" * 200_000, 65, 1_001),
        (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, 65, 1_001),
        (b"[" + b"0," * 50_000 + b"0]", 1, 1_001),
        (b"[" + b'"",' * 50_000 + b"0]", 1, 1_001),
        (b'"' + b"[{," * 50_000 + b'"', 0, 1),
        (b'"' + b'\\"[,' * 50_000 + b'"', 0, 1),
        (b"]" * 5_000, 0, 1),
    ],
)
def test_floods_of_each_kind(raw: bytes, depth: int, values: int) -> None:
    measured = measure(raw, values=1_000)
    assert (min(measured.depth, 65), measured.values) == (depth, values)
