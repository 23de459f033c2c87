"""People in a text: names, addresses and numbers, found without a list of them.

A text of any size is read in pieces, so that time and memory grow with its length
alone. Nothing is downloaded, and nothing of a text is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gdpr.detection import numbers, people, rampart_model
from gdpr.detection.spans import Kind, Span, without_overlaps

__all__ = ["Kind", "Span", "find"]

PIECE: Final = 20_000
# A piece ends at a blank near its end, where there is one; the next begins before it,
# so that nothing is cut in both.
_SLACK: Final = 2_000
_OVERLAP: Final = 200


def find(text: str) -> list[Span]:
    """Return the people in a text, left to right. Raises EmbedderError.

    What is sure names a person by its form; what is not waits for somebody's decision.
    """
    return without_overlaps(
        Span(start + span.start, start + span.end, span.kind, span.surely)
        for start, piece in _pieces(text)
        for span in _all(piece)
    )


def _all(text: str) -> Iterator[Span]:
    if not any(map(str.isalnum, text)):
        return
    yield from numbers.find(text)
    yield from people.find(text, rampart_model.words(text, people.may_name))


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    while start < len(text):
        end = start + PIECE
        if end < len(text):
            line = text.rfind("\n", end - _SLACK, end)
            blank = text.rfind(" ", end - _SLACK, end) if line < 0 else line
            end = blank + 1 if blank >= 0 else end
        yield start, text[start:end]
        back = text.find(" ", end - _OVERLAP, end - 1) if end < len(text) else -1
        start = back + 1 if back >= 0 else end
