"""Which rows belong to a crew or an agent, found once and remembered.

Only rows that came since are looked at again: a question of one agent among many reads
its own rows alone. What a large part of all rows belongs to is compared each time: a
list of them would take as much memory as the column.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from memory.word_index.columns import Mask, Rows

REMEMBERED_SHARE: Final = 4
NOBODY: Final = -1
_Key = tuple[str, int]
_NONE: Final = np.zeros(0, dtype=np.int32)


class Part(NamedTuple):
    """Some rows: in order, or as a mask where they are a large part of all."""

    rows: Rows | None
    mask: Mask | None = None


class Owned(Protocol):
    """Columns of numbers that stand for strings."""

    @property
    def crew(self) -> NDArray[np.int32]: ...
    @property
    def agent(self) -> NDArray[np.int32]: ...
    @property
    def type(self) -> NDArray[np.int32]: ...


class OwnerRows:
    """The rows of owners in columns that grow. Safe to ask from any thread."""

    def __init__(self) -> None:
        self._known: dict[_Key, tuple[NDArray[np.int32], int]] = {}
        # Owners of a large part, and how many rows there were when that was seen.
        self._large: dict[_Key, int] = {}
        self._version = 0
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        with self._lock:
            return sum(rows.nbytes for rows, _ in self._known.values())

    def forget(self) -> None:
        """Forget everything, after rows have got other owners or other places."""
        with self._lock:
            self._known, self._large = {}, {}
            self._version += 1

    def of(self, columns: Owned, size: int, column: str, code: int) -> Part:
        """Return the rows of a crew or agent among the first ``size``."""

        def is_owned(part: slice) -> Mask:
            mask: Mask = getattr(columns, column)[part] == code
            return mask

        return self._find((column, code), size, is_owned)

    def rules(self, columns: Owned, size: int, crew: int, rule_type: int) -> Part:
        """Return the rows of a crew that are of a type and nobody's."""

        def is_rule(part: slice) -> Mask:
            is_rule_row: Mask = columns.type[part] == rule_type
            is_rule_row &= columns.crew[part] == crew
            is_rule_row &= columns.agent[part] == NOBODY
            return is_rule_row

        return self._find(("rules", crew), size, is_rule)

    def _find(self, key: _Key, size: int, matches: Callable[[slice], Mask]) -> Part:
        with self._lock:
            version, seen_large = self._version, self._large.get(key, 0)
            rows, upto = self._known.get(key, (_NONE, 0))
        if size <= 2 * seen_large:
            return Part(None, matches(slice(size)))
        if upto > size:
            rows = rows[: int(np.searchsorted(rows, size))]
        elif upto < size:
            newer = np.flatnonzero(matches(slice(upto, size))) + upto
            rows = np.concatenate([rows, newer.astype(np.int32)])
            self._remember(key, rows, size, version)
        return Part(rows.astype(np.int64))

    def _remember(
        self, key: _Key, rows: NDArray[np.int32], size: int, version: int
    ) -> None:
        with self._lock:
            if version != self._version:
                # Found in columns that have changed since.
                return
            if len(rows) * REMEMBERED_SHARE <= size:
                self._known[key] = rows, size
                self._large.pop(key, None)
            else:
                self._large[key] = size
                self._known.pop(key, None)


def united(parts: Sequence[Part], size: int) -> Part:
    """Return the rows of any part."""
    masks = [part.mask for part in parts if part.mask is not None]
    lists = [p.rows for p in parts if p.rows is not None and len(p.rows)]
    if not masks and len(lists) < 2:
        return Part(lists[0] if lists else np.zeros(0, dtype=np.int64))
    if not masks and sum(map(len, lists)) * 16 < size:
        rows: Rows = np.unique(np.concatenate(lists))
        return Part(rows)
    mask = masks[0] if masks else np.zeros(size, dtype=np.bool_)
    for other in masks[1:]:
        mask |= other
    for rows in lists:
        mask[rows] = True
    return Part(None, mask)
