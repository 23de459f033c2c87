"""Helpers of holders: the text of a row, masking, and rare words to search for.

A row is searched as one text. Its columns are joined by a word that is nobody's name,
so that the end of one column and the beginning of the next do not form a name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from django.db.models import QuerySet

from gdpr.data_map.base import SAMPLE_CHARS, Person
from gdpr.matching import name_fields
from gdpr.matching.matcher import Matcher

# Keys under which program output quotes text of users.
QUOTES: Final = ("text",)
ERASED: Final = "[erased]"
OTHERS_MARK: Final = "[someone else]"
CHUNK: Final = 1_000
SEAM: Final = "\nzqjz\n"
_ENTRY: Final = re.compile(r"\bj_[0-9a-f]{16}\b")
_SURE: Final = (name_fields.Key.PERSON, name_fields.Key.PHONE)
_LONG: Final = re.compile(r"[^\W_]{8,}")


def plain(value: object, column: str = "") -> str:
    """Return a column's value as text to match.

    The name of a column may tell that its value identifies a person.
    """
    if value is None:
        return ""
    field_line = ""
    if (
        column
        and name_fields.is_value(value)
        and (key := name_fields.key_of(column)) in _SURE
    ):
        field_line = name_fields.line(key, value)
    if isinstance(value, str):
        return f"{value}\n{field_line}" if field_line else value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode("utf-8", "replace")
    return name_fields.rendered(value) or field_line


def parsed(text: str) -> Any:
    """Parse JSON text; anything else is returned as it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def join_texts(texts: Iterable[str]) -> str:
    return SEAM.join(text for text in texts if text)


def masked(matcher: Matcher, value: Any, mark: str = ERASED, column: str = "") -> Any:
    """Return a JSON value or text with a matcher's names masked.

    A name can be split over two texts of a list: a list or object that still names
    somebody after masking is emptied.
    """
    result = matcher.mask_json(value, mark, column)
    if isinstance(result, (dict, list)) and matcher.names(plain(result)):
        return type(result)()
    return result


def without_others(person: Person, value: Any) -> Any:
    """Return a JSON value or text with the names of other people masked."""
    return masked(person.others_matcher, value, OTHERS_MARK)


def facts(value: Any, *, quoted: bool, key: str = "") -> Iterator[str]:
    """Yield the texts of a program-written value: its own, or those it quotes.

    Its keys and numbers name nobody.
    """
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from facts(item, quoted=quoted, key=str(name))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from facts(item, quoted=quoted, key=key)
    elif isinstance(value, str) and (key in QUOTES) is quoted:
        yield value


def masked_facts(matcher: Matcher, value: Any, key: str = "") -> Any:
    """Return a program-written value with names masked in its texts only."""
    if isinstance(value, dict):
        return {
            name: masked_facts(matcher, item_value, name)
            for name, item_value in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [masked_facts(matcher, item, key) for item in value]
    if not isinstance(value, str):
        return value
    finder = matcher if key in QUOTES else matcher.only_sure()
    return finder.mask(value, ERASED)


def masked_bytes(matcher: Matcher, data: bytes) -> bytes:
    """Return bytes with names masked; non-UTF-8 is emptied when it names somebody."""
    try:
        return matcher.mask(data.decode(), ERASED).encode()
    except UnicodeDecodeError:
        return b"" if matcher.names(plain(data)) else data


def sample(person: Person, text: str) -> str:
    """Return an excerpt around the first name of the person, others masked."""
    spans = person.matcher.spans(text)
    first = max(0, spans[0].start - SAMPLE_CHARS // 2) if spans else 0
    excerpt = name_fields.readable(
        text[first : first + SAMPLE_CHARS].replace(SEAM, " · ")
    )
    excerpt = excerpt.replace(name_fields.BEGIN, " ").replace(name_fields.END, " ")
    return " ".join(person.others_matcher.mask(excerpt, OTHERS_MARK).split())


def entry_ids(text: str) -> list[str]:
    return _ENTRY.findall(text)


def rare(text: str) -> Iterator[bytes]:
    """Yield the distinct words of eight letters and more, lower-cased, as bytes."""
    for word in dict.fromkeys(_LONG.findall(text.lower())):
        yield word.encode()


def in_chunks(rows: QuerySet[Any, Any], key: str = "pk") -> Iterator[Any]:
    """Yield rows by a key, in short queries that keep no read open."""
    rest = rows = rows.order_by(key)
    while True:
        chunk = list(rest[:CHUNK])
        yield from chunk
        if len(chunk) < CHUNK:
            return
        last = chunk[-1]
        edge = last[key] if isinstance(last, dict) else getattr(last, key)
        rest = rows.filter(**{f"{key}__gt": edge})


def batches(row_ids: Sequence[str], size: int = 500) -> Iterator[Sequence[str]]:
    """Yield ids in batches that fit into one query."""
    for start in range(0, len(row_ids), size):
        yield row_ids[start : start + size]
