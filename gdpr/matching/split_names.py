"""A name split over the fields of a row: one part under its key, the other elsewhere.

The keys of JSON stand in a line before their values (``name_fields.rendered``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from gdpr.matching.name_words import Spelling, letters_of
from gdpr.matching.neighbours import Place
from gdpr.matching.normalize import View

_VALUE: Final = r"[^\n]{0,20}\n([^\n\x1e\x1f]{1,60})(?=\n|$)"
_LAST: Final = re.compile(
    r"(?:^|\n)[^\n]{0,30}(?:last|sur_?name|family|nachname|familien|nazwisko|apellido"
    rf"|cognome){_VALUE}"
)
_FIRST: Final = re.compile(
    r"(?:^|\n)[^\n]{0,30}(?:first|given|fore_?name|vorname|imie|prenom|nombre)"
    rf"{_VALUE}"
)
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’\-\u2010][^\W\d_]+)*")
Range = tuple[int, int]


def _values(pattern: re.Pattern[str], text: str) -> Iterator[tuple[str, Range]]:
    for match in pattern.finditer(text):
        yield letters_of(match[1]), match.span(1)


def _is_plain(letters: str, spellings: Mapping[str, Spelling]) -> bool:
    spelling = spellings.get(letters)
    return spelling is not None and not (spelling.cases or spelling.has_s)


def _first_names(view: View, firsts: Collection[str]) -> Iterator[Range]:
    """Yield where a first name stands with a capital and without another name."""
    for match in _WORD.finditer(view.text):
        if letters_of(match[0]) not in firsts:
            continue
        place = Place(view, *match.span())
        is_followed = bool(place.after) and place.after[0].is_another_name
        if place.is_capital and not is_followed and not place.is_behind_name:
            yield match.span()


def other_first_names(view: View, firsts: Collection[str]) -> frozenset[str]:
    """Return the first names that stand under their key, if none is the person's."""
    names = frozenset(letters for letters, _ in _values(_FIRST, view.text))
    return frozenset() if names.intersection(firsts) else names


def is_of_another(view: View, surname: Range, others: Collection[str]) -> bool:
    """Whether a surname is a field of an object that has another first name.

    Fields that stand side by side are read as one text as well, in both orders.
    """
    start, end = surname
    text = view.text
    line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    line = text[line_start : line_end if line_end >= 0 else None]
    rest = letters_of(line.replace(text[start:end], "", 1))
    return rest in others or not rest


def find(
    view: View,
    firsts: Mapping[str, Spelling],
    surnames: Mapping[str, Spelling],
    alone: Sequence[Range],
) -> Iterator[Range]:
    """Yield both parts of a split name; ``alone`` is where the surname stands alone.

    A part counts under its key, unless the other part has a key of its own: that may
    be another object, about somebody else.
    """
    last_names = list(_values(_LAST, view.text))
    first_names = list(_values(_FIRST, view.text))
    if bool(last_names) is bool(first_names):
        return
    keyed, spellings = (last_names, surnames) if last_names else (first_names, firsts)
    own = [span for letters, span in keyed if _is_plain(letters, spellings)]
    if not own:
        return
    plain = [letters for letters in firsts if _is_plain(letters, firsts)]
    other_first = list(_first_names(view, plain)) if last_names else list(alone)
    if other_first:
        yield from own
        yield from other_first
