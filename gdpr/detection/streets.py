"""Postal addresses as five languages write them: a street's word and a number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gdpr.detection.spans import Kind, Span

_UPPER: Final = "A-ZÀ-ÖØ-ÞĄĆĘŁŃÓŚŹŻŠČŘŽ"
_TITLED: Final = rf"[{_UPPER}][^\W\d_]{{0,40}}(?:[-’'][^\W\d_]{{1,40}}){{0,2}}"
_SMALL: Final = r"(?:de|du|des|la|le|les|del|los|las|l['’]|d['’]|von|van|der|den|am)"
_NEXT: Final = rf"(?:[ ](?:{_SMALL}[ ]?){{0,2}}{_TITLED}){{0,3}}"
_NAME: Final = rf"(?:{_SMALL}[ ]?){{0,3}}{_TITLED}{_NEXT}"
_NUMBER: Final = r"\d{1,4}(?:[ ]?[a-zA-Z])?(?![\w.]\w)(?:[-/]\d{1,4})?\b"
# A postcode and a town behind it belong to it, or the town alone.
_POSTCODE: Final = r"(?:,?[ ][A-Z]{2}[ ]\d{5}|[ ][A-Z]{1,2}\d[\dA-Z]?[ ]?\d[A-Z]{2})?"
_TOWN: Final = (
    rf"(?:,?[ ]?\n?(?:\d{{2}}-\d{{3}}|\d{{4,5}})[ ]{_NAME}|,[ ]{_NAME}{_POSTCODE})?"
)
_ROADS: Final = (
    r"(?:Street|St\.?|Road|Rd\.?|Lane|Avenue|Ave\.?|Drive|Close|Court|Square|Terrace"
    r"|Crescent|Boulevard|Blvd\.?)\b"
)
_STRASSEN: Final = r"(?:stra(?:ß|ss)e|str\.|weg|platz|allee|gasse|ring|damm|ufer|markt)"
_RUES: Final = (
    r"(?:rue|avenue|av\.|boulevard|bd|place|chemin|impasse|allée|quai|route|cours"
    r"|square)"
)
_CALLES: Final = r"(?:Calle|C/|Avenida|Avda\.|Plaza|Paseo|Camino|Ronda|Travesía)"
_STREETS: Final = (
    rf"\d{{1,4}}[a-zA-Z]?[ ](?:{_TITLED}[ ]){{1,3}}{_ROADS}",
    rf"\b{_TITLED}{_STRASSEN}[ ]{_NUMBER}",
    rf"\b(?:Am|An der|Auf dem|Im|Zum|Zur)[ ]{_TITLED}[ ]{_NUMBER}",
    rf"\b\d{{1,4}}(?:[ ](?:bis|ter))?,?[ ]{_RUES}[ ]{_NAME}",
    rf"\b{_CALLES}[ ]{_NAME},?[ ](?:n\.?º?[ ]?)?{_NUMBER}",
    rf"\b(?:ul|al|pl|os)\.[ ]{_NAME}[ ]{_NUMBER}",
)
_ADDRESS: Final = re.compile(f"(?:{'|'.join(_STREETS)}){_TOWN}")
# A street in another case of its language: the word alone says enough.
_PREFIX: Final = re.compile(r"(?:\b(?:ul|al|pl|os)\.[ ]?)$")


def find(text: str) -> Iterator[Span]:
    """Yield addresses that are written as they are in a letter."""
    for match in _ADDRESS.finditer(text):
        yield Span(*match.span(), Kind.ADDRESS, surely=True)


def with_prefix(text: str, start: int) -> int:
    """Return where an address begins, with the short word for street before it."""
    match = _PREFIX.search(text[max(0, start - 5) : start])
    return start - len(match[0]) if match else start
