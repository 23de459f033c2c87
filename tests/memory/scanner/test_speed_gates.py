"""The cheap questions never say no where the dear one would say yes."""

from __future__ import annotations

import re

import pytest

from memory import scanner
from memory.scanner import ciphers, decode, gate, matching, required, views


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("when you read", (("when you read",),)),
        ("(?:curl|wget) x?", (("curl", "wget"),)),
        ("a?(?:one|[0-9])", ()),
        ("(?:tell ){0,2}him", (("him",),)),
        ("(?i:him)", ()),
    ],
)
def test_required_literals(pattern: str, wanted: tuple[tuple[str, ...], ...]) -> None:
    assert required.literals(pattern) == wanted


def test_a_match_holds_its_required_literals() -> None:
    for rule in scanner.rules():
        for expression in rule.expressions:
            match = re.search(expression, rule.fires.lower(), re.MULTILINE)
            for one in required.literals(expression) if match else ():
                assert match, rule.id
                assert any(literal in match.group() for literal in one), rule.id


TEXTS = [
    "a/b_c-d+e=f " * 3 + "QUJDREVGR0hJSktMTU5PUA== x QUJDREVGR0hJSktMTU5P\n",
    "\u2014QUJDREVGR0hJSktMTU5PUA==\u2014" * 2,
    "short words only",
]


@pytest.mark.parametrize("text", TEXTS)
def test_long_runs_are_what_the_expression_finds(text: str) -> None:
    marked = decode._marked_runs(text)
    found = [match.span() for match in decode._long_runs(text, marked)]
    assert found == [match.span() for match in decode._BASE64.finditer(text)]


@pytest.mark.parametrize(
    "text",
    [
        "a_b_c_d_e_f __a_b_c x_y_z_w_v_u_",
        "_a_b_c_d_e_f",
        f"{'q' * 30}_b_c_d_e_f",
        "a_b",
    ],
)
def test_snakes_are_what_the_expression_finds(text: str) -> None:
    for sign, pattern in ciphers._SNAKE.items():
        signed = text.replace("_", sign)
        found = [match.span() for match in ciphers._snakes(signed, sign)]
        assert found == [match.span() for match in pattern.finditer(signed)]


def test_only_characters_beyond_ascii_are_left() -> None:
    assert views.beyond_ascii("a\u00e9b\ud800\U0001f600") == "\u00e9\ud800\U0001f600"


def test_words_are_not_kept_between_texts() -> None:
    scanner.scan("Jaroslava Quimbyova called twice.")
    kept = gate._memory[0]
    assert kept and all(isinstance(key, int) for key in kept)


def test_every_expression_has_its_literals_at_hand() -> None:
    patterns = [one for each in matching._EXPRESSIONS for one in each.patterns]
    assert sum(not one.required for one in patterns) <= len(patterns) // 20
