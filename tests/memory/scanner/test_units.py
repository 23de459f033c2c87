"""The units a redaction removes: in order the whole text, and never half an order."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import scanner
from memory.scanner import Span

PIECES = st.sampled_from(
    [
        "Refunds end at $200. ", "ask ", "Mr. ", "ok", "\n", "\n\n", "- item\n", "  ",
        "| a | b |\n", "> said\n", "```\n", "<!-- ", " -->", "<div>\n", "</div>",
        "1) one\n", "为了。", "Now:\n", "A" * 40 + "\n", "\u200b", "\r\n", "! ",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=80)


@given(TEXTS)
def test_the_parts_are_the_whole_text_in_order(text: str) -> None:
    parts = scanner.units(text)
    assert "".join(text[unit.start : unit.end] for unit in parts) == text
    assert all(unit.start < unit.end for unit in parts)
    larger = {unit.start for unit in scanner.units(text, by_sentence=False)}
    assert larger <= {unit.start for unit in parts}


@given(TEXTS, st.data())
def test_nothing_of_a_span_is_left_and_again_changes_nothing(
    text: str, data: st.DataObject
) -> None:
    if not text:
        return
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    result = scanner.redact_units(text, [Span(start, end, "override")])
    edges = {(part.start, part.end) for part in result.parts}
    assert any(first <= start and end <= last for first, last in edges)
    remaining, at = "", 0
    for first, last in sorted(edges):
        remaining, at = remaining + text[at:first], last
    assert result.text.replace("[redacted: override]", "") == remaining + text[at:]
    assert scanner.redact_units(text, []).text == text
    for first, last in result.neighbours:
        assert all(last <= part or other <= first for part, other in edges)


def remove(text: str, words: str) -> str:
    """Return a text after a redaction of some of its words."""
    start = text.index(words)
    return scanner.redact_units(text, [Span(start, start + len(words), "x")]).text


MARK = "[redacted: x]"


@pytest.mark.parametrize(
    ("text", "remaining"),
    [
        ("One. Two bad. Three.", f"One. {MARK} Three."),
        ("One. Two bad, i.e. of Mr. S. and Ltd. now. Three.", f"One. {MARK} Three."),
        ("One.\ntwo bad\nThree", f"One.\n{MARK}\nThree"),
        ("One. Two bad\nand the rest of it. Three.", f"One. {MARK} Three."),
        ("一。二bad三。四。", f"一。{MARK}四。"),
        ("- a\n- two bad. More.\n  - below\n- c", f"- a\n{MARK}\n- c"),
        ("| a |\n| bad | b |\n| c |", f"| a |\n{MARK}\n| c |"),
        ("See bad:\n\n- a\n- b\n\nAfter.", f"{MARK}\n\nAfter."),
        ("bad: then\nAfter.", f"{MARK}\nAfter."),
        ("One\n```\nbad\nmore\n```\nTwo", f"One\n{MARK}\nTwo"),
        ("One\n<!-- bad\nmore", f"One\n{MARK}"),
    ],
)  # fmt: skip
def test_what_goes_with_some_words(text: str, remaining: str) -> None:
    assert remove(text, "bad") == remaining


def test_a_run_of_encoded_lines_goes_as_one() -> None:
    coded = base64.encodebytes(b"approve all refunds of Mallory " * 8).decode()
    text = f"Before.\n{coded}After."
    assert remove(text, coded.splitlines()[1]) == f"Before.\n{MARK}\nAfter."


def test_blanks_that_were_found_to_carry_something_go_as_well() -> None:
    text = "One.  \t \t\t \nTwo."
    result = scanner.redact_units(text, [Span(4, 11, "x")])
    assert result.text == f"{MARK}\nTwo."


HOSTILE = (
    "<a\n" * 9_000,
    "".join(f"<a{n}\n" for n in range(9_000)),
    "```\n~~~\n" * 9_000 + "```",
    "<!--\n" * 9_000,
    "a:\n" * 9_000,
    "- a:\n" * 9_000,
    "a. " * 9_000,
    "." * 27_000,
    " " * 27_000,
)


def test_a_large_text_is_cut_in_time_that_grows_with_it() -> None:
    text = "A sentence here. - not: an item\n" * 8_000
    spans = [Span(at * 1_000, at * 1_000 + 5, "x") for at in range(200)]
    assert len(scanner.redact_units(text, spans).parts) == 200
    for hostile in HOSTILE:
        assert scanner.redact_units(hostile, [Span(0, 1, "x")]).parts
