"""How an ordinary word or a number is written where it means a person.

Only for rows that are known to be about the person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from gdpr.matching import patterns
from gdpr.matching.common_words import WORDS, Reach, reach
from gdpr.matching.masking import Name

_BEFORE_NUMBER: Final = (
    r"(?:\b(?:user|customer|account|member|client|patient|person|subject|contact|id|uid"
    r"|no|nr|number)s?|#)[\s:=#._\-]{0,3}"
)


def of_common(names: Iterable[Name]) -> Iterator[tuple[re.Pattern[str], Name]]:
    """Return expressions for those of some names that are ordinary words or numbers."""
    for name in names:
        if reach(name.kind, name.value) is Reach.FIELDS:
            for look in spellings(name.kind, name.value):
                yield look, name


def spellings(kind: str, value: str) -> Iterator[re.Pattern[str]]:
    """Return expressions for an alias as a writer spells it; group 1 is the alias."""
    text = patterns.folded(kind, value)
    plain = re.escape(text)
    if not any(character.isalpha() for character in text):
        number = rf"{_BEFORE_NUMBER}({plain})(?![\w]|[.,]\d)"
        yield re.compile(number, re.IGNORECASE)
        return
    yield re.compile(rf"(?<![\w.])(@{plain})(?![\w@])", re.IGNORECASE)
    if text in WORDS:
        upper = re.escape(text[:1].upper() + text[1:])
        yield re.compile(rf"(?<![\w@])({upper}|{plain.upper()})(?![\w@])")
    else:
        yield re.compile(rf"(?<![\w@])({plain})(?![\w@])", re.IGNORECASE)
