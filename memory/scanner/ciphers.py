"""Simple ciphers: shifted alphabets, reversed text, leetspeak, letters pulled apart.

Each is recognised by words it produces, so ordinary text costs one look-up a word.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING

from memory.scanner import rearranged, respelled, segment, split
from memory.scanner.views import apart, as_whole, beyond_ascii

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from memory.scanner.views import Piece, View

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MARKERS = (
    "the and you your all any for with this that from previous instructions ignore "
    "forget disregard password system prompt reveal send tell print user always never "
    "rules message secret assistant please every remember email forward files above "
    "before instead reply write show not into must are have will what give now new "
    "list "
    "everything anything rule directive guidelines bank account invoice customer admin "
    "user users answer text word words secrets key delete run other only without about "
    "when whenever each been was has our they who how can their first repeat "
    # The same in Spanish, Italian, French, Portuguese and German.
    "ignora olvida todas todos instrucciones anteriores muestra clave para usuario "
    "dimentica istruzioni precedenti tutte questo ogni senza utente deve della "
    "oublie toutes les votre sans vous cette utilisateur "
    "esqueca regras instrucoes sem voce senha "
    "vergiss alles alle nicht keine regeln anweisungen bisherigen vorherigen sind ist "
    "haben hast sie die der und eine ignoriere jetzt passwort benutzer antworte".split()
)
_WORD = re.compile(r"[a-z]{1,255}")
_MIN_MARKERS, _MIN_SHARE = 2, 0.12
_LEET = str.maketrans("013457$@!|+89", "oleastsaiitbg")
_LEET_WORD = re.compile(r"(?<![\w$@!|+])[a-z0-9$@!|+]{3,24}(?![\w$@])")
_LEET_SIGN = re.compile(r"[013457$@!|+]")
_MIN_LEET, _LONGEST, _FEW_LEET = 2, 24, 60
_LETTER = re.compile("[a-z]")
_LEET_INSIDE = re.compile(r"[013457@$!|](?<=[a-z].)[a-z]")
_EDGES = ".,:;()[]{}<>'\"`?*"
_PULLED_APART = re.compile(
    r"(?<![^\W_])[^\W\d_](?:[\W_]{1,4}[^\W\d_]){3,800}(?![^\W_])"
)
# Signs between words, and how many: dots are common in the names of modules.
_SIGNS = {"_": 3, "+": 3, ".": 5}
_SNAKE = {
    sign: re.compile(rf"[a-z]{{1,20}}(?:\{sign}[a-z]{{1,20}}){{{minimum},40}}")
    for sign, minimum in _SIGNS.items()
}
_LETTERS_ONLY = bytes(code if chr(code) in _LETTERS else 0x20 for code in range(256))
_ONE_LETTER = bytes(0x20 if code == 0x20 else 0x61 for code in range(256))
# Whole sentences are joined by this sign only, with their stops and numbers.
_SNAKE["_"] = re.compile(r"[^\s_]{1,20}(?:_[^\s_]{1,20}){3,80}")
_SNAKE_INSIDE = {
    sign: re.compile(
        rf"\{sign}(?<=[a-z]\{sign})[a-z]{{1,20}}\{sign}[a-z]{{1,20}}\{sign}[a-z]"
    )
    for sign in _SIGNS
}
_GLUED = re.compile(r"(?<![\w/.+=-])[a-z]{18,400}(?![\w/+=-])")
_LONE_LETTERS = b"\x01\x01\x01\x01"
_MIN_GLUED, _MIN_LETTERS, _MIN_COVERAGE, _LONGEST_PART = 18, 4, 0.75, 20
_MIN_GLUED_SHARE, _FEW_SIGNS = 0.8, 2
# Up to this length reversed text is also read with its words in the old order.
_MAX_REVERSED = 8000
_LARGEST, _USUAL_WORD = 255, 3
# Views whose words are in order and whole: that is not undone twice.
_AS_WRITTEN = frozenset({split.KIND, respelled.KIND})
_GLUED_RUN = b"a" * _MIN_GLUED


# Reversed markers that are words themselves.
_REAL_WORDS = frozenset({"saw", "won", "ton", "era", "tap", "raw"})


def _shift(word: str, shift: int) -> str:
    return word.translate(_shift_table(shift))


@lru_cache(maxsize=32)
def _shift_table(shift: int) -> dict[int, int]:
    substitutes = _LETTERS[::-1] if not shift else _LETTERS[shift:] + _LETTERS[:shift]
    return str.maketrans(_LETTERS + _LETTERS.upper(), substitutes + substitutes.upper())


def _is_long(word: str) -> bool:
    return len(word) >= _MIN_LETTERS


def _marker_table() -> dict[str, str]:
    """Enciphered marker word → the cipher; words that are real words are left out."""
    table: dict[str, str] = {}
    for word in _MARKERS:
        table.setdefault(word[::-1], "reversed")
        for shift in range(26):
            table.setdefault(_shift(word, shift), f"shift{-shift % 26}")
    for word in filter(_is_long, _MARKERS):
        for shift in range(26):
            table.setdefault(_shift(word, shift)[::-1], f"backward{-shift % 26}")
    honest = segment.KNOWN_WORDS | _REAL_WORDS
    return {key: cipher for key, cipher in table.items() if key not in honest}


_TABLE = _marker_table()
_TABLE_WORDS = frozenset(_TABLE)


def undo(view: View) -> Iterator[View]:
    """Views with ciphers undone."""
    letters = view.text.encode("ascii", "replace").translate(_LETTERS_ONLY).decode()
    words = letters.split()
    distinct = set(words)
    lengths = [*map(len, words)]
    longest = max(lengths, default=0)
    # The length of each word, cut off at what a byte can hold.
    short_lengths = (
        map(min, lengths, repeat(_LARGEST)) if longest > _LARGEST else lengths
    )
    sizes = bytes(short_lengths)
    enciphered = _TABLE_WORDS.intersection(distinct)
    if len(enciphered) >= _MIN_MARKERS:
        yield from _substitution(view, enciphered)
    yield from _leet(view)
    if _LONE_LETTERS in sizes or any(map(str.isalpha, set(beyond_ascii(view.text)))):
        yield from _pulled_apart_words(view)
    for sign, inside in _SNAKE_INSIDE.items():
        if view.text.count(sign) > _FEW_SIGNS and inside.search(view.text):
            yield from _snake(view, sign)
    if longest >= _MIN_GLUED:
        yield from _glued(view, letters)
    if view.kind in _AS_WRITTEN:
        return
    yield from split.undo(view)
    yield from rearranged.undo(view)
    yield from respelled.undo(view, words, distinct)


def _substitution(view: View, words: Collection[str]) -> Iterator[View]:
    counts = Counter(_TABLE[word] for word in words)
    for cipher, count in counts.most_common(2):
        if count < _MIN_MARKERS:
            continue
        parts: list[Piece] = []
        markers = {word for word in words if _TABLE[word] == cipher}
        for start, end in _enciphered(view.text, cipher, markers):
            source = view.text[start:end]
            if cipher[:5] == "shift":
                parts.append((_shift(source, int(cipher[5:])), start, end))
                continue
            if cipher[:8] == "backward":
                source = _shift(source, int(cipher[8:]))
            parts.append(as_whole(source[::-1], start, end))
            if end - start <= _MAX_REVERSED:
                flipped = " ".join(word[::-1] for word in source.split())
                parts.append(as_whole(flipped, start, end))
        kind = {"shift13": "rot13", "reversed": "reversed"}.get(cipher, "cipher")
        if parts:
            yield view.derive(apart(parts), kind=kind)


def _enciphered(text: str, cipher: str, markers: set[str]) -> Iterator[tuple[int, int]]:
    """Paragraphs in which this cipher explains enough words."""
    start = 0
    for part in re.split(r"(\n+)", text):
        if any(word in part for word in markers):
            words = _WORD.findall(part)
            hits = sum(_TABLE.get(word) == cipher for word in words)
            if hits >= _MIN_MARKERS and hits >= _MIN_SHARE * len(words):
                yield start, start + len(part)
        start += len(part)


@lru_cache(maxsize=8192)
def unleet(word: str) -> str:
    """The known word written with digits and signs, or an empty string."""
    if len(word) > _LONGEST or word.isalpha() or not _LETTER.search(word):
        return ""
    bare = word.rstrip("!|+") or word
    for letter in ("l", "i"):
        for source in (word, bare):
            plain = source.replace("1", letter).translate(_LEET)
            for candidate in (plain, plain.replace("ph", "f")):
                if (
                    candidate != word
                    and candidate.isalpha()
                    and segment.is_known(candidate)
                ):
                    return candidate
    return ""


def _leet(view: View) -> Iterator[View]:
    if not _LEET_INSIDE.search(view.text):
        return
    candidates = {
        word.strip(_EDGES) for word in set(view.text.split()) if not word.isalpha()
    }
    leet_words = {
        word for word in candidates if _LEET_SIGN.search(word) and unleet(word)
    }
    if len(leet_words) < _MIN_LEET:
        return
    pattern = _LEET_WORD
    if len(leet_words) <= _FEW_LEET:
        words = "|".join(map(re.escape, sorted(leet_words, key=len, reverse=True)))
        pattern = re.compile(rf"(?<![\w$@!|+])(?:{words})(?![\w$@])")
    parts = [
        (plain, *match.span())
        for match in pattern.finditer(view.text)
        if (plain := unleet(match.group()))
    ]
    if parts:
        yield view.with_parts(parts, kind="leetspeak")


def _pulled_apart_words(view: View) -> Iterator[View]:
    parts = [
        (plain, *match.span())
        for match in _PULLED_APART.finditer(view.text)
        if (plain := _join_letters(match.group()))
    ]
    if parts:
        yield view.with_parts(parts, kind="spaced")


def _join_letters(run: str) -> str:
    """Words from pulled-apart letters; gaps wider than usual separate words."""
    gaps = re.findall(r"[\W_]+", run)
    narrow = min(map(len, gaps))
    wide = re.split(rf"[\W_]{{{narrow + 1},}}", run)
    letters = [re.sub(r"[\W_]", "", part) for part in wide]
    words = tuple(word for part in letters if part for word in segment.segment(part))
    if segment.coverage(words) < _MIN_COVERAGE or len("".join(letters)) < _MIN_LETTERS:
        return ""
    return " ".join(words)


def _snake(view: View, sign: str) -> Iterator[View]:
    parts = [
        (match.group().replace(sign, " "), *match.span())
        for match in _snake_matches(view.text, sign)
        if match.group().count(sign) * _USUAL_WORD <= len(match.group())
    ]
    if parts:
        yield view.derive(apart(parts), kind="glued")


def _snake_matches(text: str, sign: str) -> Iterator[re.Match[str]]:
    """The matches of `_SNAKE`, searched for only near joined words."""
    end = 0
    while inside := _SNAKE_INSIDE[sign].search(text, end):
        match = _SNAKE[sign].search(text, max(end, inside.start() - _LONGEST_PART))
        if not match:
            return
        yield match
        end = match.end()


def _glued(view: View, letters: str) -> Iterator[View]:
    parts: list[Piece] = []
    for start in _long_words(letters):
        match = _GLUED.match(view.text, start)
        words = segment.segment(match.group()) if match else ()
        if match and len(words) >= 4 and segment.coverage(words) >= _MIN_GLUED_SHARE:
            parts.append((" ".join(words), *match.span()))
    if parts:
        yield view.derive(apart(parts), kind="glued")


def _long_words(letters: str) -> Iterator[int]:
    """Where a word starts that is long enough to be several words."""
    marks = letters.encode().translate(_ONE_LETTER)
    place = marks.find(_GLUED_RUN)
    while place >= 0:
        yield place
        blank = marks.find(b" ", place)
        place = marks.find(_GLUED_RUN, blank) if blank > 0 else -1
