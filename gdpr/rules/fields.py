"""Names that an object keeps in two fields: the first name here, the last one there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

# A field longer than this is a sentence, and what follows it is another one.
_CHARS: Final = 60
_WORDS: Final = 3
_STRING: Final = re.compile(r'"\s*:\s*"')
_NAMED: Final = re.compile(
    r"first|last|given|family|sur_?name|fore_?name|middle|vorname|nachname|familien"
    r"|nazwisko|imi[eę]|pr[eé]nom|nombre|apellido|cognome",
    re.IGNORECASE,
)

# Keys whose value says who somebody is.
_KEY: Final = (
    r"(?:user|customer|person|author|owner|member|account|login|handle|subject|contact"
    r"|sender|recipient|assignee|nick)s?(?:[_-]?(?:id|ids|name|names|handle))?"
)
_WHO_KEY: Final = re.compile(_KEY, re.IGNORECASE)
_WHO: Final = re.compile(rf'"{_KEY}"\s*:', re.IGNORECASE)


def _is_short(value: Any) -> bool:
    if not isinstance(value, str) or len(value) > _CHARS:
        return False
    return 0 < len(value.split()) <= _WORDS


def pairs(value: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Return the keys of two short texts that stand together in an object.

    Those that follow each other, and those whose keys speak of names: an object that
    is kept in the order of its keys may have put something between them.
    """
    short = [key for key, item in value.items() if _is_short(item)]
    named = [key for key in short if _NAMED.search(str(key))]
    yield from dict.fromkeys([*pairwise(short), *pairwise(named)])


def lines(value: Any) -> Iterator[str]:
    """Return what the pairs of every object in a JSON value say, in both orders."""
    if isinstance(value, Mapping):
        for one, two in pairs(value):
            yield f"{value[one]} {value[two]}"
            yield f"{value[two]} {value[one]}"
        for item in value.values():
            yield from lines(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from lines(item)


def may(text: str) -> bool:
    """Whether JSON text can hold such a pair; False is certain."""
    if text[:1] not in ("{", "["):
        return False
    strings = _STRING.finditer(text)
    return next(strings, None) is not None and next(strings, None) is not None


def people(text: str) -> list[str]:
    """Return what the fields of a JSON text that say who say; none for other text."""
    if text[:1] not in ("{", "[") or not _WHO.search(text):
        return []
    try:
        return list(dict.fromkeys(_who(json.loads(text))))
    except (ValueError, RecursionError):
        return []


def _who(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            if _WHO_KEY.fullmatch(str(key)):
                yield from _plain(item)
            yield from _who(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _who(item)


def _plain(value: Any) -> Iterator[str]:
    for one in value if isinstance(value, list) else (value,):
        if isinstance(one, (str, int)) and 0 < len(str(one).strip()) <= _CHARS:
            yield str(one).strip()


def spoken(text: str) -> str:
    """Return JSON text with what its pairs say behind it; other text as it is."""
    if not may(text):
        return text
    try:
        said = list(lines(json.loads(text)))
    except (ValueError, RecursionError):
        return text
    return "\n".join([text, *said])
