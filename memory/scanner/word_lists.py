"""The word lists of each language, and sets of concepts as bits of a number.

Every list in languages/ says for each concept with which words its language puts it,
and where the verb of an order stands.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from memory.scanner.folding import folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FOLDER: Final = Path(__file__).parent / "languages"
ENGLISH: Final = "en"
# Languages without blanks between words, and how many characters make about one word.
UNSPACED: Final = {"zh": 2, "ja": 3, "th": 5}
# Concepts of no list: they are read from the shape of a word.
SHAPES: Final = ("link", "mail", "number", "record")


def _read(path: Path) -> dict[str, list[str]]:
    """Concept → forms; and where the verb of an order stands: first, last or any."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = (line.partition(": ") for line in lines if not line.startswith("#"))
    return {name: forms.split(", ") for name, _, forms in rows}


_FILES = sorted(path.stem for path in FOLDER.glob("*.txt"))
# English first: most words have no more than its concepts, and their masks are short.
LISTS = {
    name: _read(FOLDER / f"{name}.txt")
    for name in sorted(_FILES, key=lambda name: name != ENGLISH)
}
# The commonest English words, enough to see that a run of letters is a sentence.
COMMON: Final = frozenset(
    Path(__file__).with_name("common_words.txt").read_text(encoding="utf-8").split()
)
# The words that English texts have most of, the most frequent first.
_FREQUENT = (
    "the to a of and in is for with that this it you on be as are from by or an can not"
    " your when will if i we all at do was have no so one use any only what which has"
    " more they but my name there set time up now see run user"
)
_RANKS: Final = {word: rank for rank, word in enumerate(_FREQUENT.split())}
VERB_PLACES: Final = {name: lists.pop("verb")[0] for name, lists in LISTS.items()}
LANGUAGES: Final = tuple(LISTS)
PLACES: Final = {name: place for place, name in enumerate(LANGUAGES)}
NAMES: Final = (*SHAPES, *sorted({name for row in LISTS.values() for name in row}))
BITS: Final = {name: 1 << number for number, name in enumerate(NAMES)}
# A mask has a mark for each language that a word tells, then the shapes, and then the
# concepts of each language.
_MARKED: Final = len(LANGUAGES)
_FIRST: Final = _MARKED + len(SHAPES)
_ANY_SHAPE: Final = (1 << len(SHAPES)) - 1
ALL_MARKS: Final = (1 << _MARKED) - 1
_WIDTH: Final = len(NAMES)
_OF_ONE: Final = (1 << _WIDTH) - 1


def by_language(mask: int) -> Iterator[tuple[str, int]]:
    """Each language that a mask has a mark of, with its concepts and the shapes."""
    marks, shapes = mask & ALL_MARKS, mask >> _MARKED & _ANY_SHAPE
    while marks:
        place = marks.bit_length() - 1
        marks ^= 1 << place
        yield LANGUAGES[place], mask >> _shift(place) & _OF_ONE | shapes


def _shift(place: int) -> int:
    return _FIRST + _WIDTH * place


def in_any(concepts: int) -> int:
    """The mask of some concepts in every language."""
    return sum(concepts << _shift(place) for place in range(_MARKED))


def of_shapes(*names: str) -> int:
    """The mask of some shapes."""
    return sum(BITS[name] << _MARKED for name in names)


def of_language(concepts: int, place: int, *, is_marked: bool = True) -> int:
    """The mask of some concepts in one language, with its mark or without."""
    return is_marked << place | concepts << _shift(place)


def rarest(words: Iterable[str]) -> str:
    """The word by which a phrase is looked for: one that texts seldom have."""
    return max(
        words, key=lambda word: (_RANKS.get(word, 99), word not in COMMON, len(word))
    )


def vocabulary(*languages: str) -> frozenset[str]:
    """The words of some lists, in Latin letters; those of open forms as they stand."""
    return frozenset(
        word
        for language in languages or LANGUAGES
        for forms in LISTS[language].values()
        for word in folded(" ".join(forms).replace("*", "")).split()
        if word.isascii() and word.isalpha()
    )
