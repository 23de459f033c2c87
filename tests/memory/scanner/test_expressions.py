"""RE2 finds what `re` finds, in texts of any alphabet."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.scanner import expressions, registry
from memory.scanner.expressions import Expressions
from memory.scanner.model import Rule

RULES = [rule for rule in registry.RULES if rule.expressions]
ALL = {rule.id: Expressions([rule]) for rule in RULES}
AROUND = st.text(st.sampled_from("ab1_ \n.,(\u0436\u4e2d\u0915\u2019\xe9"))


def spans(rule: Rule, text: str) -> set[tuple[int, int]]:
    return {match.span() for _, match in ALL[rule.id].find(text)}


def spans_by_re(rule: Rule, text: str) -> set[tuple[int, int]]:
    plain = expressions._plain(text).decode()
    return {
        match.span()
        for expression in rule.expressions
        for match in re.finditer(expression, plain, re.MULTILINE)
    }


@given(data=st.data(), before=AROUND, behind=AROUND)
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
def test_the_same_is_found(data: st.DataObject, before: str, behind: str) -> None:
    """Without word boundaries, which would make examples slow to generate."""
    rule = data.draw(st.sampled_from(RULES))
    expression = data.draw(st.sampled_from(rule.expressions)).replace(r"\b", "")
    pattern = re.compile(expression, re.MULTILINE)
    text = before + data.draw(st.from_regex(pattern)) + behind
    assert spans(rule, text) == spans_by_re(rule, text)


def test_every_example_is_found_the_same() -> None:
    for rule in RULES:
        text = f"\u0436\u0435 {rule.fires} {rule.fires.lower()} \u4e2d\u6587"
        assert spans(rule, text) == spans_by_re(rule, text), rule.id


@given(st.text())
def test_a_plain_text_has_its_characters_in_their_places(text: str) -> None:
    plain = expressions._plain(text).decode()
    assert len(plain) == len(text)
    for char, own in zip(text, plain, strict=True):
        assert char == own or not char.isascii() or char.isspace()
        assert re.match(r"\w", own) is None or re.match(r"\w", char)


def test_half_a_character_is_no_error() -> None:
    assert spans(registry.rule("override.shouted"), "\ud83d ok") == set()


@pytest.mark.parametrize(
    ("expression", "plain"),
    [
        (r"a(?! if| when)b", "ab"),
        (r"(?<!not )(?<=a[)])x{2,3}+y", "x{2,3}y"),
        (r"a(?=\)|[(]|(?:b))c", "ac"),
        (r"(?:a|b)\(c", r"(?:a|b)\(c"),
    ],
)
def test_look_around_is_left_out(expression: str, plain: str) -> None:
    assert expressions._without_lookaround(expression) == plain


def test_an_open_look_around_is_an_error() -> None:
    with pytest.raises(ValueError, match="open"):
        expressions._without_lookaround("open(?=a")
