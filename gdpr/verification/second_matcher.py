"""A second way to find a person in texts, which shares no code with the first.

The final search asks both: a form that one misses the other may find. This one reduces
texts to ASCII letters and compares sequences of words, where ``gdpr.matching`` runs
expressions over folded text; it decodes where that compares encodings. It reports only
what means the person for certain: a full name, an address, a number, an id.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Final

from gdpr.verification import decoded_texts
from gdpr.verification.decoded_texts import END, Reading
from gdpr.verification.word_sequences import WORD, Name, Stretch, Text, ascii_of

# Between two columns of a row: no name reaches across it.
SEAM: Final = "\x1f"
KINDS: Final = frozenset({"name", "email", "phone", "handle", "user_id"})
MIN_DIGITS: Final = 8
_DEPTH: Final = 2
_PREFIX: Final = 3
# Scripts without spaces: no word is told apart there.
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0fff\u1000-\u11ff\u1780-\u17ff\u3040-\u30ff\u31f0-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff]"
)
_PHONE: Final = re.compile(
    # A number in JSON is an amount, not a line.
    r'(?<![A-Za-z0-9])(?<!":)(?<!": )(?<![A-Za-z0-9][\-#_])'
    r"\+?\(?\d(?:[ \t\-./()]{0,3}\d){7,19}"
    r"(?![A-Za-z0-9])(?![,.]\d)"
)
# Digits behind such a word are a line, with or without + or 0.
_CALLED: Final = re.compile(
    r"(?<![a-z])(?:(?:tele)?(?:phone|fon|fax)|tel|call|calls|called|mobile|cell|mobil"
    r"|whatsapp|msisdn)[\"'.:=\s]{1,4}"
    r"(\d(?:[ \t\-./()]{0,3}\d){7,19})(?![a-z0-9])(?![,.]\d)",
    re.IGNORECASE,
)
# Keys of fields that say who.
_WHO: Final = (
    "user|user_?id|user_?name|username|uid|customer|customer_?id|owner|author|assignee"
    "|person|account|login|handle|email|mail|contact|client|patient|scope_user"
    "|end_user|subject|member|sender|recipient|reporter|requester|employee"
)


@dataclass(frozen=True, slots=True)
class Identifier:
    """A registered identifier; sought in texts, or in fields that say who only."""

    kind: str
    value: str
    in_texts: bool = True


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


# ── Addresses, ids, numbers ──────────────────────────────────────────────────
def _literal(identifier: Identifier) -> re.Pattern[str] | None:
    """Return the expression of an address, id, handle or unspaced name."""
    value = _plain(identifier.value).strip()
    if identifier.kind == "email":
        value = value.removeprefix("mailto:").strip("<>")
        local, _, domain = value.rpartition("@")
        label = "" if "+" in local else r"(?:\+[\w.\-]{1,64})?"
        return re.compile(
            rf"(?<!\w)(?<!\w[.+\-'])(?<!_){re.escape(local)}{label}@"
            rf"{re.escape(domain)}(?![\w\-])(?!\.\w)"
        )
    if identifier.kind == "handle":
        value = value.lstrip("@")
        return re.compile(rf"(?<![\w.@\-])@?{re.escape(value)}(?![\w@\-])(?!\.\w)")
    if identifier.kind == "user_id":
        return re.compile(rf"(?<![\w\-]){re.escape(value)}(?![\w\-])")
    if _UNSPACED.search(value) and len(value) > 1:
        return re.compile(re.escape(value))
    return None


def _field(value: str) -> re.Pattern[str]:
    """Return the expression of a whole value of a field that says who."""
    plain = re.escape(_plain(value).strip().lstrip("@"))
    return re.compile(rf'"(?:{_WHO})"\s*:\s*(?:"\s*@?{plain}\s*"|{plain}\s*[,}}\]])')


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text.replace("(0)", "")).lstrip("0")


def _is_international(text: str) -> bool:
    return text.lstrip(" (").startswith(("+", "00"))


def _has_prefix(text: str) -> bool:
    return text.lstrip(" (").startswith(("+", "0"))


def _is_same_line(one: str, two: str) -> bool:
    """Whether two numbers reach the same line; one may lack the country's prefix.

    A longer number that does not begin with a prefix is another number.
    """
    short, long = sorted((one, two), key=lambda text: len(_digits(text)))
    if _digits(short) == _digits(long):
        return True
    extra = len(_digits(long)) - len(_digits(short))
    is_national = not _is_international(short) and len(_digits(short)) >= MIN_DIGITS
    return (
        is_national
        and _is_international(long)
        and extra <= _PREFIX
        and _digits(long).endswith(_digits(short))
    )


def _has_line(number: str, text: str) -> bool:
    """Whether a text has a number; digits alone may be an amount.

    Unless the number is registered so, or a word before them says that one calls it.
    """
    lines = (match[0] for match in _PHONE.finditer(text))
    called_names = (f"+{match[1]}" for match in _CALLED.finditer(text))
    return any(
        _is_same_line(number, line)
        for line in lines
        if _has_prefix(line) or not _has_prefix(number)
    ) or any(_is_same_line(number, line) for line in called_names)


# ── The matcher ──────────────────────────────────────────────────────────────
@dataclass(slots=True)
class _Sought:
    """What is sought for one identifier."""

    # For each word the strings one of which a text has to contain.
    anchors: list[frozenset[str]]
    name: Name | None = None
    literal: re.Pattern[str] | None = None
    digits: str = ""
    number: str = ""


@dataclass(slots=True)
class SecondMatcher:
    """Finds a person's identifiers in texts, other people's names left out.

    ``others`` are the identifiers of the other people of the workspace: a name that
    somebody else has too, or that is part of theirs, means nobody for certain. With
    ``exact`` a name is found only as it is registered.
    """

    identifiers: Sequence[Identifier]
    others: Sequence[Identifier] = ()
    exact: bool = False
    _sought: list[_Sought] = field(default_factory=list)
    _of_others: list[_Sought] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._of_others = [s for item in self.others if (s := _sought(item))]
        for item in self.identifiers:
            target = _sought(item)
            if target and not any(_is_same(item, other) for other in self.others):
                self._sought.append(target)

    def __len__(self) -> int:
        return len(self._sought)

    def among(self, texts: Sequence[str], depth: int = 0) -> set[int]:
        """Return the indexes of the texts that name the person for certain."""
        hits: set[int] = set()
        if not self._sought or not texts:
            return hits
        words = decoded_texts.Words()
        for reading in decoded_texts.readings(texts):
            hits |= self._in_reading(reading)
            if depth < _DEPTH:
                pairs = list(words.among(reading))
                inner = self.among([text for _, text in pairs], depth + 1)
                hits |= {pairs[at][0] for at in inner}
        return hits

    def _in_reading(self, reading: Reading) -> set[int]:
        return {
            reading.indexes[at]
            for at, target in self._candidates(reading)
            if self._is_in(target, reading.texts[at])
        }

    def _candidates(self, reading: Reading) -> Iterator[tuple[int, _Sought]]:
        """Yield the texts that hold a word of each part of an identifier."""
        folded = _FoldedTexts(reading)
        for target in self._sought:
            if target.digits:
                yield from ((at, target) for at in folded.with_digits(target.digits))
                continue
            rarest = max(target.anchors, key=lambda anchors: len(min(anchors, key=len)))
            for at in folded.containing(rarest):
                part = folded.parts[at]
                if all(any(a in part for a in word) for word in target.anchors):
                    yield at, target

    def _is_in(self, sought: _Sought, text: str) -> bool:
        if sought.digits:
            return _has_line(sought.number, ascii_of(text))
        if sought.literal is not None:
            return sought.literal.search(_plain(text)) is not None
        assert sought.name is not None  # noqa: S101
        reduced = Text(text)
        own = list(sought.name.stretches(reduced, exact=self.exact))
        return bool(own) and not self._all_of_others(own, reduced)

    def _all_of_others(self, own: Sequence[Stretch], text: Text) -> bool:
        """Whether every stretch is part of a longer name of somebody else."""
        low = text.ascii.lower()
        of_others = [
            stretch
            for other in self._of_others
            if all(any(a in low for a in word) for word in other.anchors)
            for stretch in _stretches_of(other, text)
        ]
        return all(
            any(start <= s and e <= end for start, end in of_others) for s, e in own
        )


def _is_same(own: Identifier, other: Identifier) -> bool:
    """Whether two identifiers cannot be told apart in a text."""
    if own.kind != other.kind:
        return False
    if own.kind == "phone":
        return _is_same_line(own.value, other.value)
    if own.kind == "name" and Name(own.value).is_sought:
        return Name(own.value).is_written_like(Name(other.value))
    return _plain(own.value).strip(" @") == _plain(other.value).strip(" @")


def _stretches_of(sought: _Sought, text: Text) -> Iterator[Stretch]:
    if sought.name is not None:
        yield from sought.name.stretches(text)
    elif sought.literal is not None:
        for match in sought.literal.finditer(text.ascii.casefold()):
            yield match.span()


def _sought(identifier: Identifier) -> _Sought | None:
    """Return what is sought for an identifier; None when it is not certain."""
    if identifier.kind not in KINDS:
        return None
    if identifier.kind == "phone":
        digits = _digits(identifier.value)
        if len(digits) < MIN_DIGITS:
            return None
        return _Sought([], digits=digits, number=identifier.value)
    anchor = max(WORD.findall(ascii_of(_plain(identifier.value))), key=len, default="")
    anchors = [frozenset((anchor.lower(),))]
    if not anchor:
        return None
    if not identifier.in_texts:
        return _Sought(anchors, literal=_field(identifier.value))
    literal = _literal(identifier)
    if literal is not None:
        return _Sought(anchors, literal=literal)
    name = Name(identifier.value)
    return _Sought(name.anchors(), name=name) if name.is_sought else None


class _FoldedTexts:
    """The texts of a reading in small ASCII letters, searched together."""

    def __init__(self, reading: Reading) -> None:
        self._body = ascii_of(reading.body).lower()
        if self._body.count(END) != len(reading.texts) - 1:
            texts = (ascii_of(text).lower() for text in reading.texts)
            self._body = END.join(text.replace(END, " ") for text in texts)

    @cached_property
    def parts(self) -> list[str]:
        return self._body.split(END)

    @cached_property
    def _starts(self) -> list[int]:
        """The offset at which the text after each begins."""
        return list(accumulate(len(part) + 1 for part in self.parts))

    def containing(self, anchors: Iterable[str]) -> list[int]:
        """Return the indexes of the texts that contain one of some strings."""
        indexes: set[int] = set()
        for anchor in anchors:
            at = self._body.find(anchor)
            while at >= 0:
                index = bisect_right(self._starts, at)
                indexes.add(index)
                at = self._body.find(anchor, self._starts[index])
        return sorted(indexes)

    def with_digits(self, digits: str) -> list[int]:
        """Return the indexes of the texts that may hold a number's last digits."""
        loose = re.compile(r"(?:[ \t\-./()]{0,3})".join(digits[-6:]))
        places = (match.start() for match in loose.finditer(self._body))
        return sorted({bisect_right(self._starts, place) for place in places})
