"""Names and postal addresses, from the model's labels and lists of names.

The model reads small letters: whether a word is written like a name decides how sure it
is. Sure is a whole name, or a name behind a form of address; a first name alone, a name
in small letters and a town with its postcode wait for a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from gdpr.detection import name_lists, streets
from gdpr.detection.rampart_model import NAME_PARTS, Word
from gdpr.detection.spans import Kind, Span
from gdpr.matching.common_words import WORDS

_STREETS: Final = frozenset(("STREET_NAME", "BUILDING_NUMBER", "SECONDARY_ADDRESS"))
_PLACES: Final = _STREETS | {"ZIP_CODE", "CITY", "STATE"}
# Least scores, measured on texts that the tests do not have.
_SURE: Final = 0.45
_WHOLE_NAME: Final = 0.2
_SINGLE: Final = 0.7
_SMALL: Final = 0.95
_PLACE: Final = 0.7
_PART: Final = 0.1
# What a list of names says of a word, as a score.
_LISTED_FIRST: Final = 0.6
_LISTED_SURNAME: Final = 0.35
# Letters that the model does not read: two words in capitals are proposed.
_UNREAD: Final = 0.2
_OTHER_LETTERS: Final = re.compile(r"[\u0370-\u052f]")
_LETTERS: Final = re.compile(r"[^\W\d_]{2,}")
_WORD: Final = re.compile(r"[^\W\d_]+(?:[-’'][^\W\d_]+){0,3}")
_CHAIN_GAP: Final = re.compile(
    r"[ \t\u00a0]{1,2}(?:[^\W\d_]\.[ \t]?){0,2}"
    r"(?:(?:von|van|der|den|de|del|da|dos|la|di|zu|bin|al)[ \t]){0,2}"
)
_NAME_GAP: Final = re.compile(r"[ \t\u00a0]{0,3}(?:[-'’.][ \t\u00a0]{0,2})?")
_PLACE_GAP: Final = re.compile(r"[ \t\u00a0]{0,3}(?:[,.·/-]?[ \t\u00a0]{0,3}\n?)")
_ADDRESSED: Final = re.compile(
    r"(?<!\w)(?:Mr|Mrs|Ms|Miss|Dr|Prof|Herrn?|Frau|Madame|Monsieur|Mme|Mlle|[Ss]eñora?"
    r"|Sra?|Don|Doña|Pan|Pani|Pana|Panią|Panem|Panu)(?!\w)\.?[ \t]{1,2}"
    r"(?:(?:Dr|Prof|med|von|van|de|del|der|zu)\.?[ \t]{1,2}){0,2}$"
)
_BEFORE: Final = 40
_INITIALS: Final = 2
_POSTCODE_DIGITS: Final = 3
# A word of code or of a path, or a part of one.
_CODE_BEFORE: Final = frozenset("/\\_@#$<`.-")
_CODE_AFTER: Final = frozenset("/\\_@(=`")
_PATH: Final = frozenset("/\\_@")


class _Titled(NamedTuple):
    """A word written like a name, and what speaks for its being one."""

    start: int
    end: int
    weight: float
    is_first: bool
    is_word: bool
    is_upper: bool


def find(text: str, words: Iterable[Word]) -> Iterator[Span]:
    """Yield what is found, which may overlap."""
    labelled = list(words)
    for chain in _chains(text, labelled):
        yield from _in_chain(text, chain)
    yield from _small_names(text, labelled)
    places = [word for word in labelled if word.label in _PLACES]
    for group in _groups(text, places, _PLACE_GAP):
        yield from _address(text, group)
    yield from streets.find(text)


def may_name(words: Sequence[str]) -> bool:
    """Whether ``find`` could yield something of a sentence, whatever the model says.

    That takes a word written like a name, two words in capitals, digits like those of
    a postcode, or a listed name in small letters.
    """
    names, capitals = name_lists.lists(), 0
    for number, word in enumerate(words):
        folded = word.casefold()
        if word[0].isupper() and len(word) > 1:
            if number or folded not in names.no_names:
                capitals += 1
                if capitals > 1 or not word.isupper() or len(word) == _INITIALS:
                    return True
            continue
        is_listed = folded in names.first or folded in names.surnames
        if is_listed or sum(map(str.isdigit, word)) >= _POSTCODE_DIGITS:
            return True
    return False


# ── Names as they are written ────────────────────────────────────────────────
def _chains(text: str, words: Sequence[Word]) -> Iterator[list[_Titled]]:
    """Yield words in capitals that follow each other in a line."""
    scores = {word.start: word.name for word in words}
    chain: list[_Titled] = []
    for match in _WORD.finditer(text):
        word = _titled(match, scores)
        is_next = bool(chain) and _CHAIN_GAP.fullmatch(
            text, chain[-1].end, match.start()
        )
        if chain and (word is None or not is_next):
            if word is not None or not match[0].islower() or len(match[0]) > 3:
                yield chain
                chain = []
        if word is not None:
            chain.append(word)
    if chain:
        yield chain


def _titled(match: re.Match[str], scores: dict[int, float]) -> _Titled | None:
    spelling = match[0]
    if not spelling[0].isupper() or len(spelling) < 2:
        return None
    parts = [m.start() for m in _LETTERS.finditer(spelling)]
    score = max((scores.get(match.start() + p, 0.0) for p in (0, *parts)), default=0.0)
    names, folded = name_lists.lists(), spelling.casefold()
    is_double = "-" in spelling and all(
        part[:1].isupper() for part in spelling.split("-")
    )
    is_first = (folded.split("-")[0] if is_double else folded) in names.first
    is_surname = folded in names.surnames
    is_word = folded in WORDS
    weight = max(score, _UNREAD) if _OTHER_LETTERS.match(spelling) else score
    if not is_word:
        weight = max(weight, is_first * _LISTED_FIRST, is_surname * _LISTED_SURNAME)
    if spelling.isupper() and len(spelling) > 2:
        weight /= 2
    return _Titled(*match.span(), weight, is_first, is_word, spelling.isupper())


def _in_chain(text: str, chain: Sequence[_Titled]) -> Iterator[Span]:
    part: list[_Titled] = []
    for word in (*chain, None):
        if word is not None and _belongs(word, part):
            part.append(word)
            continue
        if part:
            yield from _name(text, part)
        part = []


def _belongs(word: _Titled, part: Sequence[_Titled]) -> bool:
    if part and word.is_upper != part[0].is_upper:
        return False
    if word.weight >= _PART:
        return True
    # Behind a first name even a surname that nobody lists.
    is_behind_first = len(part) == 1 and part[0].is_first and not part[0].is_word
    return is_behind_first and not word.is_word


def _name(text: str, part: Sequence[_Titled]) -> Iterator[Span]:
    start, end = part[0].start, part[-1].end
    if _is_code(text, start, end):
        return
    weight = sum(word.weight for word in part) / len(part)
    is_addressed = _ADDRESSED.search(text[max(0, start - _BEFORE) : start]) is not None
    if is_addressed or (len(part) > 1 and weight >= _SURE):
        yield Span(start, end, Kind.NAME, surely=True)
    elif (
        (len(part) > 1 and weight >= _WHOLE_NAME)
        or weight >= _SINGLE
        or (part[0].is_first and weight >= _LISTED_FIRST)
    ):
        yield Span(start, end, Kind.NAME, surely=False)


def _is_titled(spelling: str) -> bool:
    return spelling[0].isupper() and not spelling.isupper()


# ── Names in small letters ───────────────────────────────────────────────────
def _small_names(text: str, words: Sequence[Word]) -> Iterator[Span]:
    small = [
        word
        for word in words
        if word.label in NAME_PARTS
        and word.score >= _SMALL
        and text[word.start : word.end].islower()
    ]
    for group in _groups(text, small, _NAME_GAP):
        start, end = group[0].start, group[-1].end
        if not _is_code(text, start, end) and _is_listed(text[start:end]):
            yield Span(start, end, Kind.NAME, surely=False)


def _is_listed(spelling: str) -> bool:
    """Whether a word in small letters is a name at all: many a verb looks like one."""
    names = name_lists.lists()
    return any(
        word in names.first or word in names.surnames for word in spelling.split()
    )


def _groups(
    text: str, words: Sequence[Word], gap: re.Pattern[str]
) -> Iterator[list[Word]]:
    """Yield words that follow each other."""
    group: list[Word] = []
    for word in words:
        if group and gap.fullmatch(text, group[-1].end, word.start) is None:
            yield group
            group = []
        group.append(word)
    if group:
        yield group


def _is_code(text: str, start: int, end: int) -> bool:
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    if " " in text[start:end]:
        # Code has no blank in a word.
        return before in _PATH or after in _PATH
    if before in _CODE_BEFORE or after in _CODE_AFTER:
        return True
    # A dot or a dash with more behind it: a host, a file, a package.
    return after in (".", "-", ":") and text[end + 1 : end + 2].isalnum()


# ── Addresses ────────────────────────────────────────────────────────────────
def _address(text: str, group: Sequence[Word]) -> Iterator[Span]:
    words = [word for word in group if word.score >= _PLACE]
    if not words or _is_code(text, words[0].start, words[-1].end):
        return
    labels = {word.label for word in words}
    street = [word for word in words if word.label == "STREET_NAME"]
    is_named = any(
        _is_titled(text[word.start : word.end])
        and _LETTERS.search(text, word.start, word.end)
        for word in street
    )
    has_number = any(
        word.label in ("BUILDING_NUMBER", "SECONDARY_ADDRESS")
        and any(map(str.isdigit, text[word.start : word.end]))
        for word in words
    )
    start, end = streets.with_prefix(text, words[0].start), words[-1].end
    if is_named and has_number:
        # Without a town it may be a heading with its number.
        surely = not labels.isdisjoint(("ZIP_CODE", "CITY"))
        yield Span(start, end, Kind.ADDRESS, surely)
    elif {"ZIP_CODE", "CITY"} <= labels and not street:
        yield Span(start, end, Kind.ADDRESS, surely=False)
