"""Words that a hyphen parts at the end of a line, read as one word."""

from __future__ import annotations

import re
from typing import Final

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


def joined(text: str) -> str:
    """Return a text with its parted words as one."""
    return BREAK.sub("", text)
