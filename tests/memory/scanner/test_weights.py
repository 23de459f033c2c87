"""Weights that a workspace lowered: they let texts pass and hold none."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import scanner
from memory.scanner import registry
from tests.world import ATTACK

RULES = [rule.id for rule in scanner.rules()]
EXAMPLES = [rule.fires for rule in scanner.rules()]
WEIGHTS = st.dictionaries(st.sampled_from(RULES), st.floats(0, 5), max_size=40)


def test_a_lowered_weight_counts_less() -> None:
    shipped = scanner.scan(ATTACK)
    rules = {finding.rule for finding in shipped.findings}
    lowered = scanner.scan(ATTACK, weights=dict.fromkeys(rules, 0.05))
    assert shipped.is_held
    assert not lowered.is_held
    assert {finding.rule for finding in lowered.findings} == rules
    assert max(finding.weight for finding in lowered.findings) <= 0.05


def test_a_weight_above_the_shipped_one_is_the_shipped_one() -> None:
    for weight in (1.0, 7.0, math.inf):
        weights = dict.fromkeys(RULES, weight)
        assert scanner.scan(ATTACK, weights=weights) == scanner.scan(ATTACK)


@settings(max_examples=60, deadline=None)
@given(text=st.sampled_from(EXAMPLES), weights=WEIGHTS)
@pytest.mark.parametrize("mode", ["hold", "block"])
def test_no_weights_hold_what_the_shipped_rules_let_pass(
    mode: str, text: str, weights: dict[str, float]
) -> None:
    modes = dict.fromkeys(RULES, mode)
    lowered = scanner.scan(text, source="web", modes=modes, weights=weights)
    shipped = scanner.scan(text, source="web", modes=modes)
    assert lowered.score <= shipped.score
    assert shipped.is_held or not lowered.is_held
    assert lowered.rules_version == registry.VERSION
