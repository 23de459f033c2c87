"""BERT's WordPiece tokenizer in plain Python, read from a tokenizer.json.

It gives the ids that the package ``tokenizers`` gives, for any text, without the
fourteen packages that one brings along. Nothing of a text is kept between calls: a
cache of words would be one more place to erase a name from.
"""

from __future__ import annotations

import json
import re
import string
import unicodedata
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LIMIT = 256
KNOWN_CHARACTERS = 20_000

IDEOGRAPHS = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F)),
    *((0x2B740, 0x2B81F), (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)

# The model's tokenizer knows the character classes of Unicode 8. These marks, signs
# and controls are younger, or changed class since: to it they are plain letters.
LETTERS_TO_THE_MODEL = """
61D 7FD 890-891 898-89F 8CA-8E2 9FD-9FE A76 AFA-AFF B55 C04 C3C C77 C84 D00 D3B-D3C
D81 EBA 180F 1885-1886 1ABF-1ACE 1B7D-1B7E 1DF6-1DFB 2E43-2E4F 2E52-2E5D A82C A8C5
A8FF A9BD 10D24-10D27 10EAB-10EAD 10F46-10F50 10F55-10F59 10F82-10F89 11070
11073-11074 110C2 110CD 111CF 1123E 1133B 11438-1143F 11442-11444 11446 1144B-1144F
1145A-1145B 1145D-1145E 11660-1166C 116B9 1182F-11837 11839-1183B 1193B-1193C 1193E
11943-11946 119D4-119D7 119DA-119DB 119E0 119E2 11A01-11A0A 11A33-11A38 11A3B-11A47
11A51-11A56 11A59-11A5B 11A8A-11A96 11A98-11A9C 11A9E-11AA2 11C30-11C36 11C38-11C3D
11C3F 11C41-11C45 11C70-11C71 11C92-11CA7 11CAA-11CB0 11CB2-11CB3 11CB5-11CB6
11D31-11D36 11D3A 11D3C-11D3D 11D3F-11D45 11D47 11D90-11D91 11D95 11D97 11EF3-11EF4
11EF7-11EF8 11FFF 12FF1-12FF2 13430-13438 16E97-16E9A 16F4F 16FE2 16FE4 1CF00-1CF2D
1CF30-1CF46 1E000-1E006 1E008-1E018 1E01B-1E021 1E023-1E024 1E026-1E02A 1E130-1E136
1E2AE 1E2EC-1E2EF 1E944-1E94A 1E95E-1E95F
"""
OTHER_CLASSES = {0x1734: "Mn", 0x166D: "Po", 0x111C9: "Po"}


def classes() -> dict[int, str]:
    """Return the character classes that differ from those of Python."""
    codes = dict(OTHER_CLASSES)
    for item in LETTERS_TO_THE_MODEL.split():
        first, _, last = item.partition("-")
        codes |= dict.fromkeys(range(int(first, 16), int(last or first, 16) + 1), "Lo")
    return codes


CLASSES = classes()


class Characters(dict[int, str]):
    """What each character becomes, worked out when it is first met.

    Bounded, because a hostile text could bring every character there is.
    """

    def __init__(self, rule: Callable[[str], str]) -> None:
        super().__init__()
        self._rule = rule

    def __missing__(self, code: int) -> str:
        becomes = self._rule(chr(code))
        if len(self) < KNOWN_CHARACTERS:
            self[code] = becomes
        return becomes


def class_of(character: str) -> str:
    """Return the general category of a character, as the model's tokenizer sees it."""
    return CLASSES.get(ord(character)) or unicodedata.category(character)


def clean(character: str, *, controls: bool, ideographs: bool) -> str:
    """Drop control characters, level blanks, and set ideographs apart."""
    if controls:
        if character in "\t\n\r":
            return " "
        if character in "\0\ufffd" or class_of(character) in ("Cc", "Cf", "Co", "Cs"):
            return ""
        if character.isspace():
            return " "
    if ideographs and any(a <= ord(character) <= b for a, b in IDEOGRAPHS):
        return f" {character} "
    return character


def fold(character: str, *, accents: bool, lower: bool) -> str:
    """Drop an accent, lower the case, and set punctuation apart."""
    if accents and class_of(character) == "Mn":
        return ""
    if character in string.punctuation or class_of(character)[0] == "P":
        return f" {character} "
    # One character at a time: Python's final sigma depends on the neighbours.
    return character.lower() if lower else character


@dataclass(frozen=True)
class Frame:
    """The ids put before and after the ids of a text."""

    before: list[int]
    after: list[int]


class WordPiece:
    """Turns a text into at most ``limit`` ids, frame included.

    Raises KeyError, TypeError or ValueError for a file that is not a tokenizer; ask
    ``understands`` first.
    """

    def __init__(self, parts: dict[str, Any], *, limit: int = LIMIT) -> None:
        model, normalizer = parts["model"], parts["normalizer"]
        self._vocabulary: dict[str, int] = model["vocab"]
        self._unknown = [self._vocabulary[model["unk_token"]]]
        self._prefix: str = model["continuing_subword_prefix"]
        self._longest: int = model["max_input_chars_per_word"]
        self._frame = frame(parts["post_processor"])
        self._capacity = limit - len(self._frame.before) - len(self._frame.after)
        self._special = {t["content"]: [t["id"]] for t in parts["added_tokens"]}
        choice = "|".join(re.escape(token) for token in self._special)
        self._marks = re.compile(f"({choice})") if choice else re.compile("(?!)")
        self._normalize(normalizer)

    def _normalize(self, parts: dict[str, Any]) -> None:
        lower = bool(parts["lowercase"])
        accents = parts["strip_accents"]
        self._accents = lower if accents is None else bool(accents)
        self._clean = Characters(
            partial(
                clean,
                controls=bool(parts["clean_text"]),
                ideographs=bool(parts["handle_chinese_chars"]),
            )
        )
        self._fold = Characters(partial(fold, accents=self._accents, lower=lower))

    def encode(self, text: str) -> list[int]:
        """Return the ids; what does not fit is cut off at the end."""
        pieces = chain.from_iterable(map(self._part, self._marks.split(text)))
        inner = islice(chain.from_iterable(pieces), self._capacity)
        return [*self._frame.before, *inner, *self._frame.after]

    def _part(self, part: str) -> Iterator[list[int]]:
        if part in self._special:
            return iter([self._special[part]])
        return map(self._word, self._words(part))

    def _words(self, text: str) -> list[str]:
        cleaned = text.translate(self._clean)
        if self._accents:
            cleaned = unicodedata.normalize("NFD", cleaned)
        return cleaned.translate(self._fold).split()

    def _word(self, word: str) -> list[int]:
        """Take the longest known piece again and again; all or nothing."""
        token_id = self._vocabulary.get(word)
        if len(word) > self._longest:
            return self._unknown
        if token_id is not None:
            return [token_id]
        ids, start = [], 0
        while start < len(word):
            head = self._prefix if start else ""
            for end in range(len(word), start, -1):
                piece_id = self._vocabulary.get(head + word[start:end])
                if piece_id is not None:
                    break
            else:
                return self._unknown
            ids.append(piece_id)
            start = end
        return ids


def frame(processor: dict[str, Any]) -> Frame:
    """Read what the post-processor of a tokenizer.json puts around a text."""
    if processor["type"] == "BertProcessing":
        return Frame([processor["cls"][1]], [processor["sep"][1]])
    special = processor["special_tokens"]
    ids: list[list[int]] = [[], []]
    after = 0
    for item in processor["single"]:
        if "Sequence" in item:
            after = 1
        else:
            ids[after] += special[item["SpecialToken"]["id"]]["ids"]
    return Frame(*ids)


def understands(parts: dict[str, Any]) -> bool:
    """Whether a tokenizer.json is of the one kind that is spelt out here."""
    kinds = [
        (parts.get(part) or {}).get("type")
        for part in ("model", "normalizer", "pre_tokenizer", "post_processor")
    ]
    plain = all(
        token["special"]
        and not any(token[k] for k in ("single_word", "lstrip", "rstrip", "normalized"))
        for token in parts.get("added_tokens", [])
    )
    return plain and kinds in (
        ["WordPiece", "BertNormalizer", "BertPreTokenizer", "TemplateProcessing"],
        ["WordPiece", "BertNormalizer", "BertPreTokenizer", "BertProcessing"],
    )


def read(path: Path) -> dict[str, Any]:
    """Read a tokenizer.json. Raises OSError, TypeError or ValueError."""
    parts = json.loads(path.read_bytes())
    if not isinstance(parts, dict):
        raise TypeError("a tokenizer.json is an object")
    return parts
