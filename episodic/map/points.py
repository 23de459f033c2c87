"""The points of a map: how they are packed, and how they leave it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from django.db import transaction
from numpy.typing import NDArray

from episodic.models import MemoryMap
from memory.word_index import entry_rows

# Places are whole numbers from 0 to here, in a square that all points fit into.
GRID: Final = 4_095
NO_CREW: Final = -1
POINT: Final = np.dtype(
    [
        ("id", f"S{entry_rows.ID_BYTES}"),
        ("x", "<u2"),
        ("y", "<u2"),
        ("group", "u1"),
        ("crew", "<i2"),
        # Milliseconds since 1970.
        ("ts", "<i8"),
        ("importance", "<f4"),
        ("references", "<u4"),
        ("relations", "<u2"),
        # The cosine of the nearest other point.
        ("nearest", "<f4"),
        # Whether even the nearest points are far from it.
        ("apart", "?"),
    ]
)
Points = NDArray[Any]


def unpacked(row: MemoryMap) -> Points:
    """Return the points of a map, not to be written to."""
    return np.frombuffer(bytes(row.points), dtype=POINT)


def ids(points: Points) -> list[str]:
    return [name.decode() for name in points["id"].tolist()]


def on_grid(places: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Return places as whole numbers of the grid, both axes to the same scale.

    The grid's own border stays free, so that an area can lie around every point.
    """
    low, high = places.min(axis=0), places.max(axis=0)
    span = float((high - low).max()) or 1.0
    middle = (low + high) / 2
    shares = (places - middle) / span + 0.5
    grid: NDArray[np.uint16] = np.rint(1 + np.clip(shares, 0, 1) * (GRID - 2)).astype(
        np.uint16
    )
    return grid


def present(workspace_id: str, entry_ids: Sequence[str]) -> list[str]:
    """Return which of some entries have a point."""
    row = MemoryMap.objects.filter(pk=workspace_id).first()
    if row is None:
        return []
    points = unpacked(row)
    return ids(points[np.isin(points["id"], entry_rows.encode(entry_ids))])


def leave(workspace_id: str, entry_ids: Sequence[str]) -> int:
    """Remove the points of entries from a workspace's map; return how many.

    Before the first map the row is written, so that a computation waits for it.
    """
    with transaction.atomic():
        MemoryMap.objects.only("pk").get_or_create(workspace_id=workspace_id)
        row = MemoryMap.objects.select_for_update().get(pk=workspace_id)
        if not row.points:
            return 0
        points = unpacked(row)
        leaving = np.isin(points["id"], entry_rows.encode(entry_ids))
        if leaving.any():
            row.points = points[~leaving].tobytes()
            row.save(update_fields=["points"])
        return int(leaving.sum())
