"""What an expression cannot match without, read from the expression itself.

Looking for a few literals costs a small part of trying an expression, and most text
lacks one of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# The parser of the standard library has no public name and no stubs.
_constants: Any = import_module("re._constants")
_parser: Any = import_module("re._parser")

_REPEATS = frozenset({_constants.MAX_REPEAT, _constants.MIN_REPEAT})
_SHORTEST, _MOST_LITERALS, _MOST_SETS = 2, 40, 4

# One literal of every set must be there.
Sets = list[frozenset[str]]


def literals(pattern: str) -> tuple[tuple[str, ...], ...]:
    """Sets of literals of which a match holds at least one each, the best first."""
    found = {
        one
        for one in _of_sequence(_parser.parse(pattern))
        if len(one) <= _MOST_LITERALS and _shortest(one) >= _SHORTEST
    }
    ranked = sorted(found, key=lambda one: (-_worth(one), sorted(one)))
    return tuple(tuple(sorted(one)) for one in ranked[:_MOST_SETS])


def _shortest(one: frozenset[str]) -> int:
    return min(map(len, one))


def _worth(one: frozenset[str]) -> float:
    return _shortest(one) - len(one) / 4


def _of_sequence(items: Any) -> Sets:
    found: Sets = []
    run = ""
    for code, argument in items:
        if code is _constants.LITERAL:
            run += chr(argument)
            continue
        if run:
            found.append(frozenset({run}))
        found += _of_item(code, argument)
        run = ""
    if run:
        found.append(frozenset({run}))
    return found


def _of_item(code: Any, argument: Any) -> Sets:
    if code is _constants.SUBPATTERN:
        return [] if argument[1] else _of_sequence(argument[3])
    if code in _REPEATS and argument[0] > 0:
        return _of_sequence(argument[2])
    if code is _constants.BRANCH:
        return _of_branches(argument[1])
    return []


def _of_branches(branches: Any) -> Sets:
    """One set made of the best one of each branch; none if a branch has none."""
    merged: frozenset[str] = frozenset()
    for branch in branches:
        own = _of_sequence(branch)
        if not own:
            return []
        merged |= sorted(own, key=_worth)[-1]
    return [merged]
