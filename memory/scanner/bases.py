"""Encodings in a larger alphabet than base64, and octal numbers.

A run is decoded only when its form allows it; each decoder is linear.
"""

from __future__ import annotations

import base64
import re
from typing import Final

# In text of ASCII characters every fifth sign of base85 is one of these thirty.
BASE85: Final = re.compile(
    r"(?:[A-Za-e][!#-&(-+\-0-9;-Z^-z{|}~]{4}){5,4000}"
    r"(?:[A-Za-e][!#-&(-+\-0-9;-Z^-z{|}~]{0,3})?(?![^\s\"'`).,])"
)
BASE58: Final = re.compile(r"(?<![^\W_])[1-9A-HJ-NP-Za-km-z]{22,2000}(?![^\W_])")
OCTAL: Final = re.compile(r"(?:[01][0-7]{2}[ ,;]{1,2}(?:0o?)?){7,4000}[01][0-7]{2}")
_ALPHABET58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_VALUES58: Final = {char: number for number, char in enumerate(_ALPHABET58)}
_IS_MIXED: Final = re.compile(r"(?=.{0,30}[0-9])(?=.{0,30}[A-Z]).{0,30}[a-z]")


def _ascii(values: bytes) -> str:
    return values.decode("ascii") if values.isascii() else ""


def from_base85(run: str) -> str:
    """The text in a run of base85; empty when it holds none."""
    for body in (run, run.rstrip("`)")):
        try:
            decoded = _ascii(base64.b85decode(body))
        except ValueError:
            continue
        if decoded:
            return decoded
    return ""


def from_base58(run: str) -> str:
    """The text in a run of base58, which is one large number."""
    if not _IS_MIXED.match(run):
        return ""
    number = 0
    for char in run:
        number = number * 58 + _VALUES58[char]
    return _ascii(number.to_bytes((number.bit_length() + 7) // 8, "big"))


def from_octal(run: str) -> str:
    """The text in a row of octal numbers."""
    return "".join(chr(int(digits, 8)) for digits in re.findall("[01][0-7]{2}", run))
