"""The tokens of one question, with what every rule of the grammar asks of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from episodic.recall.times import words
from episodic.recall.times.spans import Span
from episodic.recall.times.tokens import Token

# The index of the first token behind an expression, and what it means.
Reading = tuple[int, Span]
_NO_TOKEN: Final = Token("", 0, 0, is_capital=False, closes=True, dotted=False)


class Reader:
    """Reads tokens, seen from ``now`` in UTC; ``steps`` counts how often one is read.

    The token at ``led_index`` counts as led by "in": it stands behind "between … and".
    """

    def __init__(self, tokens: list[Token], now: datetime) -> None:
        self.tokens = tokens
        self.now = now
        self.steps = 0
        self.led_index = -1

    def token(self, i: int) -> Token:
        """Return a token; beyond both ends an empty one."""
        self.steps += 1
        return self.tokens[i] if 0 <= i < len(self.tokens) else _NO_TOKEN

    def word(self, i: int) -> str:
        return self.token(i).word

    def behind_article(self, i: int) -> int:
        """Return the index, or the next one when an article stands there."""
        return i + 1 if self.word(i) in words.ARTICLES else i

    def lead(self, i: int) -> str:
        """Return the word before a token, and before an article, if it leads a time."""
        if i == self.led_index:
            return "in"
        before = i - 2 if self.word(i - 1) in words.ARTICLES else i - 1
        lead = self.word(before)
        return lead if lead in words.LEADS else ""

    def number(self, i: int) -> tuple[int, int] | None:
        """Return a count and the index behind it: "3", "two", "a couple of"."""
        word = self.word(i)
        if word in ("a", "the", "ein", "einem") and self.word(i + 1) in (
            "couple", "few", "paar",
        ):  # fmt: skip
            i, word = i + 1, self.word(i + 1)
        if (count := words.NUMBERS.get(word)) is None:
            if (digits := words.NUMBER.match(word)) is None:
                return None
            count = int(digits[1])
        i += 1
        return (i + 1 if self.word(i) == "of" else i), count

    def amount(self, i: int) -> tuple[int, int, str] | None:
        """Return the index behind a count with its unit: "3 days", "24h"."""
        if glued := words.WITH_UNIT.match(self.word(i)):
            return i + 1, int(glued[1]), words.UNITS[glued[2]]
        if (number := self.number(i)) is None:
            return None
        behind, count = number
        unit = words.UNITS.get(self.word(behind))
        return (behind + 1, count, unit) if unit else None

    def day_number(self, i: int) -> int | None:
        word = self.word(i)
        digits = words.ORDINAL.match(word) or words.SHORT_NUMBER.match(word)
        return int(digits[1]) if digits else None

    def year_number(self, i: int) -> int | None:
        word = self.word(i)
        return int(word) if words.YEAR_NUMBER.match(word) else None


Rule = Callable[[Reader, int, datetime], Reading | None]


def first(
    reader: Reader, rules: tuple[Rule, ...], i: int, at: datetime
) -> Reading | None:
    """Return what the first rule reads that finds something not in the future."""
    for rule in rules:
        try:
            reading = rule(reader, i, at)
        except (ValueError, OverflowError):
            # 31 April, or beyond the calendar.
            continue
        if reading is not None and reading[1].since <= reader.now:
            return reading
    return None
