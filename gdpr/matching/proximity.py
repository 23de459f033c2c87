"""Addresses in a text, and how near they are to a person's name.

A second address of a person is often found beside the name. The results are suggestions
on which a person decides; nothing is attributed automatically.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from gdpr.matching import normalize
from gdpr.matching.matcher import Name, Span

# The most words, and the most characters, between a name and an address.
_TOUCHING: Final = (2, 40)
_CLOSE: Final = (6, 90)
_LEAST_DIGITS: Final = 8
_MOST_DIGITS: Final = 15
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
# Mailboxes of an organisation, and handles of groups: not of one person.
_ROLES: Final = frozenset(
    "admin billing contact hello help helpdesk hr info jobs mail marketing newsletter"
    " noreply no-reply notifications office orders postmaster press privacy reply"
    " root sales security service shop support team webmaster".split()
)
_GROUP_HANDLES: Final = frozenset(("@all", "@channel", "@everyone", "@here", "@team"))


class Nearness(IntEnum):
    """How near an address is to a name."""

    FAR = 1
    CLOSE = 2
    TOUCHING = 3


@dataclass(frozen=True, slots=True)
class Address:
    """An e-mail address, handle or telephone number in a text."""

    start: int
    end: int
    kind: str
    value: str


# ── Addresses ────────────────────────────────────────────────────────────────
def may_hold_address(text: str) -> bool:
    """Whether a text can hold an address at all; False is certain."""
    return _MAY.search(text) is not None


def _is_phone(value: str) -> bool:
    digits = sum(character.isdigit() for character in value)
    is_date = _DATE.match(value) is not None
    return _LEAST_DIGITS <= digits <= _MOST_DIGITS and not is_date


def _all(text: str) -> Iterator[Address]:
    for match in _MAIL.finditer(text):
        value = match[0].rstrip(".-")
        yield Address(match.start(), match.start() + len(value), "email", value)
    for match in _HANDLE.finditer(text):
        if match[0].lower() not in _GROUP_HANDLES:
            yield Address(match.start(), match.end(), "handle", match[0])
    for match in _PHONE.finditer(text):
        if _is_phone(match[0]):
            yield Address(match.start(), match.end(), "phone", match[0])


def addresses(text: str) -> list[Address]:
    """Return the addresses in a text, left to right."""
    result: list[Address] = []
    for address in sorted(
        _all(text), key=lambda address: (address.start, -address.end)
    ):
        if not result or address.start >= result[-1].end:
            result.append(address)
    return result


def kind_of(alias: str) -> str:
    """Guess the alias kind of a writer's name for somebody; empty for a plain name."""
    value = alias.strip()
    if any(address.end - address.start == len(value) for address in addresses(value)):
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


def _neighbours(span: Span, addresses: Sequence[Address]) -> Iterator[Address]:
    """Return the nearest address of each kind on either side of a name.

    One beyond another of its kind is more likely somebody else's.
    """
    before: dict[str, Address] = {}
    after: dict[str, Address] = {}
    for address in addresses:
        if address.end <= span.start:
            before[address.kind] = address
        elif address.start >= span.end:
            after.setdefault(address.kind, address)
    yield from before.values()
    yield from after.values()


def nearness(
    text: str, spans: Iterable[Span], addresses: Sequence[Address], seam: str
) -> dict[Address, Nearness]:
    """Return how near each address of a text is to the nearest of some names.

    ``seam`` separates texts that were joined; an address beyond it is far. Two
    addresses of one kind are often two people's: side by side they are at most close.
    """
    best = dict.fromkeys(addresses, Nearness.FAR)
    for span in spans:
        for address in _neighbours(span, addresses):
            gap = text[min(span.end, address.end) : max(span.start, address.start)]
            gap_nearness = _between(gap, seam)
            if span.kind == address.kind:
                gap_nearness = min(gap_nearness, Nearness.CLOSE)
            best[address] = max(best[address], gap_nearness)
    return best


# ── Likeness ─────────────────────────────────────────────────────────────────
def _local(kind: str, value: str) -> str:
    folded = normalize.fold(value)
    return folded.partition("@")[0] if kind == "email" else folded


def own_words(names: Iterable[Name]) -> frozenset[str]:
    """Return the words of a person's names and of their addresses' local parts."""
    written_names = (
        n for n in names if n.kind in ("name", "email", "handle", "user_id")
    )
    word_lists = (
        _LETTERS.findall(_local(name.kind, name.value)) for name in written_names
    )
    return frozenset(word for words in word_lists for word in words)


def is_alike(kind: str, value: str, own: Iterable[str]) -> bool:
    """Whether an address contains a word of a person's name."""
    local = _local(kind, value)
    letters = "".join(character for character in local if character.isalpha())
    parts = set(_LETTERS.findall(local))
    return kind != "phone" and any(
        word in parts or (len(word) >= _INSIDE and word in letters) for word in own
    )


def is_role(kind: str, value: str) -> bool:
    """Whether an address belongs to an organisation and not to a person."""
    return kind == "email" and _local(kind, value) in _ROLES
