"""Telephone numbers in text, compared by their digits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gdpr.matching.normalize import LETTER_AFTER, LETTER_BEFORE

MIN_DIGITS: Final = 6
MAX_DIGITS: Final = 17
_TAIL: Final = 6
# A number without its country prefix must still be this long to be the same one.
_NATIONAL: Final = 8
_PREFIX: Final = 3
_GAP: Final = r"[ \t\u00a0\-\u2010-\u2015./()]{0,3}"
_RUN: Final = re.compile(
    rf"{LETTER_BEFORE}\+?\(?\d(?:{_GAP}\d){{{MIN_DIGITS - 1},}}{LETTER_AFTER}"
)
# A quick test: every number contains this.
_DENSE: Final = re.compile(rf"\d(?:{_GAP}\d){{{MIN_DIGITS - 1}}}")
# What may stand between two digits of a number; ``(0)`` is read as nothing.
_LOOSE: Final = r"(?:\(0\)|[ \t\u00a0\-\u2010-\u2015./()]){0,12}?"
_GROUP: Final = re.compile(r"\d+")
# After letters and a dash it is an order number, unless they mean telephone.
_ORDER: Final = re.compile(r"[^\W\d_][\-_#]$")
_PHONE_LABEL: Final = re.compile(
    r"(?:phone|tel|fax|mobile|mob|cell|call|number)[\-_#]$"
)
_TIGHT: Final = frozenset("-./_")
_EXTENSION: Final = 2
# An amount continues after a comma or a dot.
_AMOUNT_BEFORE: Final = re.compile(r"\d,$")
_AMOUNT_AFTER: Final = re.compile(r",\d|\.\d{1,2}(?!\d)(?!\.\d)")


@dataclass(frozen=True, slots=True)
class Number:
    """The digits of a number, and whether they include the country code."""

    digits: str
    international: bool

    @classmethod
    def read(cls, text: str, *, plus: bool) -> Number:
        """Read digits; ``plus``: a plus sign precedes them."""
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

    def is_same_line(self, other: Number) -> bool:
        """Whether two numbers reach the same line."""
        if self.digits == other.digits:
            return len(self.digits) >= MIN_DIGITS
        short, long = sorted((self, other), key=lambda number: len(number.digits))
        # Without its plus a longer number is another number that ends in these digits.
        if short.international or not long.international:
            return False
        return (
            len(short.digits) >= _NATIONAL
            and len(long.digits) - len(short.digits) <= _PREFIX
            and long.digits.endswith(short.digits)
        )


def alias(value: str) -> Number:
    text = value.strip()
    return Number.read(text, plus=text.startswith(("+", "(+")))


def may_hold_number(folded: str) -> bool:
    """Whether a folded text can hold a number at all."""
    return _DENSE.search(folded) is not None


def tail_pattern(tail: str) -> re.Pattern[str]:
    """Return a pattern that every text with a number ending in these digits matches.

    Other texts match too: it is a quick prefilter. Half of the digits are enough,
    because the others may be in another field.
    """
    middle = len(tail) // 2
    return re.compile(f"{_LOOSE.join(tail[:middle])}|{_LOOSE.join(tail[middle:])}")


def _stands_alone(
    folded: str, groups: list[re.Match[str]], first: int, last: re.Match[str]
) -> bool:
    """Whether groups of digits are no part of a longer number or an order number."""
    start = groups[first].start()
    before = folded[max(start - 8, 0) : start]
    if _ORDER.search(before) and not _PHONE_LABEL.search(before):
        return False
    gap = folded[groups[first - 1].end() : start] if first else " "
    if (gap and set(gap) <= _TIGHT) or _AMOUNT_BEFORE.search(before):
        return False
    if _AMOUNT_AFTER.match(folded, last.end()):
        return False
    after = next(
        (group for group in groups[first:] if group.start() >= last.end()), None
    )
    if after is None:
        return True
    gap = folded[last.end() : after.start()]
    return not set(gap) <= _TIGHT or len(after[0]) <= _EXTENSION


def candidates(folded: str) -> Iterator[tuple[int, int, Number]]:
    """Return every stretch of a folded text that may be a number, with its digits.

    Neighbouring groups of digits may belong together or not (a date before a number),
    so every run of whole groups is one candidate.
    """
    if not may_hold_number(folded):
        return
    for run in _RUN.finditer(folded):
        groups = list(_GROUP.finditer(folded, run.start(), run.end()))
        for first, head in enumerate(groups):
            before = folded[max(head.start() - 2, 0) : head.start()]
            plus = before.endswith(("+", "+("))
            for last in groups[first:]:
                stretch = folded[head.start() : last.end()]
                size = sum(c.isdigit() for c in stretch)
                if size > MAX_DIGITS:
                    break
                if size >= MIN_DIGITS and _stands_alone(folded, groups, first, last):
                    start = head.start() - (len(before) - before.rfind("+")) * plus
                    yield start, last.end(), Number.read(stretch, plus=plus)
