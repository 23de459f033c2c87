"""JSON as text to search: fields that hold a person, and names split over two fields.

The text holds the keys and strings of the JSON, the names that two fields make
together, and a line for every field that holds a person. Such a field line has one
whole value between two control characters. A number occurs in field lines only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import pairwise
from typing import Any, Final

# A longer value is a sentence and no part of a name.
_CHARS: Final = 60
_WORDS: Final = 3
_NAME_PART: Final = re.compile(
    r"first|last|given|family|sur_?name|fore_?name|middle|vorname|nachname|familien"
    r"|nazwisko|imi[eę]|pr[eé]nom|nombre|apellido|cognome",
    re.IGNORECASE,
)

# Keys of fields that hold a person.
_PEOPLE: Final = (
    r"user|customer|person|author|owner|member|account|login|handle|subject|contact"
    r"|sender|recipient|assignee|nick|client|patient|employee|reporter|requester"
    r"|speaker|participant|creator|reviewer|approver|buyer|seller|peer|actor"
)
_VERBS: Final = (
    "created|updated|written|approved|decided|owned|reported|requested|assigned|opened"
    "|closed|sent|signed|made|set|added|changed|edited|reviewed|posted|started|asked"
    "|claimed|confirmed|cleared|blocked|placed|released|lifted|executed|identity"
    "|issued"
)
_KEY: Final = (
    rf"(?:(?:scope|end|app)[_-]?)?(?:{_PEOPLE})s?"
    r"(?:[_-]?(?:id|ids|name|names|handle|email|label))?"
    rf"|uid|(?:{_VERBS})[_-]?by|assigned[_-]?to"
    r"|(?:full|display|real|legal)[_-]?name|e?[_-]?mail(?:[_-]?address)?s?"
)
_WHO_KEY: Final = re.compile(_KEY, re.IGNORECASE)
_PHONE_KEY: Final = re.compile(
    r"(?:tele)?(?:phone|fax)s?(?:[_-]?(?:number|no))?|tel|mobile|cell|whatsapp|msisdn",
    re.IGNORECASE,
)
_PERSON_FIELD: Final = re.compile(rf'"(?:{_KEY})"\s*:', re.IGNORECASE)
_ANY_FIELD: Final = re.compile(
    rf'"(?:{_KEY}|{_PHONE_KEY.pattern}|name)"\s*:', re.IGNORECASE
)
# The control characters of a field line: BEGIN, the letter of its Key, ":", value, END.
BEGIN: Final = "\x1e"
END: Final = "\x1f"
FIELD_LINE: Final = re.compile(f"{BEGIN}([apu]):([^{BEGIN}{END}]*){END}")
_DEPTH: Final = 40


class Key(StrEnum):
    """What the value of a key is: a person, a telephone number, perhaps a person."""

    PERSON = "a"
    PHONE = "p"
    UNSURE = "u"


def key_of(name: str, parent: str = "", siblings: Iterable[str] = ()) -> Key | None:
    """Return what the value of a key is; None when it holds no person.

    A field ``name`` may be a month's or a product's: it is a person's below a key that
    holds a person, without such a key beside it. A first or last name counts by itself
    only where the other half is missing. ``siblings`` are the other keys.
    """
    if _WHO_KEY.fullmatch(name):
        return Key.PERSON
    if _PHONE_KEY.fullmatch(name):
        return Key.PHONE
    if name.lower() in ("id", "key") and _WHO_KEY.fullmatch(parent):
        return Key.PERSON
    if name.lower() == "name":
        has_no_person_sibling = not any(map(_WHO_KEY.fullmatch, siblings))
        return (
            Key.PERSON
            if has_no_person_sibling and _WHO_KEY.fullmatch(parent)
            else Key.UNSURE
        )
    if _NAME_PART.search(name):
        return (
            None if any(_NAME_PART.search(other) for other in siblings) else Key.UNSURE
        )
    return None


def _is_short(value: Any) -> bool:
    if not isinstance(value, str) or len(value) > _CHARS:
        return False
    return 0 < len(value.split()) <= _WORDS


def pairs(value: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Return the pairs of keys of an object whose short texts may be one name.

    Neighbouring short texts, and neighbouring keys that are parts of a name: sorting by
    key may have put others between those.
    """
    short = [key for key, item in value.items() if _is_short(item)]
    name_keys = [key for key in short if _NAME_PART.search(str(key))]
    yield from dict.fromkeys([*pairwise(short), *pairwise(name_keys)])


def lines(value: Any) -> Iterator[str]:
    """Return the texts of the pairs in a JSON value, each in both orders."""
    if isinstance(value, Mapping):
        for first, second in pairs(value):
            yield f"{value[first]} {value[second]}"
            yield f"{value[second]} {value[first]}"
        for item in value.values():
            yield from lines(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from lines(item)


def strings(value: Any) -> Iterator[str]:
    """Return every key and string of a JSON value, in order; no numbers."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from strings(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from strings(item)
    elif isinstance(value, str):
        yield value


# ── Fields that hold a person ────────────────────────────────────────────────
def values(value: Any, parent: str = "", depth: int = 0) -> Iterator[tuple[Key, str]]:
    """Return the values of every field that holds a person, at any depth.

    JSON inside a string is read as well.
    """
    if depth > _DEPTH:
        return
    if isinstance(value, Mapping):
        names = [str(name) for name in value]
        for name, item in value.items():
            key = key_of(str(name), parent, [n for n in names if n != str(name)])
            if key is not None:
                yield from ((key, text) for text in _plain(item))
            yield from values(item, str(name), depth + 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from values(item, parent, depth + 1)
    elif isinstance(value, str) and (inner := person_json(value)) is not None:
        yield from values(inner, parent, depth + 1)


def person_json(text: str) -> Any:
    """Return the JSON in a text if it has a field that holds a person, or None."""
    if text[:1] not in ("{", "[") or not _PERSON_FIELD.search(text):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def is_value(item: Any) -> bool:
    """Whether an item can be the whole value of a field that holds a person."""
    if isinstance(item, bool) or not isinstance(item, (str, int)):
        return False
    return 0 < len(str(item).strip()) <= _CHARS


def _plain(value: Any) -> Iterator[str]:
    for text in value if isinstance(value, list) else (value,):
        if is_value(text):
            yield str(text).strip()


def line(key: Key, value: Any) -> str:
    plain = str(value).replace(BEGIN, " ").replace(END, " ").strip()
    return f"{BEGIN}{key}:{plain}{END}"


def readable(text: str) -> str:
    """Return a text with field lines replaced by their values, for people to read."""
    return FIELD_LINE.sub(lambda match: match[2], text) if BEGIN in text else text


def may_hold_person(text: str) -> bool:
    """Whether a text can hold a field that holds a person; False is certain."""
    return (
        BEGIN in text
        or _ANY_FIELD.search(text) is not None
        or _NAME_PART.search(text) is not None
    )


def json_spellings(form: str) -> Iterator[str]:
    """Return how JSON writes a whole value, as strings to search for."""
    yield from (f'"{form}"', f'"@{form}"', f'" {form}', f'{form} "', f":{form}{END}")
    if form.isdigit():
        yield from (f"{a}{form}{b}" for a in ":[," for b in ",]}")


def people(text: str) -> list[str]:
    """Return the persons in the fields of a JSON text; none for other text."""
    data = person_json(text)
    if data is None:
        return []
    names = (name for key, name in values(data) if key is Key.PERSON)
    return list(dict.fromkeys(names))


# ── As text ──────────────────────────────────────────────────────────────────
def rendered(value: Any) -> str:
    """Return a JSON value as the text that people are looked for in."""
    field_lines = (line(key, text) for key, text in dict.fromkeys(values(value)))
    return "\n".join([*strings(value), *lines(value), *field_lines])


def json_as_text(text: str) -> str:
    """Return JSON text as the text to search; other text unchanged."""
    if text[:1] not in ("{", "["):
        return text
    try:
        return rendered(json.loads(text))
    except (ValueError, RecursionError):
        return text
