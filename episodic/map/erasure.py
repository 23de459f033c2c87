"""Points leave the map with their entries.

Listens to ``memory.journal.erasure.entries_left``, inside its transaction. What is
freed again has a point when the map is computed next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from episodic.map import points
from memory.journal.erasure import entries_left

LEAVING: Final = ("erased", "redacted", "withheld")


def on_entries_left(
    *, workspace_id: str, entry_ids: Sequence[str], kind: str, **_: Any
) -> None:
    """Follow an erasure, a redaction or a withholding."""
    if kind in LEAVING:
        points.leave(workspace_id, entry_ids)


def install() -> None:
    """Listen from start-up on."""
    entries_left.connect(on_entries_left, dispatch_uid="episodic.map.erasure")
