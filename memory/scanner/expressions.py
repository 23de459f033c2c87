"""The regular expressions of rules, searched for in time proportional to the text.

RE2 tells in one pass which of them match, however many there are. It knows no
look-around, so an expression that has one is tried without it first, and by `re` where
that matches: the repeats of those few are bounded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import re2

from memory.scanner.views import beyond_ascii

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memory.scanner.model import Rule

# RE2's words are ASCII: a letter of any other alphabet is put as `_`, which is a part
# of words as well.
_BLANKS: Final = bytes(
    0x20 if code in (0x0B, *range(0x1C, 0x20)) else code for code in range(256)
)
_LOOKAROUND: Final = re.compile(r"\(\?<?[!=]")
_POSSESSIVE: Final = re.compile(r"(?<=[*+?}])\+")
_CLASS_OR_PARENTHESIS: Final = re.compile(r"\\.|\[\]?(?:\\.|[^\]\\])*\]|[()]")


class Expressions:
    """The expressions of some rules."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._filter = re2.Filter()
        self._patterns: list[tuple[Rule, re.Pattern[str]]] = []
        for rule in rules:
            for expression in rule.expressions:
                plain = _without_lookaround(expression)
                self._filter.Add(f"(?m){plain}")
                pattern = (
                    re2.compile(f"(?m){plain}")
                    if plain == expression
                    else re.compile(expression, re.MULTILINE)
                )
                self._patterns.append((rule, pattern))
        self._filter.Compile()

    def find(self, text: str) -> Iterator[tuple[Rule, re.Match[str]]]:
        """Every match of every expression; what it matched may have `_` for letters."""
        data = _plain(text)
        if matched := self._filter.Match(data):
            plain = data.decode()
            for number in matched:
                rule, pattern = self._patterns[number]
                for match in pattern.finditer(plain):
                    yield rule, match


def _plain(text: str) -> bytes:
    """The text as RE2 reads it, character by character."""
    if beyond := beyond_ascii(text):
        text = text.translate({ord(char): _as_ascii(char) for char in set(beyond)})
    return text.encode().translate(_BLANKS)


def _as_ascii(char: str) -> str:
    if char.isalnum():
        return "_"
    if char.isspace():
        return " "
    return "?" if "\ud800" <= char <= "\udfff" else char


def _without_lookaround(expression: str) -> str:
    """An expression that matches wherever the given one does, in RE2's syntax."""
    while look := _LOOKAROUND.search(expression):
        depth, end = 1, look.end()
        while depth:
            sign = _CLASS_OR_PARENTHESIS.search(expression, end)
            if sign is None:
                raise ValueError(expression)
            depth += {"(": 1, ")": -1}.get(sign.group(), 0)
            end = sign.end()
        expression = expression[: look.start()] + expression[end:]
    return _POSSESSIVE.sub("", expression)
