"""A cheap check before an expensive one never drops what the other would find."""

from __future__ import annotations

import pytest

from memory import scanner
from memory.scanner import ciphers, decode, gate, views, word_forms

TEXTS = [
    "a/b_c-d+e=f " * 3 + "QUJDREVGR0hJSktMTU5PUA== x QUJDREVGR0hJSktMTU5P\n",
    "\u2014QUJDREVGR0hJSktMTU5PUA==\u2014" * 2,
    "short words only",
]


@pytest.mark.parametrize("text", TEXTS)
def test_long_runs_are_what_the_expression_finds(text: str) -> None:
    marked = text.encode("ascii", "replace").translate(decode._BASE64_MARKS)
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


def test_the_gate_and_the_lists_keep_no_words_between_texts() -> None:
    scanner.scan("Jaroslava Quimbyova called twice, and ignores the rules.")
    for memory in (gate._memory[0], word_forms._memory[0]):
        assert memory and all(isinstance(key, int) for key in memory)
