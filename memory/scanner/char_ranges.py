"""Ranges of Unicode for regular expressions, most to stand in a character class."""

from __future__ import annotations

from typing import Final

# Chinese and Japanese have no blanks between words, and Thai has none either.
CJK: Final = r"\u3040-\u30ff\u3400-\u9fff"
UNSPACED: Final = rf"\u0e00-\u0e7f{CJK}"
# Signs of vowels are parts of words in Devanagari and Bengali: each follows a letter.
_INDIC: Final = (
    r"\u0900-\u0963\u0966-\u096f\u0971-\u097f\u0981-\u09f1\u09f4-\u09fa\u09fc\u09fe"
)
INDIC: Final = rf"(?<=[{_INDIC}])[{_INDIC}]"
