"""Cut a view into sentences and write each one down as concepts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from memory.rules.scanner import lexicon

if TYPE_CHECKING:
    from collections.abc import Iterator

_BREAK = re.compile(
    r"[.!?;]{1,8}[\"'”»)\]*_]{0,3}(?=\s|$)|\n[ \t]{0,8}\n|\n(?=[ \t]{0,8}(?:[-*#|>+]|"
    r"\d{1,3}[.)]|[a-z]\)))|[。！？؟।|\0]|={4,}|-{4,}"
)
_PART = r"[^\W_\u3040-\u30ff\u3400-\u9fff]|[\u0900-\u0963\u0966-\u097f]"
_WORD = rf"(?:{_PART})+(?:['-](?:{_PART})+)*"
_RICH = (
    r"https?://[^\s<>\"'`)\]]{1,300}"
    r"|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}"
    r"|[a-z]{2}\d{2}(?:[ -]?[a-z\d]{4}){2,7}(?![a-z])|0x[0-9a-f]{40}"
    r"|\d{4}(?:[ -]?\d{4}){1,5}"
    r"|[~/.\w-]{0,64}(?:/\.ssh|/\.aws|\.env|id_rsa|id_ed25519|/etc/passwd|/etc/shadow|"
    r"\.pem|\.netrc|\.kube/config)(?:[/.\w-]{0,64})"
)
_PLAIN_WORDS = re.compile(_WORD.replace("\\u3040-\\u30ff\\u3400-\\u9fff", ""))
_ASCII_WORDS = re.compile(r"[a-z0-9]+(?:['-][a-z0-9]+)*")
_RICH_WORDS = re.compile(rf"{_RICH}|{_WORD}")
_CJK_WORDS = re.compile(
    rf"{_RICH}|{lexicon.LEXICON.cjk.pattern}|[\u3040-\u30ff\u3400-\u9fff]|{_WORD}"
)
_HAS_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_SPECIAL = re.compile(
    r"[@:/.i0-9](?:(?<=@)|(?<=:)//|\d{3}|(?<=0)x|ssh|aws|env|(?<=i)d_|etc/|pem|netrc|kube)"
)
_SHAPES = (
    ("@url", re.compile(r"https?://")),
    ("@mail", re.compile(r"[^@]{1,64}@")),
    ("@number", re.compile(r"\d{4}[ -]?\d{4}|[a-z]{2}\d{2}[ -]?[a-z\d]{4}|0x")),
    ("@path", re.compile(r"[\w.-]{0,64}[/.~]|id_")),
)


_SPECIAL_MASK = sum(
    lexicon.LEXICON.bits[one] for one in ("MAIL", "URL", "ACCTNO", "KEYFILE")
)


class Sentence(NamedTuple):
    """One sentence: where it is, its words and what they may mean."""

    start: int
    end: int
    words: list[str]
    mask: int
    pattern: re.Pattern[str]


class Encoded(NamedTuple):
    """A sentence as concepts, one character each, and words per concept."""

    chars: str
    counts: tuple[int, ...]


def split(text: str) -> Iterator[tuple[int, int]]:
    """Spans between sentence breaks; table cells and list items count as sentences."""
    start = 0
    for match in _BREAK.finditer(text):
        if match.start() > start:
            yield start, match.end()
        start = match.end()
    if start < len(text):
        yield start, len(text)


def vocabulary(text: str) -> tuple[set[str], int]:
    """The words of a stretch, and the concepts of tokens that are no words."""
    if text.isascii():
        words = set(_ASCII_WORDS.findall(text))
    elif _HAS_CJK.search(text):
        return set(_PLAIN_WORDS.findall(text)), -1
    else:
        words = set(_PLAIN_WORDS.findall(text))
    return words, _SPECIAL_MASK if _SPECIAL.search(text) else 0


def read(text: str) -> Iterator[Sentence]:
    """Sentences of a folded text with their words."""
    is_ascii = text.isascii()
    plain = _ASCII_WORDS if is_ascii else _PLAIN_WORDS
    is_special = _SPECIAL.search(text) is not None
    has_cjk = not is_ascii and _HAS_CJK.search(text) is not None
    for start, end in split(text):
        part = text[start:end]
        is_rich = is_special and _SPECIAL.search(part) is not None
        is_cjk = has_cjk and _HAS_CJK.search(part) is not None
        pattern = _CJK_WORDS if is_cjk else _RICH_WORDS if is_rich else plain
        words = pattern.findall(part)
        found = _SPECIAL_MASK if is_rich else 0
        found = -1 if is_cjk else found | lexicon.mask(set(words))
        yield Sentence(start, end, words, found, pattern)


def _shape(word: str) -> str:
    """A word, or the marker of what it looks like: address, link, number, key file."""
    if word.isalpha():
        return word
    for marker, pattern in _SHAPES:
        if pattern.match(word):
            return marker
    return word


def encode(words: list[str]) -> Encoded:
    """The words of a sentence as concepts, longest phrases first."""
    chars: list[str] = []
    counts: list[int] = []
    phrases = lexicon.LEXICON.phrases
    index, total = 0, len(words)
    while index < total:
        word = words[index]
        if not word.isalpha():
            word = _shape(word)
        seconds = phrases.get(word)
        row = _phrase(seconds, words, index) if seconds else None
        char, taken = row or (lexicon.concept_char(word), 1)
        chars.append(char)
        counts.append(taken)
        index += taken
    return Encoded("".join(chars), tuple(counts))


def _phrase(
    seconds: dict[str, tuple[tuple[tuple[str, ...], bool, str], ...]],
    words: list[str],
    index: int,
) -> tuple[str, int] | None:
    if index + 1 >= len(words):
        return None
    rows = seconds.get(words[index + 1], ())
    for parts, is_open, char in (*rows, *seconds.get("", ())):
        size = len(parts)
        there = words[index : index + size]
        if len(there) < size or there[:-1] != list(parts[:-1]):
            continue
        if there[-1] == parts[-1] or (is_open and there[-1].startswith(parts[-1])):
            return char, size
    return None


def locate(
    text: str, sentence: Sentence, encoded: Encoded, first: int, last: int
) -> tuple[int, int]:
    """The span of concepts first..last (inclusive) in the text."""
    before = sum(encoded.counts[:first])
    through = sum(encoded.counts[: last + 1])
    start = end = sentence.start
    part = text[sentence.start : sentence.end]
    for number, match in enumerate(sentence.pattern.finditer(part)):
        if number == before:
            start = sentence.start + match.start()
        if number == through - 1:
            end = sentence.start + match.end()
            break
    return start, max(start, end)
