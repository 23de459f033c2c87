"""Names in other letters: umlauts as two letters, Cyrillic and Greek as Latin ones."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from anyascii import anyascii

from gdpr.matching import normalize
from gdpr.matching.normalize import View

_TWO_LETTERS: Final = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"}
    | {"Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "Å": "Aa", "Ø": "Oe"}
)
_TWO_TO_ONE: Final = re.compile("ae|oe|ue|aa")
_FOREIGN: Final = re.compile("[\u0370-\u03ff\u0400-\u052f\u1f00-\u1fff]")
# Ways in which offices and newspapers write Cyrillic letters, where they differ from
# the library's: passports, English, German, and libraries.
_SYSTEMS: Final = tuple(
    str.maketrans(dict(pair.split(":") for pair in system.split()))
    for system in (
        "ё:e й:i ю:iu я:ia ц:ts х:kh щ:shch ъ:ie",
        "ё:yo й:y ю:yu я:ya ц:ts х:kh щ:shch",
        "ё:e й:y ю:yu я:ya ц:ts х:h щ:sch ы:i",
        "ё:jo й:j ю:ju я:ja ц:z х:ch щ:schtsch ж:sch ч:tsch ш:sch в:w з:s",
        "ё:e й:j ю:ju я:ja ц:c х:h щ:sc ж:z ч:c ш:s",
    )
)
# Xenia and Maria are mostly written with one letter less.
_SHORT_IA: Final = re.compile("i[yij]a$")
_GREEK: Final = (("ου", "ou"), ("μπ", "b"), ("αυ", "av"), ("ευ", "ev"))


def is_foreign(text: str) -> bool:
    """Whether a text has Cyrillic or Greek letters."""
    return not text.isascii() and _FOREIGN.search(text) is not None


def _plain(text: str) -> str:
    return normalize.fold(anyascii(text)).replace("'", "")


def two_letters(text: str) -> str:
    """Return a composed text (NFC) with umlauts and their like as two letters."""
    return text.translate(_TWO_LETTERS)


def spellings(word: str) -> frozenset[str]:
    """Return other spellings of a word of a name, folded; not the folded word."""
    lower = unicodedata.normalize("NFC", word).lower()
    texts = {normalize.fold(two_letters(lower))}
    if is_foreign(lower):
        texts.add(_plain(lower))
        texts |= {_plain(lower.translate(system)) for system in _SYSTEMS}
        bare = unicodedata.normalize("NFD", lower).replace("\u0301", "")
        for pair, latin in _GREEK:
            bare = bare.replace(pair, latin)
        texts.add(_plain(unicodedata.normalize("NFC", bare)))
        texts |= {_SHORT_IA.sub("ia", text) for text in texts}
    return frozenset(texts - {normalize.fold(word), ""})


def contracted(word: str) -> str:
    """Return a folded word with its pairs of vowels as umlauts fold; or empty.

    ``mueller`` is ``muller``: it counts only where the text has an umlaut.
    """
    short = _TWO_TO_ONE.sub(lambda match: match[0][0], word)
    return short if short != word else ""


def _letters(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield Latin letters, folded and as cased, and the place each stands for."""
    before = ""
    for at, character in enumerate(text):
        latin = normalize.fold(character)
        if _FOREIGN.match(character):
            latin = _plain(character)
            if before == "ο" and normalize.fold(character) == "υ":
                latin = "u"
        for number, letter in enumerate(latin):
            is_upper = character.isupper() and number == 0
            yield letter, letter.upper() if is_upper else letter, at
        before = normalize.fold(character)


def latin(text: str) -> str:
    """Return a text folded, with Cyrillic and Greek letters as Latin ones."""
    return "".join(letter for letter, _, _ in _letters(text))


def latin_view(text: str) -> View:
    """Return the view of a text with Cyrillic and Greek letters as Latin ones."""
    letters = list(_letters(text))
    return View(
        "".join(letter for letter, _, _ in letters),
        [at for _, _, at in letters],
        [at + 1 for _, _, at in letters],
        "".join(cased for _, cased, _ in letters),
    )
