"""A cheap check before an expensive one never drops what the other would find."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import scanner
from memory.scanner import ciphers, decode, gate, views

# What folded text consists of, as far as the rules speak of it.
ALPHABET = st.characters(max_codepoint=0x2FF, exclude_categories=["Lu"])
EXPRESSIONS = [
    (rule, expression)
    for rule in scanner.rules()
    if rule.contains
    for expression in rule.expressions
]


@pytest.mark.parametrize(
    ("rule", "expression"), EXPRESSIONS, ids=lambda value: getattr(value, "id", "")
)
@given(data=st.data())
@settings(max_examples=40)
def test_every_match_contains_a_declared_literal(
    rule: scanner.Rule, expression: str, data: st.DataObject
) -> None:
    """Also without word boundaries, which would make examples slow to generate."""
    pattern = re.compile(expression.replace(r"\b", ""), re.MULTILINE)
    text = data.draw(st.from_regex(pattern, alphabet=ALPHABET))
    for match in pattern.finditer(text):
        assert any(literal in match.group() for literal in rule.contains), match


def test_the_literals_of_a_rule_stand_for_each_of_its_expressions() -> None:
    """Every literal is one that a match can contain, and the examples contain one."""
    rules = {rule.id: rule for rule, _ in EXPRESSIONS}
    for rule in rules.values():
        sources = "\n".join(rule.expressions).replace("\\", "").lower()
        assert any(literal in rule.fires.lower() for literal in rule.contains), rule.id
        for literal in rule.contains:
            assert literal == literal.lower(), rule.id
            assert set(literal) <= set(sources), (rule.id, literal)


TEXTS = [
    "a/b_c-d+e=f " * 3 + "QUJDREVGR0hJSktMTU5PUA== x QUJDREVGR0hJSktMTU5P\n",
    "\u2014QUJDREVGR0hJSktMTU5PUA==\u2014" * 2,
    "short words only",
]


@pytest.mark.parametrize("text", TEXTS)
def test_long_runs_are_what_the_expression_finds(text: str) -> None:
    marked = decode._marked(text, decode._BASE64_MARKS)
    spans = [match.span() for match in decode._long_runs(text, marked)]
    assert spans == [match.span() for match in decode._BASE64.finditer(text)]


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
        spans = [match.span() for match in ciphers._snake_matches(signed, sign)]
        assert spans == [match.span() for match in pattern.finditer(signed)]


def test_only_characters_beyond_ascii_are_left() -> None:
    assert views.beyond_ascii("a\u00e9b\ud800\U0001f600") == "\u00e9\ud800\U0001f600"


def test_words_are_not_kept_between_texts() -> None:
    scanner.scan("Jaroslava Quimbyova called twice.")
    memory = gate._memory[0]
    assert memory and all(isinstance(key, int) for key in memory)
