"""What holders share: the words of a row, masked words, and words rare enough to seek.

A row is searched as one text. Its columns are joined by a word that nobody is called,
so that the end of one column and the beginning of the next do not make a name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from gdpr.holders.base import SAMPLE_CHARS, Person
from gdpr.rules import fields
from gdpr.rules.matching import Matcher

ERASED: Final = "[erased]"
OTHERS: Final = "[someone else]"
CHUNK: Final = 1_000
SEAM: Final = "\nzqjz\n"
_ENTRY: Final = re.compile(r"\bj_[0-9a-f]{16}\b")
_LONG: Final = re.compile(r"[^\W_]{8,}")


def strings(value: object) -> Iterator[str]:
    """Return every key, text and number of a JSON value, in order."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from strings(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from strings(item)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield str(value)


def plain(value: object) -> str:
    """Return a column's value as the text that a person might be named in."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode("utf-8", "replace")
    return "\n".join([*strings(value), *fields.lines(value)])


def from_json(text: str) -> str:
    """Return the words of JSON text; escapes and fields make it worth reading so."""
    return plain(parsed(text)) if "\\" in text or fields.may(text) else text


def parsed(text: str) -> Any:
    """Return what JSON text says; what is no JSON is a text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def joined(texts: Iterable[str]) -> str:
    """Return the texts of one row as one."""
    return SEAM.join(text for text in texts if text)


def masked(matcher: Matcher, value: Any, mark: str = ERASED) -> Any:
    """Return a JSON value or text without the names that a matcher knows.

    A name can be split over two texts of a list: what still names somebody after
    masking goes as a whole.
    """
    left = matcher.mask_json(value, mark)
    if isinstance(left, (dict, list)) and matcher.names(plain(left)):
        return type(left)()
    return left


def masked_bytes(matcher: Matcher, data: bytes) -> bytes:
    """Return bytes without names; what is no text is emptied when it names somebody."""
    try:
        return matcher.mask(data.decode(), ERASED).encode()
    except UnicodeDecodeError:
        return b"" if matcher.names(plain(data)) else data


def sample(person: Person, text: str) -> str:
    """Return where a text names the person, with what stands around it."""
    spans = person.matcher.spans(text)
    first = max(0, spans[0].start - SAMPLE_CHARS // 2) if spans else 0
    cut = text[first : first + SAMPLE_CHARS].replace(SEAM, " · ")
    return " ".join(person.others.mask(cut, OTHERS).split())


def entry_ids(text: str) -> list[str]:
    """Return the ids of journal entries that a text holds."""
    return _ENTRY.findall(text)


def rare(text: str) -> Iterator[bytes]:
    """Return the distinct long words of a text, lower-cased, as bytes to look for."""
    for word in dict.fromkeys(_LONG.findall(text.lower())):
        yield word.encode()


def batches(row_ids: Sequence[str], size: int = 500) -> Iterator[Sequence[str]]:
    """Return ids in pieces that fit into one query."""
    for start in range(0, len(row_ids), size):
        yield row_ids[start : start + size]
