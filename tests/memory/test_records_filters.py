"""Filter expressions over records: every operator, honest refusal, one meaning."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory import records
from memory.models import Record
from memory.records import Criteria, Order, Provenance
from memory.records.drafts import Draft
from memory.rules import errors, filters
from memory.rules.permissions import Actor
from tests.world import World

PROVENANCE = Provenance.AGENT_EXTRACTED


@pytest.fixture
def ada(world: World) -> Actor:
    return world.actor("ada")


def save(by: Actor, content: str, **fields: Any) -> Record:
    draft = Draft(content=content, owner=records.owner_for(by), **fields)
    return records.save(draft, provenance=PROVENANCE, by=by).record


def contents(by: Actor, **criteria: Any) -> list[str]:
    page = records.page(Criteria(**criteria), order=Order.OLDEST, by=by)
    return [row.content for row in page.rows]


# ── Filters ──────────────────────────────────────────────────────────────────
def test_filters_narrow_lists_counts_and_answers_alike(ada: Actor) -> None:
    save(ada, "One.", kind="fact", confidence=0.4, metadata={"n": 1, "tags": ["a"]})
    save(
        ada, "Two.", kind="fact", confidence=0.8, metadata={"n": "1", "deep": {"x": 2}}
    )
    save(ada, "Three.", kind="rule", confidence=0.9, metadata={"n": True})
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({"field": "metadata.n", "op": "eq", "value": 1}, ["One."]),
        ({"field": "metadata.n", "op": "eq", "value": "1"}, ["Two."]),
        ({"field": "metadata.n", "op": "eq", "value": True}, ["Three."]),
        ({"field": "metadata.n", "op": "neq", "value": 1}, ["Two.", "Three."]),
        ({"field": "metadata.tags", "op": "contains", "value": "a"}, ["One."]),
        ({"field": "metadata.deep.x", "op": "gte", "value": 2}, ["Two."]),
        ({"field": "metadata.deep", "op": "exists"}, ["Two."]),
        (
            {"field": "metadata.deep", "op": "exists", "value": False},
            ["One.", "Three."],
        ),
        ({"field": "content", "op": "contains", "value": "t"}, ["Two.", "Three."]),
        ({"field": "type", "op": "in", "value": ["rule", "x"]}, ["Three."]),
        ({"field": "confidence", "op": "lt", "value": 0.8}, ["One."]),
        (
            {
                "and": [
                    {"field": "kind", "op": "eq", "value": "fact"},
                    {"not": {"field": "confidence", "op": "gt", "value": 0.5}},
                ]
            },
            ["One."],
        ),
        (
            {"field": "created_at", "op": "gt", "value": "2020-01-01T00:00:00.000Z"},
            ["One.", "Two.", "Three."],
        ),
    ]
    for expression, expected in cases:
        assert contents(ada, filter=expression) == expected, expression
        criteria = Criteria(filter=expression)
        assert records.count(criteria, by=ada) == len(expected)
        hits = records.search("one two three", criteria, by=ada).hits
        assert sorted(h.record.content for h in hits) == sorted(expected)


LEAF = {"field": "content", "op": "eq", "value": "x"}
DEEP: dict[str, Any] = LEAF
for _ in range(9):
    DEEP = {"not": DEEP}


@pytest.mark.parametrize(
    "expression",
    [
        {},
        {"and": []},
        {"and": LEAF},
        {"and": [LEAF], "or": [LEAF]},
        {"xor": [LEAF]},
        {"not": []},
        {"field": "content", "op": "like", "value": "x"},
        {"field": "content", "op": ["eq"], "value": "x"},
        {"field": "password", "op": "eq", "value": "x"},
        {"field": "metadata", "op": "eq", "value": "x"},
        {"field": "metadata.", "op": "eq", "value": "x"},
        {"field": "metadata.a..b", "op": "eq", "value": "x"},
        {"field": 7, "op": "eq", "value": "x"},
        {"field": "content", "op": "eq"},
        {"field": "content", "op": "eq", "value": "x", "more": 1},
        {"field": "content", "op": "eq", "value": None},
        {"field": "content", "op": "eq", "value": {"a": 1}},
        {"field": "content", "op": "eq", "value": 7},
        {"field": "confidence", "op": "eq", "value": "high"},
        {"field": "confidence", "op": "contains", "value": 1},
        {"field": "confidence", "op": "gt", "value": True},
        {"field": "metadata.a", "op": "gt", "value": True},
        {"field": "metadata.a", "op": "in", "value": []},
        {"field": "metadata.a", "op": "in", "value": "abc"},
        {"field": "metadata.a", "op": "in", "value": [1, "a"]},
        {"field": "metadata.a", "op": "in", "value": [True]},
        {"field": "metadata.a", "op": "exists", "value": 1},
        {"field": "created_at", "op": "gt", "value": "yesterday"},
        {"field": "created_at", "op": "gt", "value": "2026-01-01T00:00:00"},
        {"field": "created_at", "op": "contains", "value": "2026-01-01T00:00:00Z"},
        {"field": "content", "op": "eq", "value": "x" * 2_001},
        DEEP,
        {"or": [LEAF] * 65},
        {"or": [{"and": [LEAF] * 40}, {"and": [LEAF] * 40}]},
    ],
)
def test_what_is_not_understood_is_refused(ada: Actor, expression: Any) -> None:
    with pytest.raises(errors.Invalid) as caught:
        records.page(Criteria(filter=expression), by=ada)
    assert caught.value.problem_code == "bad_filter"


# ── Filters, against a plain evaluator ───────────────────────────────────────
SCALARS = st.one_of(
    st.text("abAB", max_size=3),
    st.sampled_from(["1", "true", "null", "é\U0001f600", "a\u2028\x01", '"', "0.1"]),
    st.integers(-2, 2),
    st.sampled_from([2**53 + 1, 10**30, -(10**15)]),
    st.sampled_from([0.5, 1.0, -1.5, 0.1, 0.1 + 0.2, 1e300, 5e-324, -0.0]),
    st.booleans(),
)
LISTS = st.one_of(
    st.lists(st.text("ab", max_size=2), min_size=1, max_size=3),
    st.lists(st.sampled_from([0, 1, 1.0, 2, 0.3]), min_size=1, max_size=3),
)
FIELDS = (
    *("metadata.a", "metadata.b", "metadata.d.e", "content", "kind", "confidence"),
    # Names that mean something to a database, and places in a list.
    *("metadata.gte", "metadata.a.0", "metadata.0", "metadata.a-b c", "metadata.é"),
)


@st.composite
def leaves(draw: Any) -> dict[str, Any]:
    field = draw(st.sampled_from(FIELDS))
    op = draw(st.sampled_from(filters.OPERATORS))
    if op == "exists":
        return {"field": field, "op": op, "value": draw(st.booleans())}
    if field == "confidence":
        if op == "contains":
            op = "eq"
        value: Any = draw(st.sampled_from([0, 0.5, 1]))
        return {"field": field, "op": op, "value": [value] if op == "in" else value}
    if field in ("content", "kind"):
        value = draw(st.text("abAB", min_size=1, max_size=2))
        return {"field": field, "op": op, "value": [value] if op == "in" else value}
    if op == "in":
        return {"field": field, "op": op, "value": draw(LISTS)}
    value = draw(SCALARS)
    if op in ("gt", "gte", "lt", "lte") and isinstance(value, bool):
        value = "a"
    return {"field": field, "op": op, "value": value}


EXPRESSIONS = st.recursive(
    leaves(),
    lambda inner: st.one_of(
        st.builds(lambda e: {"not": e}, inner),
        st.builds(
            lambda operator, parts: {operator: parts},
            st.sampled_from(["and", "or"]),
            st.lists(inner, min_size=1, max_size=3),
        ),
    ),
    max_leaves=6,
)
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "a": st.one_of(SCALARS, st.none(), st.lists(SCALARS, max_size=2)),
        "b": SCALARS,
        "d": st.one_of(SCALARS, st.fixed_dictionaries({}, optional={"e": SCALARS})),
        "gte": SCALARS,
        "0": SCALARS,
        "a-b c": SCALARS,
        "é": SCALARS,
    },
)
ROWS = st.lists(
    st.tuples(
        st.text("abAB", min_size=1, max_size=3),
        st.sampled_from(["a", "B"]),
        st.sampled_from([0.0, 0.5, 1.0]),
        METADATA,
    ),
    min_size=1,
    max_size=4,
)


def rank(value: Any) -> str:
    names = {bool: "b", int: "n", float: "n", str: "s"}
    return names.get(type(value), "other")


def looked_up(row: tuple[str, str, float, Any], field: str) -> Any:
    names = ("content", "kind", "confidence", "metadata")
    value: Any = dict(zip(names, row, strict=True))
    for step in field.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def is_equal(first: Any, second: Any) -> bool:
    return rank(first) == rank(second) != "other" and bool(first == second)


def contains(stored: Any, value: Any) -> bool:
    if isinstance(stored, list):
        return any(is_equal(item, value) for item in stored)
    are_texts = isinstance(stored, str) and isinstance(value, str)
    return are_texts and value.lower() in stored.lower()


PLAIN: dict[str, Callable[[Any, Any], bool]] = {
    "exists": lambda stored, value: (stored is not None) == value,
    "eq": is_equal,
    "neq": lambda stored, value: not is_equal(stored, value),
    "in": lambda stored, value: any(is_equal(stored, item) for item in value),
    "contains": contains,
    "gt": lambda stored, value: is_comparable(stored, value) and stored > value,
    "gte": lambda stored, value: is_comparable(stored, value) and stored >= value,
    "lt": lambda stored, value: is_comparable(stored, value) and stored < value,
    "lte": lambda stored, value: is_comparable(stored, value) and stored <= value,
}


def is_comparable(stored: Any, value: Any) -> bool:
    return rank(stored) == rank(value) and rank(stored) in ("n", "s")


def plain(expression: dict[str, Any], row: tuple[str, str, float, Any]) -> bool:
    """Evaluate an expression the slow, obvious way."""
    if "not" in expression:
        return not plain(expression["not"], row)
    for operator, join in (("and", all), ("or", any)):
        if operator in expression:
            return join(plain(part, row) for part in expression[operator])
    stored = looked_up(row, expression["field"])
    return PLAIN[expression["op"]](stored, expression["value"])


@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(rows=ROWS, expression=EXPRESSIONS)
def test_any_filter_gives_what_plain_reading_gives(
    ada: Actor, rows: list[Any], expression: dict[str, Any]
) -> None:
    Record.objects.all().delete()
    drafts = [
        Draft(
            content=content,
            owner=records.owner_for(ada),
            kind=kind,
            confidence=confidence,
            metadata=metadata,
            external_id=str(number),
        )
        for number, (content, kind, confidence, metadata) in enumerate(rows)
    ]
    records.keep_all(drafts, provenance=PROVENANCE, by=ada)
    expected = {str(n) for n, row in enumerate(rows) if plain(expression, row)}
    criteria = Criteria(filter=expression)
    page = records.page(criteria, limit=50, by=ada)
    assert {row.external_id for row in page.rows} == expected
    assert records.count(criteria, by=ada) == len(expected)
    result = records.search("", criteria, limit=50, by=ada).hits
    assert {hit.record.external_id for hit in result} == expected


def test_as_many_values_as_are_allowed_are_asked_for(ada: Actor) -> None:
    save(ada, "One.", metadata={"n": 7})
    save(ada, "Two.", metadata={"n": 7.5})
    leaf = {"field": "metadata.n", "op": "in", "value": list(range(200))}
    assert contents(ada, filter={"or": [leaf] * 60}) == ["One."]


def test_times_compare_as_times() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    facts = {"created_at": noon, "expires_at": None}

    def holds(op: str, value: Any, field: str = "created_at") -> bool:
        read = filters.read({"field": field, "op": op, "value": value})
        assert read is not None
        return read(facts)

    assert holds("eq", "2026-01-01T13:00:00+01:00")
    assert holds("in", ["2026-01-01T12:00:00Z"])
    assert holds("lt", noon + timedelta(seconds=1))
    assert not holds("gt", "2026-01-01T12:00:00Z")
    assert not holds("lt", "2030-01-01T12:00:00Z", "expires_at")
