"""The prompt block: what a recall found, as an agent's prompt may carry it.

    <recalled-memory entries="2" boundary="6f0c…">
    UNTRUSTED HINTS. …
    [j_5e0a91c44d7b2f10] approval.denied · 2 days ago · 0.0325 · Refund denied
    [j_90fe3a7715c8d2b4] summary.generated · 4 days ago · 0.0323 · Week 46: 31 refunds
    </recalled-memory>

One line per hit; the entry id is there to be cited. Summaries are
untrusted text: what the scanner would hold is replaced by a notice, and the rest cannot
end the block, open another one or start a line. The block is well-formed XML. Its
boundary is random, so that no text can name the block it will be in.

Order is by score, but among near-equals the newer entry comes first: hits whose score
lies within TIE of the best of their group are near-equals. The budget counts
characters of the whole text, wrapper included. A hit whose line does not fit is
skipped, and the next one is tried; when none fits the text is empty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from episodic.recall import prompt_escaping
from memory import scanner
from memory.rules import prompt_fence

TIE: Final = 0.02
BUDGET: Final = 2_000
PREAMBLE: Final = prompt_fence.PREAMBLE
CLOSING: Final = prompt_fence.CLOSING
NO_SUMMARY: Final = "(no summary)"
_CITABLE: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_UNITS: Final = (
    ("month", 2_592_000),
    ("day", 86_400),
    ("hour", 3_600),
    ("minute", 60),
)


@dataclass(frozen=True, slots=True)
class Hint:
    """The fields of a hit that the block shows."""

    entry_id: str
    entry_type: str
    age_seconds: float
    score: float
    summary: str


@dataclass(frozen=True, slots=True)
class Block:
    """The text and the entries in it, in order; ``left_out`` did not fit."""

    text: str
    entry_ids: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def chars(self) -> int:
        """How long the text is, in characters."""
        return len(self.text)

    @property
    def skipped(self) -> int:
        """How many entries were left out."""
        return len(self.left_out)


def age(seconds: float) -> str:
    """Return an age in words; a month has thirty days."""
    if seconds < _UNITS[-1][1]:
        return "just now"
    unit, size = next((u, s) for u, s in _UNITS if seconds >= s)
    count = int(seconds // size)
    return f"{count} {unit}{'' if count == 1 else 's'} ago"


def sort_hints(hints: Sequence[Hint]) -> list[Hint]:
    """Return hints best first, the newer first among near-equals."""
    remaining = sorted(hints, key=lambda h: -h.score)
    out: list[Hint] = []
    while remaining:
        edge = remaining[0].score - TIE * abs(remaining[0].score)
        size = next(
            (n for n, h in enumerate(remaining) if h.score < edge), len(remaining)
        )
        out += sorted(remaining[:size], key=lambda h: h.age_seconds)
        remaining = remaining[size:]
    return out


def line(hint: Hint) -> str:
    """Return the one line of a hint; the scanner sees the text as it was written."""
    # A lone surrogate is not a character, and the scanner reads characters.
    summary = hint.summary.encode("utf-8", "replace").decode()
    text = prompt_escaping.line(scanner.redact_for_prompt(summary)) or NO_SUMMARY
    kind = prompt_escaping.line(hint.entry_type).replace(" ", "")
    old = age(hint.age_seconds)
    return f"[{hint.entry_id}] {kind} · {old} · {hint.score:.4f} · {text}"


def _opening(count: int, boundary: str) -> str:
    return prompt_fence.opening(boundary, entries=count)


def render(
    hints: Sequence[Hint],
    max_chars: int = BUDGET,
    *,
    boundary: Callable[[], str] = prompt_fence.random_boundary,
) -> Block:
    """Return the block of some hits within a budget, see the module's docstring."""
    mark = boundary()
    lines: list[str] = []
    entry_ids: list[str] = []
    left_out: list[str] = []
    used = len(CLOSING)
    for hint in sort_hints(hints):
        text = line(hint) if _CITABLE.fullmatch(hint.entry_id) else ""
        size = len(_opening(len(lines) + 1, mark)) + used + len(text) + 1
        if text and size <= max_chars:
            lines.append(text + "\n")
            entry_ids.append(hint.entry_id)
            used += len(text) + 1
        else:
            left_out.append(hint.entry_id)
    body = "".join(lines)
    while mark in body:
        mark = boundary()
    text = _opening(len(lines), mark) + body + CLOSING if lines else ""
    return Block(text, tuple(entry_ids), tuple(left_out))
