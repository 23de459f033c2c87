"""Which row an entry has, in twelve bytes per entry instead of an object.

Hashes of the ids in order, with the rows beside them; what was added since is in a
dict, which is put in order with the rest when it has grown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

ID_BYTES: Final = 32
Ids = NDArray[np.bytes_]
Rows = NDArray[np.int64]
_MIN_RECENT: Final = 1_024
_WORDS: Final = ID_BYTES // 8
_FACTORS: Final = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5],
    dtype=np.uint64,
)


def encode(entry_ids: Sequence[str]) -> Ids:
    """Return ids as columns keep them; a longer one becomes one nobody has."""
    raw = [entry_id.encode() for entry_id in entry_ids]
    fitting = [name if len(name) <= ID_BYTES else b"" for name in raw]
    return np.array(fitting, dtype=f"S{ID_BYTES}")


def _hashes(ids: Ids) -> NDArray[np.uint64]:
    words = np.ascontiguousarray(ids).view(np.uint64).reshape(-1, _WORDS)
    mixed: NDArray[np.uint64] = (words * _FACTORS).sum(axis=1, dtype=np.uint64)
    return mixed ^ (mixed >> np.uint64(29))


class EntryRows:
    """Row numbers by entry id. Changes need the owner's lock, finding needs none."""

    def __init__(self) -> None:
        self._recent: dict[bytes, int] = {}
        empty: NDArray[Any] = np.zeros(0, dtype=np.uint64)
        self._sorted = empty, np.zeros(0, dtype=np.int32)

    def add(self, ids: Ids, rows: Iterable[int]) -> None:
        """Remember which rows some ids have."""
        self._recent.update(zip(ids.tolist(), rows, strict=True))

    def forget(self, entry_id: bytes) -> None:
        """Forget a recent id; of the others the owner knows which are alive."""
        self._recent.pop(entry_id, None)

    @property
    def is_full(self) -> bool:
        """Whether so much was added that putting it in order pays."""
        return len(self._recent) > max(_MIN_RECENT, len(self._sorted[1]) // 32)

    def rebuild(self, ids: Ids, rows: Rows) -> None:
        """Put these rows in order and forget all others."""
        hashes = _hashes(ids[rows])
        order = np.argsort(hashes)
        self._sorted = hashes[order], rows[order].astype(np.int32)
        # After the above: who finds nothing here looks there.
        self._recent = {}

    def find(
        self, sought_ids: Ids, ids: Ids, alive: NDArray[np.bool_] | None = None
    ) -> Rows:
        """Return the rows of ids, −1 for what has none, or none that is alive.

        ``ids`` are those of the rows; a row that lost its own is found no more.
        """
        recent = self._recent
        hashes, rows = self._sorted
        wanted_hashes = _hashes(sought_ids)
        row_numbers = np.full(len(sought_ids), -1, dtype=np.int64)
        place = np.searchsorted(hashes, wanted_hashes)
        # Two ids with one hash stand beside each other.
        while len(rows):
            inside = np.minimum(place, len(rows) - 1)
            candidate = (place < len(rows)) & (hashes[inside] == wanted_hashes)
            candidate &= row_numbers < 0
            if not candidate.any():
                break
            at = rows[inside]
            ok = candidate & (at < len(ids))
            at = np.where(ok, at, 0)
            ok &= ids[at] == sought_ids
            if alive is not None:
                ok &= alive[at]
            row_numbers[ok] = at[ok]
            place += 1
        if recent:
            for number, name in enumerate(sought_ids.tolist()):
                row_numbers[number] = recent.get(name, row_numbers[number])
        return row_numbers

    @property
    def row_bytes(self) -> int:
        """How many bytes one entry takes."""
        return 12
