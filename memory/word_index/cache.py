"""The indexes of this process: one per workspace, kept fresh, bounded in bytes.

An index is never stale. Before a question two small queries read the entries behind the
last one, and what database triggers logged about older ones; only that is fetched.
Inside a transaction of its own a process sees entries that may never be committed:
what was read there is read again the next time.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

import numpy as np
from django.conf import settings
from django.db import connection

from memory import freed_memory
from memory.word_index import rows
from memory.word_index.index import OutOfOrder, View, WordIndex

_MEGABYTE: Final = 1024 * 1024
# Entries that leave freed memory worth giving back.
MANY: Final = 10_000
_NEWEST: Final = "SELECT max(id) FROM word_changes WHERE workspace_id = %s"
_CHANGES: Final = (
    "SELECT id, docid, kind FROM word_changes"
    " WHERE workspace_id = %s AND id > %s ORDER BY id"
)


def _in_transaction() -> bool:
    """Whether what this process reads may never be committed."""
    return bool(connection.in_atomic_block)


class _CachedIndex:
    """One workspace's index, and how far it has read the log and the journal."""

    def __init__(self, workspace_id: str) -> None:
        self.workspace_id = workspace_id
        self.lock = threading.Lock()
        self.index: WordIndex | None = None
        self.nbytes = 0
        # The last change and the last entry that were read outside a transaction.
        self.seen, self.last_docid = 0, 0
        # What was read inside one; loaded inside one, all of it is in doubt.
        self.uncommitted: set[int] = set()
        self.is_provisional = False

    def view(self) -> View:
        """Return a view of the index, loaded or caught up with the database."""
        with self.lock:
            index = self._caught_up() or self._load()
            self.index, self.nbytes = index, index.nbytes
            return index.view()

    def catch_up(self) -> None:
        """Update a loaded index; none is loaded for that."""
        with self.lock:
            if self.index is not None:
                self.index = self._caught_up()
                self.nbytes = self.index.nbytes if self.index else 0

    def _caught_up(self) -> WordIndex | None:
        """Return the index, caught up; None when it has to be loaded."""
        # Until it is whole again it is nobody's: reading may fail.
        index, self.index = self.index, None
        if self.is_provisional and not _in_transaction():
            return None
        if index is None or not self._follow(index):
            return None
        return index

    def _load(self) -> WordIndex:
        # The log is read first: a change that is written in between is applied twice,
        # which does nothing, instead of not at all.
        self.is_provisional = _in_transaction()
        self.uncommitted = set()
        with connection.cursor() as cursor:
            cursor.execute(_NEWEST, [self.workspace_id])
            self.seen = int(cursor.fetchone()[0] or 0)
        count = rows.count(self.workspace_id)
        index = WordIndex(count + count // 16)
        for batch in rows.read_all(self.workspace_id):
            index.load(batch)
        index.link()
        if count >= MANY:
            freed_memory.give_back()
        self.last_docid = index.last_docid
        return index

    def _follow(self, index: WordIndex) -> bool:
        """Follow the database; False when the index has to be loaded again."""
        with connection.cursor() as cursor:
            cursor.execute(_CHANGES, [self.workspace_id, self.seen])
            changes = cursor.fetchall()
        if any(kind == "trim" and upto > self.seen for _, upto, kind in changes):
            return False
        logged = {docid for _, docid, kind in changes if kind != "trim"}
        reworded = {docid for _, docid, kind in changes if kind != "flags"}
        try:
            stale = logged | self.uncommitted
            present = _apply(index, stale, reworded | self.uncommitted)
            for batch in rows.read_after(self.workspace_id, index.last_docid):
                index.append(batch)
                present.update(batch.docid.tolist())
        except OutOfOrder:
            return False
        self._note(changes[-1][0] if changes else self.seen, logged, present)
        return True

    def _note(self, newest: int, logged: set[int], present: set[int]) -> None:
        """Remember how far the database was read, as far as it is committed."""
        if _in_transaction() and not self.is_provisional:
            self.uncommitted |= logged | present
            return
        self.seen = newest
        self.last_docid = max(self.last_docid, *present, 0)
        # An entry seen in somebody's transaction, which may still be committed.
        self.uncommitted = {
            docid for docid in self.uncommitted - present if docid > self.last_docid
        }


def _apply(index: WordIndex, docids: set[int], reworded: set[int]) -> set[int]:
    """Read named entries again and empty those that are gone; return those present.

    ``reworded`` are those whose words may have changed.
    """
    docids = {docid for docid in docids if docid <= index.last_docid}
    if not docids:
        return set()
    batch = rows.read_docids(list(docids))
    present = set(batch.docid.tolist())
    index.change(
        batch,
        deleted=np.array(sorted(docids - present), dtype=np.int64),
        rewritten=np.array(sorted(reworded), dtype=np.int64),
    )
    return present


class WordIndexes:
    """Every index of this process."""

    def __init__(self) -> None:
        self._indexes: OrderedDict[tuple[str, str], _CachedIndex] = OrderedDict()
        self._lock = threading.Lock()

    def view(self, workspace_id: str) -> View:
        """Return a view of a workspace's index, caught up with the database."""
        # A test database gets its own.
        name = (str(connection.settings_dict["NAME"]), workspace_id)
        with self._lock:
            cached = self._indexes.setdefault(name, _CachedIndex(workspace_id))
            self._indexes.move_to_end(name)
        view = cached.view()
        self._drop_beyond(settings.WORD_INDEX_MB * _MEGABYTE)
        return view

    def _drop_beyond(self, limit: int) -> None:
        """Drop the least recently asked indexes; the last one asked always stays."""
        with self._lock:
            total = sum(cached.nbytes for cached in self._indexes.values())
            while total > limit and len(self._indexes) > 1:
                _, oldest = self._indexes.popitem(last=False)
                total -= oldest.nbytes

    @property
    def nbytes(self) -> int:
        """The bytes that all indexes of this process use."""
        with self._lock:
            return sum(cached.nbytes for cached in self._indexes.values())

    def holds(self, workspace_id: str) -> bool:
        """Whether this process has loaded a workspace's index; this loads none."""
        name = (str(connection.settings_dict["NAME"]), workspace_id)
        with self._lock:
            cached = self._indexes.get(name)
        return cached is not None and cached.index is not None

    def catch_up(self, workspace_id: str) -> int:
        """Bring a workspace's loaded indexes up to date; return how many there are.

        A question does it too; this is for workspaces without one for a long time.
        """
        with self._lock:
            caches = [
                c for (_, home), c in self._indexes.items() if home == workspace_id
            ]
        for cached in caches:
            cached.catch_up()
        return len(caches)

    def clear(self) -> None:
        """Forget every index; the next question loads again."""
        with self._lock:
            self._indexes.clear()


indexes = WordIndexes()
