"""The words beside a place in a text, with capitals and what stands between."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from gdpr.matching.name_context import PARTICLES, may_be_first_name
from gdpr.matching.name_words import letters_of
from gdpr.matching.normalize import View

_WINDOW: Final = 90
_COUNT: Final = 5
_TOKEN: Final = re.compile(r"[^\W_]+(?:['’\-\u2010][^\W_]+)*")
_SPACE: Final = re.compile(r"[ \t\u00a0]{1,4}")
_TIGHT: Final = re.compile(r"[_.\-\u2010]")


class Token(NamedTuple):
    """A word beside a name: its letters, and the text between it and the name."""

    start: int
    end: int
    letters: str
    gap: str
    is_capital: bool

    @property
    def is_spaced(self) -> bool:
        """Whether only spaces of one line stand between."""
        return _SPACE.fullmatch(self.gap) is not None

    @property
    def is_tight(self) -> bool:
        """Whether one sign stands between, as in names of files and accounts."""
        return _TIGHT.fullmatch(self.gap) is not None

    @property
    def is_another_name(self) -> bool:
        """Whether it is a name beside the name, so that they may be one person's."""
        return (
            self.is_capital
            and (self.is_spaced or self.is_tight)
            and may_be_first_name(self.letters)
        )


class Place:
    """A surname in a view of a text, with the words on either side, nearest first."""

    def __init__(self, view: View, start: int, end: int) -> None:
        self.text, self.cased = view.text, view.cased or view.text
        self.start, self.end = start, end
        self.is_capital = not self.cased[start].islower()
        self.is_upper = self.cased[start:end].isupper() and end - start > 1
        self.before = self._before()
        self.after = self._after()

    def _token(self, match: re.Match[str], gap: str) -> Token:
        is_capital = not self.cased[match.start()].islower()
        return Token(*match.span(), letters_of(match[0]), gap, is_capital)

    def _before(self) -> list[Token]:
        edge, tokens = self.start, list[Token]()
        matches = list(_TOKEN.finditer(self.text, max(0, edge - _WINDOW), edge))
        for match in reversed(matches[-_COUNT:]):
            tokens.append(self._token(match, self.text[match.end() : edge]))
            edge = match.start()
        return tokens

    def _after(self) -> list[Token]:
        edge, tokens = self.end, list[Token]()
        for match in _TOKEN.finditer(self.text, edge, edge + _WINDOW):
            tokens.append(self._token(match, self.text[edge : match.start()]))
            edge = match.end()
            if len(tokens) == _COUNT:
                break
        return tokens

    @property
    def is_behind_name(self) -> bool:
        """Whether a word that may be somebody's first name stands before it."""
        before = self.before
        if before and before[0].letters in PARTICLES and not before[0].is_capital:
            before = before[1:]
        if not before:
            return False
        if before[0].is_tight:
            # As in names of files and accounts.
            return may_be_first_name(before[0].letters)
        if self.is_capital or before[0].is_capital:
            return before[0].is_another_name
        # In small letters a name cannot be told from a word.
        return before[0].is_spaced and may_be_first_name(before[0].letters)

    def has_sign(self) -> bool:
        """Whether the name itself has a letter beyond ASCII."""
        return not self.cased[self.start : self.end].isascii()
