"""Cut a view into sentences and write each one down as concepts."""

from __future__ import annotations

import re
from typing import NamedTuple

from memory.scanner import lexicon
from memory.scanner.char_ranges import CJK, INDIC
from memory.scanner.views import beyond_ascii

# One character first, then its context: that keeps the search for breaks fast.
_BREAK = re.compile(
    r"[.!?;\n\u3002\uff01\uff1f\u061f\u0964|\0=-](?:"
    r"(?<=[.!?;])[.!?;]{0,7}[\"'\u201d\u2019\u00bb)\]*_]{0,3}(?=\s|$)"
    r"|(?<=\n)(?:[ \t]{0,8}\n|(?=[ \t]{0,8}(?:[-*#|>+]|\d{1,3}[.)]|[a-z]\))))"
    r"|(?<=[\u3002\uff01\uff1f\u061f\u0964|\0])|(?<==)={3,}|(?<=-)-{3,})"
)
_PART = rf"[^\W_{CJK}]|{INDIC}"
_WORD = rf"(?:{_PART})+(?:['-](?:{_PART})+)*"
LINK_FORM = r"https?://[^\s<>\"'`)\]]{1,300}"
MAIL_FORM = r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}"
_RICH = (
    rf"{LINK_FORM}|{MAIL_FORM}"
    r"|[a-z]{2}\d{2}(?:[ -]?[a-z\d]{4}){2,7}(?![a-z])|0x[0-9a-f]{40}"
    # A number of a telephone is none of an account.
    r"|\+\d[\d ()-]{5,20}|\d{4}(?:[ -]?\d{4}){1,5}"
    r"|[~/.\w-]{0,40}(?:/\.ssh|/\.aws|\.env|id_rsa|id_ed25519|/etc/passwd|/etc/shadow|"
    r"\.pem|\.netrc|\.kube/config)(?:[/.\w-]{0,64})"
)
_PLAIN_WORDS = re.compile(_WORD.replace(CJK, ""))
_RICH_WORDS = re.compile(rf"{_RICH}|{_WORD}")
_CJK_WORDS = re.compile(rf"{_RICH}|{lexicon.LEXICON.cjk.pattern}|[{CJK}]|{_WORD}")
_HAS_CJK = re.compile(f"[{CJK}]")
_SPECIAL = re.compile(
    r"[@:/.i0-9](?:(?<=@)|(?<=:)//|\d{3}|(?<=0)x|ssh|aws|env|(?<=i)d_|etc/|pem|netrc|kube)"
)
_SHAPES = (
    ("@url", re.compile(r"https?://")),
    ("@mail", re.compile(r"[^@]{1,64}@")),
    ("@number", re.compile(r"\d{4}[ -]?\d{4}|[a-z]{2}\d{2}[ -]?[a-z\d]{4}|0x")),
    ("@path", re.compile(r"[\w.-]{0,64}[/.~]|id_")),
)


# Signs in the stream of tokens; ordinary text does not contain them.
END, LINK, FILE, AT = "\0", "\1", "\2", "@"
SIGNS = frozenset({END, LINK, FILE, AT})
_FILES = re.compile(r"\.(?:ssh|aws|env|netrc|kube|pem)\b")
_WORD_CODES = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789'-@\0\1\2")
_ASCII_TABLE = bytes(code if code in _WORD_CODES else 0x20 for code in range(256))
_LOOSE = (b"--", b"-'", b"'-", b"''", b" -", b" '", b"- ", b"' ")
_SIGNS_OR_WORDS = re.compile(rf"{_PLAIN_WORDS.pattern}|[{END}{LINK}{FILE}{AT}]")


class Encoded(NamedTuple):
    """A sentence as concepts, one character each, and words per concept."""

    chars: str
    counts: tuple[int, ...]
    pattern: re.Pattern[str]


def has_cjk(text: str) -> bool:
    """Whether the text uses a script without spaces between words."""
    return _HAS_CJK.search(beyond_ascii(text)) is not None


def tokens(text: str) -> list[str]:
    """Words and signs in order; no positions, so it is cheap."""
    signed = _FILES.sub(f" {FILE} ", _BREAK.sub(f" {END} ", text))
    signed = signed.replace("://", f" {LINK} ").replace("@", f" {AT} ")
    beyond = set(beyond_ascii(signed))
    if any(map(str.isalnum, beyond)):
        return _SIGNS_OR_WORDS.findall(signed)
    marked = f" {signed} ".encode("ascii", "replace").translate(_ASCII_TABLE)
    # Hyphens and apostrophes belong to a word only inside it.
    for loose in _LOOSE:
        marked = marked.replace(loose, b"  ")
    return marked.decode().split()


def bounds(text: str) -> list[tuple[int, int]]:
    """The span of each sentence, its closing break included."""
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _BREAK.finditer(text):
        spans.append((start, match.end()))
        start = match.end()
    spans.append((start, len(text)))
    return spans


def _shape(word: str) -> str:
    """A word, or the marker of what it looks like: address, link, number, key file."""
    if word.isalpha():
        return word
    for marker, pattern in _SHAPES:
        if pattern.match(word):
            return marker
    return word


def encode(part: str) -> Encoded:
    """A sentence as concepts, longest phrases first."""
    pattern = _PLAIN_WORDS
    if has_cjk(part):
        pattern = _CJK_WORDS
    elif _SPECIAL.search(part):
        pattern = _RICH_WORDS
    words = [_shape(word) for word in pattern.findall(part)]
    chars: list[str] = []
    counts: list[int] = []
    phrases = lexicon.LEXICON.phrases
    index, total = 0, len(words)
    while index < total:
        word = words[index]
        seconds = phrases.get(word)
        row = _phrase(seconds, words, index) if seconds else None
        char, size = row or (lexicon.concept_char(word), 1)
        chars.append(char)
        counts.append(size)
        index += size
    return Encoded("".join(chars), tuple(counts), pattern)


def _phrase(
    seconds: dict[str, lexicon.Rows],
    words: list[str],
    index: int,
) -> tuple[str, int] | None:
    if index + 1 >= len(words):
        return None
    rows = seconds.get(words[index + 1], ())
    for parts, is_open, char in (*rows, *seconds.get("", ())):
        size = len(parts)
        candidate = words[index : index + size]
        if len(candidate) < size or candidate[:-1] != list(parts[:-1]):
            continue
        if candidate[-1] == parts[-1] or (
            is_open and candidate[-1].startswith(parts[-1])
        ):
            return char, size
    return None


def places(part: str, encoded: Encoded) -> list[tuple[int, int]]:
    """The span in the sentence of each concept."""
    words = [match.span() for match in encoded.pattern.finditer(part)]
    spans: list[tuple[int, int]] = []
    first = 0
    for count in encoded.counts:
        spans.append((words[first][0], words[first + count - 1][1]))
        first += count
    return spans
