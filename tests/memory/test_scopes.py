"""A caller's division of its memory: spellings of one map, and what a map may hold."""

from __future__ import annotations

from typing import Any

import pytest

from memory.rules import errors, scopes
from memory.rules.scopes import Scope


def refusal(values: dict[Any, Any]) -> str:
    """Return the code with which a map is refused."""
    with pytest.raises(errors.Invalid) as caught:
        scopes.check(Scope.of(values))
    return caught.value.problem_code


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"user": "u"}, {"user_id": "u"}),
        ({"agent": "a", "thread": "t"}, {"thread_id": "t", "agent_id": "a"}),
        ({"user": "u", "user_id": "u"}, {"user": "u"}),
        ({"user": "u", "region": "", "namespace": ""}, {"user": "u"}),
        ({"region": "", "thread": ""}, {}),
    ],
)
def test_two_spellings_of_a_map_are_one_scope(
    first: dict[str, str], second: dict[str, str]
) -> None:
    assert Scope.of(first) == Scope.of(second)
    assert Scope.of(first).key == Scope.of(second).key
    assert Scope.of(first).is_empty is (not second)


def test_an_extra_name_is_part_of_the_map() -> None:
    scope = Scope.of({"region": "eu", "user": "u"})
    assert (scope.user, scope.extra) == ("u", {"region": "eu"})
    assert scope.as_map() == {"user": "u", "region": "eu"}
    # Rows are stored with it: the same map has the same one in every version.
    assert scope.key == "464b9d19c24528bc512786f0681513ba"
    assert not Scope.of({"region": "eu"}).is_empty


def test_a_dialect_says_which_of_its_keys_are_the_four_names() -> None:
    scope = Scope.of({"user": "u", "run": "r"}, {"run": "thread"})
    assert (scope.user, scope.thread, scope.extra) == ("", "r", {"user": "u"})
    # Stored beside the columns it would be taken for the user itself.
    with pytest.raises(errors.Invalid):
        scopes.check(scope)


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"user": "a", "user_id": "b"}, "bad_scope"),
        ({"user": "", "user_id": "b"}, "bad_scope"),
        ({"user": 7}, "bad_scope"),
        ({"region": None}, "bad_scope"),
        ({"region": ["eu"]}, "bad_scope"),
        ({f"n{n}": "x" for n in range(17)}, "bad_scope"),
        ({"no space": "x"}, "bad_scope"),
        ({"1st": "x"}, "bad_scope"),
        ({"n" * 65: "x"}, "bad_scope"),
        ({"user": "x" * 257}, "bad_scope"),
        ({"region": "x" * 257}, "bad_scope"),
        ({"thread": "a\x00"}, "bad_text"),
        ({"region": "\ud800"}, "bad_text"),
    ],
)
def test_what_is_no_scope(values: dict[Any, Any], code: str) -> None:
    assert refusal(values) == code


@pytest.mark.parametrize(
    "values",
    [
        {"user": "x" * 256, "region": "y" * 256},
        {f"n{n}": "x" for n in range(16)} | {"user": "u", "thread": "t"},
        {"n" * 64: "x", "_a.b:c-d": "x"},
    ],
)
def test_what_just_fits_a_scope(values: dict[str, str]) -> None:
    scopes.check(Scope.of(values))
