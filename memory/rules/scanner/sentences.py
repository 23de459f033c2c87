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
_WORD = rf"(?:{_PART})+(?:['’-](?:{_PART})+)*"
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
_SPECIAL = re.compile(r"@|://|\d{4}|0x|\.ssh|\.aws|\.env|id_|/etc/|\.pem|\.netrc|\.kube")
_SHAPES = (
    ("@url", re.compile(r"https?://")),
    ("@mail", re.compile(r"[^@]{1,64}@")),
    ("@number", re.compile(r"\d{4}[ -]?\d{4}|[a-z]{2}\d{2}[ -]?[a-z\d]{4}|0x")),
    ("@path", re.compile(r"[\w.-]{0,64}[/.~]|id_")),
)


class Sentence(NamedTuple):
    """One sentence: where it is, its words and its concepts."""

    start: int
    end: int
    chars: str
    counts: tuple[int, ...]
    words: re.Pattern[str]


def split(text: str) -> Iterator[tuple[int, int]]:
    """Spans between sentence breaks; table cells and list items count as sentences."""
    start = 0
    for match in _BREAK.finditer(text):
        if match.start() > start:
            yield start, match.end()
        start = match.end()
    if start < len(text):
        yield start, len(text)


def encode(text: str) -> Iterator[Sentence]:
    """Sentences of a lower-cased, folded text as concept strings."""
    is_ascii = text.isascii()
    for start, end in split(text):
        part = text[start:end]
        pattern = _ASCII_WORDS if is_ascii else _PLAIN_WORDS
        if _SPECIAL.search(part):
            pattern = _RICH_WORDS
        if not is_ascii and _HAS_CJK.search(part):
            pattern = _CJK_WORDS
        words = pattern.findall(part)
        if words:
            yield Sentence(start, end, *_encode_words(words), pattern)


def _shape(word: str) -> str:
    """A word, or the marker of what it looks like: address, link, number, key file."""
    if word.isalpha():
        return word
    for marker, pattern in _SHAPES:
        if pattern.match(word):
            return marker
    return word.replace("’", "'")


def _encode_words(words: list[str]) -> tuple[str, tuple[int, ...]]:
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
    return "".join(chars), tuple(counts)


def _phrase(
    seconds: dict[str, tuple[tuple[tuple[str, ...], bool, str], ...]],
    words: list[str],
    index: int,
) -> tuple[str, int] | None:
    if index + 1 >= len(words):
        return None
    rows = seconds.get(words[index + 1].replace("’", "'"), ())
    for parts, is_open, char in (*rows, *seconds.get("", ())):
        size = len(parts)
        there = [word.replace("’", "'") for word in words[index : index + size]]
        if len(there) < size or there[:-1] != list(parts[:-1]):
            continue
        if there[-1] == parts[-1] or (is_open and there[-1].startswith(parts[-1])):
            return char, size
    return None


def locate(text: str, sentence: Sentence, first: int, last: int) -> tuple[int, int]:
    """The span of concepts first..last (inclusive) in the text."""
    before = sum(sentence.counts[:first])
    through = sum(sentence.counts[: last + 1])
    start = end = sentence.start
    part = text[sentence.start : sentence.end]
    for number, match in enumerate(sentence.words.finditer(part)):
        if number == before:
            start = sentence.start + match.start()
        if number == through - 1:
            end = sentence.start + match.end()
            break
    return start, max(start, end)
