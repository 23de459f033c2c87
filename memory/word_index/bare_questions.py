"""Texts that only ask: a short question says nothing, its answer stands elsewhere.

In a conversation a short question has the words of the one that is asked now more often
than its answer has. How much an entry says is a reason for it; of these it is none.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

# A longer text says something besides, also where it ends with a question.
MAX_WORDS: Final = 15
_MARKS: Final = ("?", "？", "؟")
_BEHIND: Final = " \n\t\"')*!."

_IN_SQL: Final = _BEHIND.replace("'", "''")
# For statements with parameters, whose percent signs are doubled.
CONDITION: Final = " OR ".join(
    f"rtrim(e.summary, '{_IN_SQL}') LIKE '%%{mark}'" for mark in _MARKS
)


def asks(text: str) -> bool:
    """Whether a text ends with a question; ``CONDITION`` says it of ``e.summary``."""
    return text.rstrip(_BEHIND).endswith(_MARKS)


def word_counts(
    lengths: NDArray[np.integer], asking: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return how many words texts of these lengths say: 0 for a short question."""
    words = np.where(asking & (lengths <= MAX_WORDS), 0, lengths)
    return words.astype(np.int64, copy=False)
