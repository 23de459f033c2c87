"""Addresses in a text, and how near they stand to somebody's name.

A second address of a person is seldom announced; it stands beside the name. What is
seen here is for people to judge: nothing is ever taken for somebody's by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from gdpr.matching import normalize
from gdpr.matching.matcher import Name, Span

# So many words, and so many characters, may stand between.
_TOUCHING: Final = (2, 40)
_CLOSE: Final = (6, 90)
_LEAST_DIGITS: Final = 8
_MOST_DIGITS: Final = 15
_TELLING: Final = 3
_INSIDE: Final = 4
_MAIL: Final = re.compile(
    r"(?<![\w.+\-@])[\w.+\-]{1,64}@[A-Za-z0-9\-]{1,63}(?:\.[A-Za-z0-9\-]{1,63}){1,8}"
)
_HANDLE: Final = re.compile(r"(?<![\w@./+\-])@[A-Za-z_]\w{1,38}(?:[.\-]\w{1,20}){0,3}")
_PHONE: Final = re.compile(
    r"(?<![\w.+/\-])(?:\+|\(\+?|0)(?:[ ()./\-]{0,2}\d){7,16}(?![\w\-])"
)
_DATE: Final = re.compile(r"\d{1,2}[./\-]\d{1,2}[./\-]\d{2,4}")
_MAY: Final = re.compile(r"@|(?<![\w.])[+(0]")
_WORD: Final = re.compile(r"\w+")
_LETTERS: Final = re.compile(r"[^\W\d_]{3,}")
# Mailboxes of a house, and handles that mean everybody: nobody's own.
_ROLES: Final = frozenset(
    "admin billing contact hello help helpdesk hr info jobs mail marketing newsletter"
    " noreply no-reply notifications office orders postmaster press privacy reply"
    " root sales security service shop support team webmaster".split()
)
_EVERYBODY: Final = frozenset(("@all", "@channel", "@everyone", "@here", "@team"))


class Nearness(IntEnum):
    """How near an address stands to a name, the nearer the more it says."""

    FAR = 1
    CLOSE = 2
    TOUCHING = 3


@dataclass(frozen=True, slots=True)
class Address:
    """Something by which somebody can be reached, as a text has it."""

    start: int
    end: int
    kind: str
    value: str


# ── Addresses ────────────────────────────────────────────────────────────────
def may(text: str) -> bool:
    """Whether a text can hold an address at all; False is certain."""
    return _MAY.search(text) is not None


def _is_phone(value: str) -> bool:
    digits = sum(character.isdigit() for character in value)
    is_date = _DATE.match(value) is not None
    return _LEAST_DIGITS <= digits <= _MOST_DIGITS and not is_date


def _all(text: str) -> Iterator[Address]:
    for found in _MAIL.finditer(text):
        value = found[0].rstrip(".-")
        yield Address(found.start(), found.start() + len(value), "email", value)
    for found in _HANDLE.finditer(text):
        if found[0].lower() not in _EVERYBODY:
            yield Address(found.start(), found.end(), "handle", found[0])
    for found in _PHONE.finditer(text):
        if _is_phone(found[0]):
            yield Address(found.start(), found.end(), "phone", found[0])


def addresses(text: str) -> list[Address]:
    """Return the addresses in a text, left to right."""
    found: list[Address] = []
    for one in sorted(_all(text), key=lambda one: (one.start, -one.end)):
        if not found or one.start >= found[-1].end:
            found.append(one)
    return found


def kind_of(named: str) -> str:
    """Guess what kind of alias a writer's name for somebody is; empty for a name."""
    value = named.strip()
    if any(one.end - one.start == len(value) for one in addresses(value)):
        return addresses(value)[0].kind
    digits = any(character.isdigit() for character in value)
    if digits and not any(character.isspace() for character in value):
        return "user_id"
    return ""


# ── Nearness ─────────────────────────────────────────────────────────────────
def _between(gap: str, seam: str) -> Nearness:
    count = len(_WORD.findall(gap))
    if seam in gap:
        return Nearness.FAR
    if count <= _TOUCHING[0] and len(gap) <= _TOUCHING[1]:
        return Nearness.TOUCHING
    if count <= _CLOSE[0] and len(gap) <= _CLOSE[1]:
        return Nearness.CLOSE
    return Nearness.FAR


def _neighbours(span: Span, found: Sequence[Address]) -> Iterator[Address]:
    """Return the next address of each kind on either side of a name.

    One that stands behind another of its kind is more likely somebody else's.
    """
    before: dict[str, Address] = {}
    after: dict[str, Address] = {}
    for one in found:
        if one.end <= span.start:
            before[one.kind] = one
        elif one.start >= span.end:
            after.setdefault(one.kind, one)
    yield from before.values()
    yield from after.values()


def nearness(
    text: str, spans: Iterable[Span], found: Sequence[Address], seam: str
) -> dict[Address, Nearness]:
    """Return how near each address of a text stands to the nearest of some names.

    ``seam`` parts texts that were joined; nothing beyond it is near. Two addresses of
    one kind are often two people's: side by side they are close and no more.
    """
    best = dict.fromkeys(found, Nearness.FAR)
    for span in spans:
        for one in _neighbours(span, found):
            gap = text[min(span.end, one.end) : max(span.start, one.start)]
            near = _between(gap, seam)
            if span.kind == one.kind:
                near = min(near, Nearness.CLOSE)
            best[one] = max(best[one], near)
    return best


# ── Likeness ─────────────────────────────────────────────────────────────────
def _local(kind: str, value: str) -> str:
    folded = normalize.fold(value)
    return folded.partition("@")[0] if kind == "email" else folded


def own_words(names: Iterable[Name]) -> frozenset[str]:
    """Return the words of a person's names and of their addresses' local parts."""
    told = (n for n in names if n.kind in ("name", "email", "handle", "user_id"))
    found = (_LETTERS.findall(_local(one.kind, one.value)) for one in told)
    return frozenset(word for words in found for word in words)


def is_alike(kind: str, value: str, own: Iterable[str]) -> bool:
    """Whether an address has a word of somebody's name in it."""
    local = _local(kind, value)
    letters = "".join(character for character in local if character.isalpha())
    parts = set(_LETTERS.findall(local))
    return kind != "phone" and any(
        word in parts or (len(word) >= _INSIDE and word in letters) for word in own
    )


def is_role(kind: str, value: str) -> bool:
    """Whether an address belongs to a house and not to a person."""
    return kind == "email" and _local(kind, value) in _ROLES
