"""Ranges of Unicode, to stand in a character class of a regular expression."""

from __future__ import annotations

from typing import Final

# Chinese and Japanese have no blanks between words, and Thai has none either.
CJK: Final = r"\u3040-\u30ff\u3400-\u9fff"
UNSPACED: Final = rf"\u0e00-\u0e7f{CJK}"
# Signs of vowels are parts of words in Devanagari and Bengali.
INDIC: Final = r"\u0900-\u0963\u0966-\u097f\u0981-\u09fe"
