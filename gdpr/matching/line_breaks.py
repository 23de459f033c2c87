"""Words that a hyphen parts at the end of a line, read as one word."""

from __future__ import annotations

import re
from typing import Final

from gdpr.matching import normalize
from gdpr.matching.normalize import View

# The break may be written as an escape, and a quoted line begins with a sign.
BREAK: Final = re.compile(
    r"[\-\u2010\u2011\u00ad](?:\r?\n|(?:\\r)?\\n)[ \t>*|#]{0,8}(?=[^\W\d_])"
)
# Every such break contains one of these, which are quick to look for.
PLAIN_SIGNS: Final = ("-\n", "-\r")
SPECIAL_SIGNS: Final = ("\u2010", "\u2011", "\u00ad")


def parts(text: str) -> bool:
    """Whether a line break parts a word of a text."""
    has_sign = "-\n" in text or "-\r" in text or "-\\" in text
    if not (has_sign or text.isascii()):
        has_sign = any(sign in text for sign in SPECIAL_SIGNS)
    return has_sign and BREAK.search(text) is not None


def mended(text: str) -> str:
    """Return a text with its parted words as one, folded."""
    return normalize.fold(BREAK.sub("", text))


def view(text: str) -> View:
    """Return the view of a text with its parted words as one."""
    pieces: list[View] = []
    offsets: list[int] = []
    at = 0
    spans = [match.span() for match in BREAK.finditer(text)]
    for start, end in [*spans, (len(text), len(text))]:
        pieces.append(normalize.plain_view(text[at:start]))
        offsets.append(at)
        at = end
    starts: list[int] = []
    ends: list[int] = []
    for piece, offset in zip(pieces, offsets, strict=True):
        places = range(len(piece.text))
        starts += [offset + s for s in piece.starts or places]
        ends += [offset + e for e in piece.ends or (place + 1 for place in places)]
    folded = "".join(piece.text for piece in pieces)
    cased = "".join(piece.cased or piece.text for piece in pieces)
    return View(folded, starts, ends, cased)
