"""Points leave the map with their entries.

Listens to ``memory.journal.erasure.entries_left``, inside its transaction. What is
freed again has a point when the map is computed next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from episodic.map import points
from episodic.models import Embedding
from memory.journal import erasure
from memory.journal.erasure import entries_left

LEAVING: Final = ("erased", "redacted", "withheld")


def on_entries_left(
    *, workspace_id: str, entry_ids: Sequence[str], kind: str, **_: Any
) -> None:
    """Follow an erasure, a redaction or a withholding."""
    if kind not in LEAVING or not entry_ids:
        return
    if kind == "withheld":
        # What never had a vector has no point. Appends wait meanwhile: the map, which
        # may be large, is not read for it.
        rows = Embedding.objects.filter(pk__in=entry_ids, dim__gt=0)
        if not erasure.of(rows, workspace_id).exists():
            return
    points.leave(workspace_id, entry_ids)


def install() -> None:
    """Listen from start-up on."""
    entries_left.connect(on_entries_left, dispatch_uid="episodic.map.erasure")
