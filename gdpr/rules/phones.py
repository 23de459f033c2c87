"""Telephone numbers in text: by their digits, however they are set."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gdpr.rules.folding import LETTER_AFTER, LETTER_BEFORE

LEAST: Final = 6
MOST: Final = 17
_TAIL: Final = 6
# A number without its country prefix must still be this long to be the same one.
_NATIONAL: Final = 8
_PREFIX: Final = 3
_GAP: Final = r"[ \t\u00a0\-\u2010-\u2015./()]{0,3}"
_RUN: Final = re.compile(
    rf"{LETTER_BEFORE}\+?\(?\d(?:{_GAP}\d){{{LEAST - 1},}}{LETTER_AFTER}"
)
# Cheap to look for, and part of every number.
_DENSE: Final = re.compile(rf"\d(?:{_GAP}\d){{{LEAST - 1}}}")
# What may stand between two digits of a number; ``(0)`` is read as nothing.
_LOOSE: Final = r"(?:\(0\)|[ \t\u00a0\-\u2010-\u2015./()]){0,12}?"
_GROUP: Final = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Number:
    """The digits that tell a number, and whether its country is among them."""

    digits: str
    international: bool

    @classmethod
    def read(cls, text: str, *, plus: bool) -> Number:
        """Read digits; ``plus`` when a plus sign stood before them."""
        digits = re.sub(r"\D", "", text.replace("(0)", ""))
        if plus:
            return cls(digits, international=True)
        if digits.startswith("00"):
            return cls(digits.lstrip("0"), international=True)
        return cls(digits.lstrip("0"), international=False)

    @property
    def tail(self) -> str:
        """The end by which candidates are looked up."""
        return self.digits[-_TAIL:]

    def same(self, other: Number) -> bool:
        """Whether two numbers reach the same line."""
        if self.digits == other.digits:
            return len(self.digits) >= LEAST
        if self.international and other.international:
            return False
        short, long = sorted((self.digits, other.digits), key=len)
        return (
            len(short) >= _NATIONAL
            and len(long) - len(short) <= _PREFIX
            and long.endswith(short)
        )


def alias(value: str) -> Number:
    """Return the number of an alias as somebody typed it."""
    text = value.strip()
    return Number.read(text, plus=text.startswith(("+", "(+")))


def may(folded: str) -> bool:
    """Whether a folded text can hold a number at all."""
    return _DENSE.search(folded) is not None


def trail(tail: str) -> re.Pattern[str]:
    """Return what stands in every text with a number that ends in these digits.

    In much more as well: it is there to be looked for quickly. Half of the digits are
    enough, the others may stand in another field.
    """
    middle = len(tail) // 2
    return re.compile(f"{_LOOSE.join(tail[:middle])}|{_LOOSE.join(tail[middle:])}")


def candidates(folded: str) -> Iterator[tuple[int, int, Number]]:
    """Return every stretch of a folded text that may be a number, with its digits.

    Neighbouring groups of digits may belong together or not (a date before a number),
    so every run of whole groups is one candidate.
    """
    if not may(folded):
        return
    for run in _RUN.finditer(folded):
        groups = list(_GROUP.finditer(folded, run.start(), run.end()))
        for first, head in enumerate(groups):
            before = folded[max(head.start() - 2, 0) : head.start()]
            plus = before.endswith(("+", "+("))
            for last in groups[first:]:
                stretch = folded[head.start() : last.end()]
                size = sum(c.isdigit() for c in stretch)
                if size > MOST:
                    break
                if size >= LEAST:
                    start = head.start() - (len(before) - before.rfind("+")) * plus
                    yield start, last.end(), Number.read(stretch, plus=plus)
