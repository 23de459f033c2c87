"""Cutting files into pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory.rules import chunks

TEXT = """# Shop

Open from nine.

## Refunds

Up to 200 EUR.

### Gifts

No refund.

## Couriers

Two.
"""


def test_pieces_know_their_headings_and_lines() -> None:
    pieces = [(c.heading, c.text, c.line_start) for c in chunks.split(TEXT)]
    assert pieces == [
        ("Shop", "Open from nine.", 3),
        ("Shop › Refunds", "Up to 200 EUR.", 7),
        ("Shop › Refunds › Gifts", "No refund.", 11),
        ("Shop › Couriers", "Two.", 15),
    ]


def test_a_hash_in_a_fence_is_no_heading() -> None:
    pieces = chunks.split("# A\n```\n# not\n```\n# B\nb")
    assert [c.heading for c in pieces] == ["A", "B"]


def test_headings_alone_are_still_found() -> None:
    assert chunks.split("# Only this")[0].text == "Only this"
    assert chunks.split("") == []
    assert chunks.split("\n \n") == []


def test_a_long_line_is_cut_at_spaces() -> None:
    pieces = chunks.split("word " * 400)
    assert all(len(c.text) <= chunks.CHUNK_CHARS for c in pieces)
    assert all(c.line_start == c.line_end == 1 for c in pieces)
    assert " ".join(c.text for c in pieces).split() == ["word"] * 400


@given(st.text(alphabet="ab #\n`~ \t\r", max_size=3_000))
def test_no_piece_is_too_long_or_blank(text: str) -> None:
    for piece in chunks.split(text):
        assert 0 < len(piece.text) <= chunks.CHUNK_CHARS
        assert piece.text.strip()
        assert 1 <= piece.line_start <= piece.line_end


@given(st.lists(st.text(alphabet="abc", min_size=1, max_size=9), max_size=300))
def test_no_word_is_lost(found: list[str]) -> None:
    text = "\n".join(found)
    back = "\n".join(piece.text for piece in chunks.split(text)).split()
    assert back == found
