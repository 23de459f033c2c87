"""The words of one workspace as arrays that are searched while they change.

Readers take a view and never wait. Rows are in order of docid and are only added behind
a view's end; segments are replaced, never changed. A row whose entry went is emptied in
place, and its postings are in no segment any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory.word_index import segments
from memory.word_index.columns import SPEAKS, Batch, Codes, Columns, Rows, empty
from memory.word_index.entry_rows import EntryRows, Ids, encode
from memory.word_index.owners import OwnerRows
from memory.word_index.segments import Segment
from memory.word_index.terms import WordLists
from memory.word_index.threads import Threads

_GROWTH: Final = 1.125
# Rows whose postings fit in the processor's cache while they are packed.
PACKED_AT_ONCE: Final = 4_096


class OutOfOrder(Exception):
    """An entry appeared before the last one: the index has to be loaded again."""


@dataclass(frozen=True, slots=True)
class View:
    """A consistent view: the first ``size`` rows, and what is counted over them.

    ``entry_count`` and ``average`` (length) are of entries that speak.
    """

    columns: Columns
    size: int
    segments: tuple[Segment, ...]
    entry_count: int
    average: float
    crews: Codes
    agents: Codes
    types: Codes
    owned: OwnerRows
    entry_rows: EntryRows

    def find(self, entry_ids: Sequence[str]) -> Rows:
        """Return the row of each entry, −1 for one that is not in the view."""
        rows = self.entry_rows.find(encode(entry_ids), self.columns.ids)
        rows[rows >= self.size] = -1
        return rows

    def rows(self, docids: NDArray[np.int64]) -> Rows:
        """Return the row of each docid, −1 for one that is not in the view."""
        docids_in_order = self.columns.docid[: self.size]
        at = np.searchsorted(docids_in_order, docids)
        at[at == self.size] = 0
        return np.where(docids_in_order[at] == docids, at, -1) if self.size else at - 1

    def docids_with_words(self, docids: Sequence[int]) -> list[int]:
        """Return those of some docids that have a posting."""
        rows = self.rows(np.array(sorted(docids), dtype=np.int64))
        rows = rows[rows >= 0]
        has_words = np.zeros(self.size, dtype=np.bool_)
        for segment in self.segments:
            has_words[segment.first : segment.first + segment.size][segment.rows] = True
        return [int(docid) for docid in self.columns.docid[rows[has_words[rows]]]]


def _keys(words: WordLists, offsets: NDArray[np.int64]) -> segments.Keys:
    """Return the packed postings of consecutive rows, which begin at ``offsets``."""
    start = offsets[0]
    keys = np.empty(offsets[-1] - start, dtype=np.uint64)
    for first in range(0, len(offsets) - 1, PACKED_AT_ONCE):
        ends = offsets[first : first + PACKED_AT_ONCE + 1]
        low, high = ends[0], ends[-1]
        rows = np.repeat(np.arange(first, first + len(ends) - 1), np.diff(ends))
        keys[low - start : high - start] = segments.pack(
            rows, words.terms[low:high], words.counts[low:high]
        )
    return keys


class WordIndex:
    """The index of one workspace. Mutations need the owner's lock."""

    def __init__(self, capacity: int = 0) -> None:
        self.crews, self.agents, self.types = Codes(), Codes(), Codes()
        self._columns = empty(capacity)
        self._size = 0
        self._segments: tuple[Segment, ...] = ()
        self._entry_count = self._total_length = 0
        self._threads = Threads()
        self._owned = OwnerRows()
        self._entry_rows = EntryRows()

    @property
    def nbytes(self) -> int:
        lists = sum(segment.nbytes for segment in self._segments)
        owned = self._owned.nbytes
        ids = self._size * self._entry_rows.row_bytes
        return self._columns.nbytes + self._threads.nbytes + owned + ids + lists

    @property
    def last_docid(self) -> int:
        return int(self._columns.docid[self._size - 1]) if self._size else 0

    def view(self) -> View:
        """Return the present rows; safe to read while the index changes."""
        return View(
            self._columns,
            self._size,
            self._segments,
            self._entry_count,
            self._total_length / max(1, self._entry_count),
            self.crews,
            self.agents,
            self.types,
            self._owned,
            self._entry_rows,
        )

    # ── Adding ───────────────────────────────────────────────────────────────
    def load(self, batch: Batch) -> None:
        """Add rows without linking their threads: ``link`` does it when all are in."""
        if not len(batch.docid):
            return
        start, end = self._size, self._size + len(batch.docid)
        if start and batch.docid[0] <= self._columns.docid[start - 1]:
            raise OutOfOrder
        if end > len(self._columns.docid):
            self._columns = self._columns.copy(start, int(end * _GROWTH))
            # Who reads an older view reads the old columns, which follow no change.
            self._owned = OwnerRows()
        self._columns.docid[start:end] = batch.docid
        self._write(np.arange(start, end), batch)
        self._add_postings(start, batch.words)
        self._size = end

    def link(self) -> None:
        """Link every thread, and put the ids of all entries in order."""
        self._threads.link_all(self._columns, self._size)
        self._put_in_order()

    def append(self, batch: Batch) -> None:
        """Add entries behind the last one; OutOfOrder when they belong before it."""
        start = self._size
        self.load(batch)
        self._threads.append(self._columns, start, self._size)
        self._entry_rows.add(
            self._columns.ids[start : self._size], range(start, self._size)
        )
        if self._entry_rows.is_full:
            self._put_in_order()

    def _put_in_order(self) -> None:
        ids = self._columns.ids
        self._entry_rows.rebuild(ids, np.flatnonzero(ids[: self._size] != b""))

    def _add_postings(self, start: int, words: WordLists) -> None:
        """Add the postings of new rows in segments of at most ``MAX_ROWS``."""
        offsets = np.concatenate([[0], np.cumsum(words.sizes)])
        for first in range(0, len(words.sizes), segments.MAX_ROWS):
            sizes = words.sizes[first : first + segments.MAX_ROWS]
            keys = _keys(words, offsets[first : first + len(sizes) + 1])
            keys.sort()
            fresh = segments.build(start + first, len(sizes), keys)
            self._segments = tuple(segments.compacted([*self._segments, fresh]))

    def _write(self, rows: Rows, batch: Batch) -> None:
        """Write everything of entries but their docid, their words and their links."""
        columns = self._columns
        self._count(rows, -1)
        columns.ids[rows] = batch.ids
        columns.ts[rows] = batch.ts
        columns.recorded[rows] = batch.recorded
        columns.thread[rows] = batch.thread
        columns.crew[rows] = self.crews.add_all(batch.crews)
        columns.agent[rows] = self.agents.add_all(batch.agents)
        columns.type[rows] = self.types.add_all(batch.types)
        columns.length[rows] = batch.words.lengths
        columns.flags[rows] = batch.flags
        self._count(rows, 1)

    def _count(self, rows: Rows, sign: int) -> None:
        """Add or take away rows in the statistics."""
        speaks = (self._columns.flags[rows] & SPEAKS) == SPEAKS
        self._entry_count += sign * int(np.count_nonzero(speaks))
        lengths = self._columns.length[rows][speaks]
        self._total_length += sign * int(lengths.sum(dtype=np.int64))

    # ── Changing ─────────────────────────────────────────────────────────────
    def change(
        self, batch: Batch, *, deleted: NDArray[np.int64], rewritten: NDArray[np.int64]
    ) -> None:
        """Write entries anew and empty those that are gone.

        ``rewritten`` are the docids whose words may have changed. OutOfOrder when an
        entry is not in the index and belongs before its end.
        """
        view = self.view()
        rows, deleted_rows = view.rows(batch.docid), view.rows(deleted)
        deleted_rows = deleted_rows[deleted_rows >= 0]
        if (rows < 0).any():
            raise OutOfOrder
        all_rows = np.concatenate([rows, deleted_rows])
        threads = self._columns.thread[all_rows]
        self._empty(deleted_rows)
        self._rename(rows, batch.ids)
        self._write(rows, batch)
        self._owned.forget()
        is_rewritten = np.isin(batch.docid, rewritten)
        self._replace_postings(rows, is_rewritten, batch.words, deleted_rows)
        self._columns.previous[all_rows] = self._columns.next[all_rows] = -1
        threads = np.concatenate([threads, batch.thread])
        self._threads.relink(self._columns, self._size, threads)

    def _rename(self, rows: Rows, ids: Ids) -> None:
        """Know rows by other ids, after what a transaction did was rolled back."""
        is_other = np.flatnonzero(self._columns.ids[rows] != ids)
        for entry_id in self._columns.ids[rows[is_other]].tolist():
            self._entry_rows.forget(entry_id)
        self._entry_rows.add(ids[is_other], rows[is_other].tolist())

    def _empty(self, rows: Rows) -> None:
        """Overwrite everything of entries but their docid."""
        self._count(rows, -1)
        for name in ("ts", "recorded", "thread", "length", "flags"):
            getattr(self._columns, name)[rows] = 0
        for name in ("crew", "agent", "type"):
            getattr(self._columns, name)[rows] = -1
        for entry_id in self._columns.ids[rows].tolist():
            self._entry_rows.forget(entry_id)
        self._columns.ids[rows] = b""

    def _replace_postings(
        self,
        rows: Rows,
        is_rewritten: NDArray[np.bool_],
        words: WordLists,
        deleted: Rows,
    ) -> None:
        """Take postings out of their segments, put new ones in, forget frequencies."""
        every_row = np.repeat(rows, words.sizes)
        is_new = np.repeat(is_rewritten, words.sizes)
        leaving = np.concatenate([rows[is_rewritten], deleted])
        all_rows = np.concatenate([rows, deleted])
        result = []
        for segment in self._segments:
            first, end = segment.first, segment.first + segment.size
            if not ((all_rows >= first) & (all_rows < end)).any():
                result.append(segment)
                continue
            out = leaving[(leaving >= first) & (leaving < end)] - first
            # Frequencies are of entries that speak: they may have changed too.
            fresh = replace(segment, frequencies={})
            if len(out):
                is_inside = is_new & (every_row >= first) & (every_row < end)
                keys = segments.pack(
                    every_row[is_inside] - first,
                    words.terms[is_inside],
                    words.counts[is_inside],
                )
                fresh = segments.replaced(segment, out, keys)
            result.append(fresh)
        self._segments = tuple(result)
