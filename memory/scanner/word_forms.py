"""Which forms of the word lists a word may be, alone or as part of a phrase.

A phrase is looked for by its rarest word. Forms are compared folded; a trailing ``*``
stands for any ending, a leading one for the first parts of a compound, and ``..`` for a
gap of a few words.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from memory.scanner.folding import folded
from memory.scanner.word_lists import BITS, LANGUAGES, LISTS, UNSPACED, rarest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_GAP: Final = ".."
_LONGEST_WORD: Final = 64
KEY_CHARS: Final = 3
_TAIL_LETTERS, _SHORTEST_COMPOUND, _LONGEST_ENDING = 4, 10, 3


class Part(NamedTuple):
    """A word of a form. An open one has any ending; a loose one follows a gap."""

    text: str
    is_open: bool
    is_loose: bool = False


class Phrase(NamedTuple):
    """A form of several words; it is looked for by the one at ``key``."""

    parts: tuple[Part, ...]
    key: int
    language: str
    mask: int


class Form(NamedTuple):
    """A form as it is written, the place of its language, and its concept.

    One of several words has the word by which it is looked for.
    """

    text: str
    place: int
    concept: int
    key: str = ""


class Tables:
    """The forms of all lists, by a word of theirs."""

    def __init__(self) -> None:
        self._words: dict[str, list[Form]] = {}
        # By the letters that a word begins with.
        self._prefixes: dict[str, list[Form]] = {}
        # The last parts of compounds, by their first letters.
        self._tails: dict[str, list[Form]] = {}
        # Forms of unspaced languages by their first character, then by the first few.
        self.chars: dict[str, dict[str, list[Phrase]]] = {}

    def add(self, text: str, place: int, concept: int) -> None:
        language = LANGUAGES[place]
        if language in UNSPACED:
            phrase = Phrase(_unspaced_parts(text), 0, language, concept)
            key = phrase.parts[0].text[:KEY_CHARS]
            self.chars.setdefault(key[0], {}).setdefault(key, []).append(phrase)
            return
        if text.startswith("*"):
            form = Form(text[1:], place, concept)
            self._tails.setdefault(text[1 : 1 + _TAIL_LETTERS], []).append(form)
            return
        words = [word for word in text.split() if word != _GAP]
        word = text if len(words) == 1 else rarest(words)
        form = Form(text, place, concept, "" if word == text else word)
        table = self._prefixes if word.endswith("*") else self._words
        table.setdefault(word.rstrip("*"), []).append(form)

    def of(self, word: str) -> Iterator[Form]:
        """The forms that a word may be, or of which it may be the key.

        Of a word with an apostrophe also its parts: l'istruzione.
        """
        if len(word) > _LONGEST_WORD:
            return
        for part in (word, *word.split("'")) if "'" in word else (word,):
            yield from self._words.get(part, ())
            heads = [part[:length] for length in range(1, len(part) + 1)]
            for head in filter(self._prefixes.__contains__, heads):
                yield from self._prefixes[head]
        if len(word) >= _SHORTEST_COMPOUND:
            yield from self._last_parts(word)

    def _last_parts(self, word: str) -> Iterator[Form]:
        """What the last part of a compound may be: Systemanweisung, anweisung."""
        for start in range(2, len(word) - _TAIL_LETTERS):
            for form in self._tails.get(word[start : start + _TAIL_LETTERS], ()):
                ending = len(word) - start - len(form.text)
                if ending <= _LONGEST_ENDING and word.startswith(form.text, start):
                    yield form


def _phrase(form: Form) -> Phrase:
    parts: list[Part] = []
    is_loose, key = False, 0
    for word in form.text.split():
        if word == _GAP:
            is_loose = True
            continue
        if word == form.key:
            key = len(parts)
        parts.append(Part(word.rstrip("*"), word.endswith("*"), is_loose))
        is_loose = False
    return Phrase(tuple(parts), key, LANGUAGES[form.place], form.concept)


def _unspaced_parts(text: str) -> tuple[Part, ...]:
    pieces = [piece.strip(" *") for piece in text.split(_GAP)]
    return tuple(
        Part(piece, is_open=True, is_loose=number > 0)
        for number, piece in enumerate(pieces)
        if piece
    )


@cache
def tables() -> Tables:
    """The tables; made when the first text is scanned."""
    tables = Tables()
    for place, lists in enumerate(LISTS.values()):
        for name, forms in lists.items():
            for form in map(folded, forms):
                tables.add(form, place, BITS[name])
    return tables


class Word(NamedTuple):
    """What is known of a word: its meanings, and the phrases of which it is the key.

    Those of which the word before or behind the key is certain are found by that.
    """

    before: dict[str, list[Phrase]]
    behind: dict[str, list[Phrase]]
    phrases: list[Phrase]
    # Language → what the word stands for there.
    meanings: dict[str, int]

    def add(self, phrase: Phrase) -> None:
        parts, key = phrase.parts, phrase.key
        if key and not parts[key].is_loose and not parts[key - 1].is_open:
            self.before.setdefault(parts[key - 1].text, []).append(phrase)
        elif key + 1 < len(parts) and not any(parts[key + 1][1:]):
            self.behind.setdefault(parts[key + 1].text, []).append(phrase)
        else:
            self.phrases.append(phrase)

    def phrases_around(self, tokens: Sequence[str], at: int) -> Sequence[Phrase]:
        """The phrases that may stand around the word."""
        phrases = self.phrases
        if self.before and at and (by_word := self.before.get(tokens[at - 1])):
            phrases = [*by_word, *phrases]
        if self.behind and at + 1 < len(tokens):
            phrases = [*self.behind.get(tokens[at + 1], ()), *phrases]
        return phrases


NOTHING = Word({}, {}, [], {})
_MOST_WORDS: Final = 1 << 16
# The hash of a word → what is known of it. A word cannot be read back from its hash, so
# that names of one text are not kept for the next.
_memory: list[dict[int, Word]] = [{}]


def words(tokens: Sequence[str]) -> list[Word]:
    """What is known of each token; of a distinct one it is found out only once."""
    memory = _memory[0]
    if len(memory) > _MOST_WORDS:
        memory = _memory[0] = {}
    hashes = list(map(hash, tokens))
    for number, token in zip(hashes, tokens, strict=True):
        if number not in memory:
            memory[number] = _word(token)
    return list(map(memory.__getitem__, hashes))


def entry(token: str) -> Word:
    """What is known of one token."""
    return _memory[0].get(hash(token)) or words([token])[0]


def _word(token: str) -> Word:
    masks: dict[int, int] = {}
    word = Word({}, {}, [], {})
    for form in tables().of(token):
        if form.key:
            word.add(_phrase(form))
        else:
            masks[form.place] = masks.get(form.place, 0) | form.concept
    for place in sorted(masks):
        word.meanings[LANGUAGES[place]] = masks[place]
    return word if any(word) else NOTHING
