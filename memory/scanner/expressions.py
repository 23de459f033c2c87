"""The regular expressions of rules, searched for in time proportional to the text.

RE2 tells which of them match, however many there are: those whose letters the text
holds are tried. Of those whose letters texts mostly hold several are tried at once. It
knows no look-around, so an expression that has one is tried without it first, and by
`re` where that, or another of its group, matches: the repeats of those few are bounded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import re2

from memory.scanner.views import beyond_ascii
from memory.scanner.word_lists import COMMON

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from memory.scanner.model import Rule

# RE2's words are ASCII: a letter of any other alphabet is put as `_`, which is a part
# of words as well.
_BLANKS: Final = bytes(
    0x20 if code in (0x0B, *range(0x1C, 0x20)) else code for code in range(256)
)
_LOOKAROUND: Final = re.compile(r"\(\?<?[!=]")
_POSSESSIVE: Final = re.compile(r"(?<=[*+?}])\+")
_BOUNDS: Final = re.compile(r"\{([01]),\d{2,4}\}")
_MINIMUM: Final = {"0": "*", "1": "+"}
_GROUP: Final = 8
_CLASS_OR_PARENTHESIS: Final = re.compile(r"\\.|\[\]?(?:\\.|[^\]\\])*\]|[()]")


class Expressions:
    """The expressions of some rules."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        pairs = [(rule, form) for rule in rules for form in rule.expressions]
        plain = [f"(?m){_without_lookaround(form)}" for _, form in pairs]
        patterns = [
            (
                rule,
                re.compile(form, re.M)
                if _LOOKAROUND.search(form)
                else re2.compile(own),
            )
            for (rule, form), own in zip(pairs, plain, strict=True)
        ]
        frequent = _filter(plain).Match(" ".join(COMMON), potential=True) or []
        rare = sorted(set(range(len(plain))).difference(frequent))
        # The places of the expressions that are searched for together.
        groups = [*([place] for place in rare), *_in_groups(sorted(frequent))]
        self._patterns = [[patterns[place] for place in group] for group in groups]
        self._filter = _filter(
            "|".join(f"(?:{_unbounded(plain[place])})" for place in group)
            for group in groups
        )

    def find(self, text: str) -> Iterator[tuple[Rule, re.Match[str]]]:
        """Every match of every expression; what it matched may have `_` for letters."""
        data = _plain(text)
        if matched := self._filter.Match(data):
            plain = data.decode()
            for number in matched:
                for rule, pattern in self._patterns[number]:
                    for match in pattern.finditer(plain):
                        yield rule, match


def _filter(expressions: Iterable[str]) -> re2.Filter:
    result = re2.Filter()
    for expression in expressions:
        result.Add(expression)
    result.Compile()
    return result


def _in_groups(places: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(places), _GROUP):
        yield places[start : start + _GROUP]


def _unbounded(expression: str) -> str:
    """An expression that matches wherever the given one does, with few states.

    Several of such cost as much as one; each bound would multiply their states.
    """
    return _BOUNDS.sub(lambda match: _MINIMUM[match[1]], expression)


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
