"""E-mail addresses, handles, telephone, bank, card and identity numbers in a text.

Sure is what only a person's number looks like: valid with its check digits, or behind a
word that says what it is. Ten digits alone are a number of anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import phonenumbers
from stdnum import iban, luhn
from stdnum.be import nn as belgian
from stdnum.ch import ssn as swiss
from stdnum.de import idnr as german_tax
from stdnum.es import dni, nie
from stdnum.fr import nir as french
from stdnum.gb import nhs
from stdnum.it import codicefiscale as italian
from stdnum.nl import bsn as dutch
from stdnum.pl import pesel
from stdnum.se import personnummer as swedish
from stdnum.us import ssn as american

from gdpr.detection.spans import Kind, Span
from gdpr.matching import proximity

# What stands before a number may say what it is.
_BEFORE: Final = 32
_PHONE_WORD: Final = re.compile(
    r"(?:phone|tel|t[eé]l[eé]phone|telefon\w*|tel[eé]fono|mobil\w*|m[oó]vil|handy|cell"
    r"|fax|call|ring|anruf\w*|appel\w*|llam\w*|zadzwo\w*|whatsapp|sms|n[uú]mero|nummer"
    r"|numer|number|erreichbar|joignable|dzwoni\w*|kom[oó]rk\w*|portable)\b\W{0,8}"
    r"(?:\w{1,8}\W{1,3}){0,2}$",
    re.I,
)
_IDENTITY_WORD: Final = re.compile(
    r"(?:passport|reisepass\w*|personalausweis\w*|ausweis\w*|passeport|pasaporte"
    r"|paszport\w*|dow[oó]d\w*|identity|identifi\w+|id card|ssn|social security"
    r"|sozialversicherung\w*|steuer\w*|tax|dni|nie|nif|nir|pesel|bsn|nhs|ahv|avs"
    r"|personnummer|licen[cs]e|f[uü]hrerschein\w*|permis|carn[eé]t|insurance"
    r"|s[eé]curit[eé] sociale|codice fiscale|rijksregister\w*|national number)\b\W{0,8}"
    r"(?:\w{1,10}\W{1,3}){0,3}$",
    re.I,
)
_CARD_WORD: Final = re.compile(
    r"(?:card|visa|mastercard|amex|karte|kreditkarte|carte|tarjeta|kart[aąyę])\b\W{0,8}"
    r"(?:\w{1,10}\W{1,3}){0,3}$",
    re.I,
)
_PHONE: Final = re.compile(
    r"(?<![\w.+/\-#=])(?:\+|\(\+?|00|0|\d)(?:[ ()./\-\u2010-\u2013]{0,2}\d){6,16}"
    r"(?![\w\-/])(?!\.\d)"
)
_GROUPS: Final = re.compile(r"\d[ ()./\-]+\d")
_DATE: Final = re.compile(
    r"^\D?(?:(?:19|20)\d\d[./\-]\d{1,2}|\d{1,2}[./\-]\d{1,2}[./\-]\d{2,4})"
)
_TIMES: Final = re.compile(r"\d{4}/\d{4}")
_DECIMAL: Final = re.compile(r"(?:^|[ (])\d{1,3}\.\d+")
_TRIPLES: Final = re.compile(r"[5-9]\d\d[ ]\d{3}[ ]\d{3}|\d\d(?:[ ]\d{2,3}){3}")
# Where a number without its country's prefix is a telephone number in one of these.
_REGIONS: Final = ("DE", "AT", "CH", "GB", "FR", "ES", "PL", "US", "IT", "NL", "SE")
_IBAN: Final = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{2,4}){3,8}\b")
_IBAN_LENGTHS: Final = range(15, 35)
_CARD: Final = re.compile(
    r"(?<![\w.\-])(?:4|5[1-5]|2[2-7]|3[47]|6)\d{1,3}(?:[ \-]?\d{3,6}){2,4}(?![\w\-])"
)
_CARD_DIGITS: Final = (15, 16)
_IDENTITY: Final = re.compile(
    r"(?<![\w.\-])(?=[\dA-Z])[A-Z]{0,6}\d[\dA-Z .\-/]{5,18}[\dA-Z](?![\w\-])"
)
_SEPARATORS: Final = re.compile(r"[ .\-/]")
_WORD_ENDS: Final = 6
# A module, and what its own check digits prove: certain alone, or with a word only.
_CHECKS: Final[tuple[tuple[re.Pattern[str], Any, bool], ...]] = (
    (re.compile(r"[A-Z]{6}\d\d[A-Z]\d\d[A-Z]\d{3}[A-Z]"), italian, True),
    (re.compile(r"756\d{10}"), swiss, True),
    (re.compile(r"[12]\d{14}"), french, True),
    (re.compile(r"\d{8}[A-Z]"), dni, True),
    (re.compile(r"[XYZ]\d{7}[A-Z]"), nie, True),
    (re.compile(r"\d{11}"), pesel, False),
    (re.compile(r"\d{11}"), german_tax, False),
    (re.compile(r"\d{11}"), belgian, False),
    (re.compile(r"\d{10}"), nhs, False),
    (re.compile(r"\d{9}"), dutch, False),
    (re.compile(r"\d{9}"), american, False),
)
_SWEDISH: Final = re.compile(r"(?<![\w\-])(?:19|20)?\d{6}[\-+]\d{4}(?![\w\-])")


def find(text: str) -> Iterator[Span]:
    """Yield what is found, which may overlap."""
    yield from _mail_and_handles(text)
    if not any(map(str.isdigit, text)):
        return
    yield from _bank(text)
    yield from _identity(text)
    yield from _phones(text)


def _says(word: re.Pattern[str], text: str, start: int) -> bool:
    """Whether a word of a kind stands just before a place."""
    return word.search(text[max(0, start - _BEFORE) : start]) is not None


# ── E-mail, handles ──────────────────────────────────────────────────────────
def _mail_and_handles(text: str) -> Iterator[Span]:
    if "@" not in text:
        return
    for address in proximity.addresses(text):
        if address.kind == "email":
            local = address.value.partition("@")[0].lower()
            if local in ("git", "noreply", "no-reply"):
                continue
            is_own = not proximity.is_role(address.kind, address.value)
            yield Span(address.start, address.end, Kind.EMAIL, is_own)
        elif address.kind == "handle" and not _is_code(text, address):
            yield Span(address.start, address.end, Kind.HANDLE, surely=False)


def _is_code(text: str, address: proximity.Address) -> bool:
    """Whether a handle is a decorator or a package of program code."""
    is_called = text[address.end : address.end + 1] in tuple("/(=")
    return is_called or "." in address.value


# ── Telephone ────────────────────────────────────────────────────────────────
def _phones(text: str) -> Iterator[Span]:
    for match in _PHONE.finditer(text):
        surely = _is_phone(match[0], says=_says(_PHONE_WORD, text, match.start()))
        if surely is not None:
            yield Span(*match.span(), Kind.PHONE, surely)


def _is_phone(text: str, *, says: bool) -> bool | None:
    """Return whether a number surely is a telephone number; None for no."""
    is_international = text.lstrip("(").startswith(("+", "00"))
    if is_international:
        number = text.replace("(0)", "")
        number = f"+{number.lstrip('(')[2:]}" if "+" not in number else number
        return True if says or _is_valid(number, None) else None
    shapes = (_DATE.match, _DECIMAL.search, _TIMES.fullmatch)
    if any(shape(text) for shape in shapes) or text.count("(") != text.count(")"):
        return None
    is_grouped = _GROUPS.search(text) is not None and text.startswith(("0", "("))
    if not says and not is_grouped and not _TRIPLES.fullmatch(text):
        return None
    if not any(_is_valid(text, region) for region in _REGIONS):
        return None
    return says


def _is_valid(number: str, region: str | None) -> bool:
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(number, region))
    except phonenumbers.NumberParseException:
        return False


# ── Bank, cards ──────────────────────────────────────────────────────────────
def _bank(text: str) -> Iterator[Span]:
    for match in _IBAN.finditer(text):
        words = match[0].split(" ")
        # The last words may belong to the sentence.
        for count in range(len(words), 0, -1):
            number = " ".join(words[:count])
            if len(number.replace(" ", "")) in _IBAN_LENGTHS and iban.is_valid(number):
                end = match.start() + len(number)
                yield Span(match.start(), end, Kind.NUMBER, surely=True)
                break
    for match in _CARD.finditer(text):
        digits = _SEPARATORS.sub("", match[0])
        if len(digits) in _CARD_DIGITS and luhn.is_valid(digits):
            surely = digits != match[0] or _says(_CARD_WORD, text, match.start())
            yield Span(*match.span(), Kind.NUMBER, surely)


# ── Identity ─────────────────────────────────────────────────────────────────
def _identity(text: str) -> Iterator[Span]:
    for match in _SWEDISH.finditer(text):
        if swedish.is_valid(match[0]):
            yield Span(*match.span(), Kind.NUMBER, surely=True)
    for match in _IDENTITY.finditer(text):
        yield from _checked(text, match.start(), match[0])


def _checked(text: str, start: int, run: str) -> Iterator[Span]:
    """Yield the longest beginning of a run of digits that a check proves."""
    says = _says(_IDENTITY_WORD, text, start)
    ends = [len(run), *(m.start() for m in re.finditer(r" ", run))][-_WORD_ENDS:]
    for end in sorted(ends, reverse=True):
        number = _SEPARATORS.sub("", run[:end])
        for pattern, module, is_certain in _CHECKS:
            if pattern.fullmatch(number) and module.is_valid(number):
                if is_certain or says:
                    yield Span(start, start + end, Kind.NUMBER, surely=True)
                return
    if says and not _DATE.match(run):
        yield Span(start, start + len(run), Kind.NUMBER, surely=False)
