"""Undo encodings that hide text, within bounds.

Each decoder looks at one view and returns further views whose spans still lead to
the original. Only readable results count; depth and total size are limited by the
caller's budget.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import urllib.parse
from typing import TYPE_CHECKING

import re2

from memory.scanner import bases, segment
from memory.scanner.views import apart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from memory.scanner.views import View

MAX_DEPTH = 3
MAX_GROWTH = 4
# However short or long the text is: a short one is often read in several ways, a long
# one costs enough by itself.
MIN_TOTAL, MAX_TOTAL = 16_000, 64_000
_MIN_ESCAPES, _MIN_MARKED, _MIN_PLAIN = 3, 4, 12
_MIN_LETTERS, _MIN_PRINTABLE, _MIN_READABLE = 0.6, 0.97, 0.3

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
# Every character that base64 uses becomes one mark, any other a blank.
_SIGNS64 = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-"
)
_BASE64_MARKS = bytes(0x41 if code in _SIGNS64 else 0x20 for code in range(256))
# As expressions: `bytes.find` compares equal bytes again and again.
_BASE64_RUN, _BASE64_LINE = re.compile(b"A" * 16), re.compile(b"A" * 40)
# Letters of Morse; its other dots and dashes are no ASCII, so they are put as `?`.
_MORSE_RUN = re2.compile(rb"(?:[.\-_?]{1,7}[ /|]{1,4}){4}")
_ALNUM_MARKS = bytes(0x41 if chr(code).isalnum() else 0x20 for code in range(128)) * 2
_BASE58_RUN = re.compile(b"A" * 22)
_SIGNS85 = b"!#$%&()*+-;<=>?@^_`{|}~"
_MARKS85 = bytes(
    0x41 if code in _SIGNS85 or (code < 0x80 and chr(code).isalnum()) else 0x20
    for code in range(256)
)
_SIGNS_APART = 8
_OPENING = "\"'`(:="
_WRAPPED = re.compile(
    r"(?:[A-Za-z0-9+/]{40,100}\r?\n){1,400}[A-Za-z0-9+/]{1,100}={0,2}"
)
_BASE32 = re.compile(r"[A-Z2-7]{24,}")
_ASCII85 = re.compile(r"<~[!-uz\s]{10,20000}~>")
# The first digit of a printable byte is 2..7; that excludes ordinary words.
_HEX = re.compile(
    r"[2-7][0-9a-fA-F][ ,:]{0,2}(?:(?:[2-7][0-9a-fA-F]|0[aAdD9])[ ,:]{0,2}){7,}"
)
_HEX_MARKED = re.compile(r"(?:(?:0x|\\x)[0-9a-fA-F]{2}[ ,:]{0,2}){4,}")
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_ENTITY = re.compile(r"(?:&(?:#[0-9]{2,7}|#[xX][0-9a-fA-F]{2,6}|[a-zA-Z]{2,8});)+")
_ONE_ESCAPE = re.compile(
    r"\\(?:u\{[0-9a-fA-F]{2,6}\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}"
    r"|[01][0-7]{2})"
)
_ESCAPE = re.compile(rf"(?:{_ONE_ESCAPE.pattern})+")
_BINARY = re.compile(r"(?:[01]{8}[ ,]{0,2}){6,}")
_DECIMAL = re.compile(r"(?:(?:3[2-9]|[4-9]\d|1[01]\d|12[0-6])[ ,;]{1,2}){8,}\d{2,3}")
_MORSE = re.compile(r"[.\-/ \u2022\u2013\u2014\u00b7_|]{24,}")
_MORSE_TABLE = dict(
    zip(
        ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... "
        "- ..- ...- .-- -..- -.-- --.. .---- ..--- ...-- ....- ..... -.... --... ---.. "
        "----. ----- .-.-.- --..-- ..--.. .--.-. "
        "-....- ..--.- ---... .----. -..-.".split(),
        "abcdefghijklmnopqrstuvwxyz1234567890.,?@-_:'/",
        strict=True,
    )
)
# Where none of these is, there are no numbers that stand for letters.
_NUMBER_RUN = re2.compile(
    rb"[2-7][0-9a-fA-F](?:[ ,:]{0,2}(?:[2-7][0-9a-fA-F]|0[aAdD9])){7}"
    rb"|(?:[01]{8}[ ,]{0,2}){6}|(?:\d{2,3}[ ,;]{1,2}){8}"
    rb"|(?:[01][0-7]{2}[ ,;]{1,2}(?:0o?)?){7}"
)
# What a code can decode to that is a code itself.
_NESTED_CODE = re.compile(
    r"[A-Za-z0-9+/_-]{16,}={0,2}|[0-9a-fA-Fx ,:;\\]{20,}|[.\-/ ]{24,}|<~[!-uz\s]{10,}~>"
    r"|(?:%[0-9a-fA-F]{2}|&#x?[0-9a-fA-F]{2,6};|\\u[0-9a-fA-F]{4}"
    r"|[A-Za-z0-9 _.~/-]){8,}"
)


def is_code(text: str) -> bool:
    """Whether a decoded text is nothing but a code again."""
    return _NESTED_CODE.fullmatch(text.strip()) is not None


def readable(text: str) -> bool:
    """Whether a text is printable and mostly letters and spaces."""
    if len(text) < 4:
        return False
    printable = sum(char.isprintable() or char in "\n\r\t" for char in text)
    letters = sum(char.isalpha() or char in " \n" for char in text)
    return (
        printable / len(text) >= _MIN_PRINTABLE and letters / len(text) >= _MIN_LETTERS
    )


def _runs(
    view: View,
    matches: Iterable[re.Match[str]],
    decode: Callable[[str], str],
    kind: str,
) -> Iterator[View]:
    """One view in which every run that decodes to something readable is replaced."""
    parts = [
        (decoded, *match.span())
        for match in matches
        if readable(decoded := decode(match.group())) or is_code(decoded)
    ]
    if parts:
        yield view.derive(apart(parts), kind=kind)


def _long_runs(text: str, marked: bytes) -> Iterator[re.Match[str]]:
    """The matches of `_BASE64`, without trying it at every letter."""
    run = _BASE64_RUN.search(marked)
    while run and (match := _BASE64.match(text, run.start())):
        yield match
        run = _BASE64_RUN.search(marked, match.end())


def _escapes_in_place(
    view: View, pattern: re.Pattern[str], decode: Callable[[str], str], kind: str
) -> Iterator[View]:
    """One view with escapes replaced in place, the text between them kept."""
    parts = [
        (decode(match.group()), *match.span()) for match in pattern.finditer(view.text)
    ]
    # Plain letters need no encoding: encoded ones are hidden on purpose.
    decoded = "".join(part[0] for part in parts)
    plain = sum(char.isascii() and char.isalpha() for char in decoded)
    if parts:
        kind = f"{kind}_letters" if plain >= _MIN_PLAIN else kind
        yield view.with_parts(parts, kind=kind)


def _utf8(values: bytes) -> str:
    if b"\0" in values[:4]:
        # PowerShell's encoded commands are UTF-16.
        is_utf16 = len(values) % 2 == 0 and values[1:2] == b"\0"
        return values.decode("utf-16-le", errors="ignore") if is_utf16 else ""
    try:
        return values.decode("utf-8")
    except UnicodeDecodeError:
        return ""


def _from_base64(run: str) -> str:
    if run.islower() or (run[1:].isalpha() and run[1:].islower()):
        return ""
    # Paths and names with hyphens are no code.
    if sum(map(run.count, "/-_+")) * _SIGNS_APART > len(run):
        return ""
    if _BASE32.fullmatch(run.rstrip("=")):
        return _from_base32(run)
    body = re.sub(r"\s", "", run).rstrip("=").replace("-", "+").replace("_", "/")
    if len(body) % 4 == 1:
        body = body[:-1]
    return _utf8(base64.b64decode(body + "=" * (-len(body) % 4)))


def _from_base32(run: str) -> str:
    body = run.rstrip("=")
    try:
        return _utf8(base64.b32decode(body + "=" * (-len(body) % 8)))
    except (binascii.Error, ValueError):
        return ""


def _from_ascii85(run: str) -> str:
    try:
        return _utf8(base64.a85decode(run, adobe=True))
    except ValueError:
        return ""


def _from_hex(run: str) -> str:
    digits = re.sub(r"0x|\\x|[^0-9a-fA-F]", "", run)
    return _utf8(bytes.fromhex(digits[: len(digits) // 2 * 2]))


def _from_binary(run: str) -> str:
    bits = re.sub(r"[^01]", "", run)
    return _utf8(bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits) - 7, 8)))


def _from_decimal(run: str) -> str:
    return "".join(chr(int(number)) for number in re.findall(r"\d+", run)[:4096])


def _from_morse(run: str) -> str:
    plain = re.sub("[\u2022\u00b7]", ".", re.sub("[\u2013\u2014_]", "-", run))
    words = re.split(r" {0,3}[/|] {0,3}| {3,}", plain.strip())
    table = _MORSE_TABLE
    return " ".join("".join(table.get(c, "\0") for c in word.split()) for word in words)


def _from_escapes(run: str) -> str:
    chars = []
    for escape in _ONE_ESCAPE.findall(run):
        is_octal = escape[1].isdigit()
        code = int(escape[1:], 8) if is_octal else int(escape[2:].strip("{}"), 16)
        is_char = code < 0x110000 and not 0xD800 <= code < 0xE000
        chars.append(chr(code) if is_char else "?")
    return "".join(chars)


def decode(view: View) -> Iterator[View]:
    """Every decoding of one view that yields something readable."""
    text = view.text
    # As long as the text, so that places are the same.
    plain = text.encode("ascii", "replace")
    marked = plain.translate(_BASE64_MARKS)
    yield from _runs(view, _long_runs(text, marked), _from_base64, "base64")
    if _BASE64_LINE.search(marked):
        yield from _runs(view, _WRAPPED.finditer(text), _from_base64, "base64")
    if _NUMBER_RUN.search(plain):
        yield from _runs(view, _HEX.finditer(text), _from_hex, "hex")
        yield from _runs(view, _BINARY.finditer(text), _from_binary, "binary")
        yield from _runs(view, _DECIMAL.finditer(text), _from_decimal, "decimal")
        yield from _runs(view, bases.OCTAL.finditer(text), bases.from_octal, "octal")
    yield from _prefixed_encodings(view)
    yield from _large_alphabets(view, plain)
    if _MORSE_RUN.search(plain):
        yield from _runs(view, _MORSE.finditer(text), _from_morse, "morse")


def _large_alphabets(view: View, plain: bytes) -> Iterator[View]:
    """Encodings in 58 or 85 signs; the text holds a run of them, without a blank."""
    text = view.text
    signs = plain.translate(_MARKS85)
    if not _BASE58_RUN.search(signs):
        return
    runs = _at_runs(bases.BASE85, text, signs, _BASE58_RUN)
    yield from _runs(view, runs, bases.from_base85, "base85")
    runs = _at_runs(bases.BASE58, text, plain.translate(_ALNUM_MARKS), _BASE58_RUN)
    yield from _runs(view, runs, bases.from_base58, "base58")


def _at_runs(
    pattern: re.Pattern[str], text: str, marked: bytes, long_run: re.Pattern[bytes]
) -> Iterator[re.Match[str]]:
    """The matches at the beginnings of runs of marks, without a look at the rest."""
    run = long_run.search(marked)
    while run:
        place = run.start()
        end = marked.find(b" ", place)
        end = end if end >= 0 else len(text)
        place += len(text[place:end]) - len(text[place:end].lstrip(_OPENING))
        if match := pattern.match(text, place):
            yield match
        run = long_run.search(marked, end)


def _prefixed_encodings(view: View) -> Iterator[View]:
    """Encodings that mark every character: percent, entities, escapes, 0x."""
    text = view.text
    if "<~" in text:
        yield from _runs(view, _ASCII85.finditer(text), _from_ascii85, "ascii85")
    if text.count("%") >= _MIN_ESCAPES:
        yield from _escapes_in_place(view, _PERCENT, urllib.parse.unquote, "url")
    if "&" in text:
        yield from _escapes_in_place(view, _ENTITY, html.unescape, "html")
    if text.count("\\") >= _MIN_ESCAPES:
        yield from _escapes_in_place(view, _ESCAPE, _from_escapes, "escape")
    if text.count("0x") + text.count("\\x") >= _MIN_MARKED:
        yield from _runs(view, _HEX_MARKED.finditer(text), _from_hex, "hex")


def is_prose(text: str) -> bool:
    """Whether a decoded text reads as sentences, not as data."""
    return len(text.split()) >= 3 and segment.readability(text) >= _MIN_READABLE
