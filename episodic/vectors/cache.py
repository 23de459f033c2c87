"""The matrices of this process: caught up with the database, bounded in bytes.

A matrix is never stale. Database triggers log every change to an embedding; before a
query the log is read from where this process stopped (an index look-up when nothing
happened), and only what changed is fetched. Loading everything happens once, and again
when the matrix had to make room for others. Inside a transaction of its own a process
sees changes that may never be committed: what was read there is read again afterwards.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from django.db import connection

from episodic.models import EmbeddingChange
from episodic.vectors import rows
from episodic.vectors.base import VectorScope
from episodic.vectors.matrix import Matrix, Snapshot
from memory import freed_memory

IDS_AT_ONCE: Final = 500
# Rows that leave freed memory worth giving back.
MANY: Final = 10_000
DEFAULT_BYTES: Final = 1024 * 2**20
# Plain SQL: each query runs it twice, and building it costs more than running it.
_CHANGES: Final = (
    "SELECT id, entry_id, kind FROM embedding_changes"
    " WHERE workspace_id = %s AND id > %s ORDER BY id"
)
Name = tuple[str, str, str]


def _name(scope: VectorScope) -> Name:
    """Return the name of a scope's matrix; a test database gets its own."""
    return str(connection.settings_dict["NAME"]), scope.workspace_id, scope.model


def _in_transaction() -> bool:
    """Whether what this process reads may never be committed."""
    return bool(connection.in_atomic_block)


class CachedMatrix:
    """One workspace's matrix and how far it has read the log of changes."""

    def __init__(self, workspace_id: str, model: str) -> None:
        self.workspace_id, self.model = workspace_id, model
        self.lock = threading.Lock()
        self.matrix: Matrix | None = None
        # The last change that was read outside a transaction.
        self.seen = -1
        # What was read inside one; loaded inside one, all of it is in doubt.
        self.uncommitted: set[str] = set()
        self.is_provisional = False
        # As of the last change, so that nobody has to add it up at each question.
        self.bytes_used = 0

    def fresh(self, dim: int) -> tuple[Matrix, Snapshot]:
        """Return the matrix, caught up with the database, and a view of it."""
        with self.lock:
            if self.matrix is None or self.matrix.dim != dim:
                self._load(dim)
            else:
                self._catch_up()
            assert self.matrix is not None  # noqa: S101  (mypy: _load sets it)
            return self.matrix, self.matrix.snapshot()

    def catch_up(self) -> None:
        """Update a loaded matrix from the log of changes; none is loaded for that."""
        with self.lock:
            if self.matrix is not None:
                self._catch_up()

    def _load(self, dim: int) -> None:
        # The log is read first: a change that is written in between is applied twice,
        # which does nothing, instead of not at all.
        self.is_provisional, self.uncommitted = _in_transaction(), set()
        last = EmbeddingChange.objects.filter(workspace_id=self.workspace_id)
        self.seen = last.order_by("-id").values_list("id", flat=True).first() or 0
        # Not beside the old one, which may be as large.
        self.matrix, self.bytes_used = None, 0
        matrix = Matrix(dim, rows.count(self.workspace_id, self.model))
        matrix.fill(rows.read_all(self.workspace_id, self.model, dim))
        self.matrix, self.bytes_used = matrix, matrix.bytes_used
        if len(matrix) >= MANY:
            freed_memory.give_back()

    def _catch_up(self) -> None:
        assert self.matrix is not None  # noqa: S101
        if self.is_provisional and not _in_transaction():
            self._load(self.matrix.dim)
            return
        with connection.cursor() as cursor:
            cursor.execute(_CHANGES, [self.workspace_id, self.seen])
            changes = cursor.fetchall()
        if not changes and not self.uncommitted:
            return
        if any(kind == "trim" and int(upto) > self.seen for _, upto, kind in changes):
            self._load(self.matrix.dim)
            return
        logged = {entry_id for _, entry_id, kind in changes if kind != "trim"}
        changed_ids = logged | self.uncommitted
        if len(changed_ids) > max(IDS_AT_ONCE, len(self.matrix)):
            # One by one would take longer than all at once.
            self._load(self.matrix.dim)
            return
        if _in_transaction() and not self.is_provisional:
            # Before they are read: also when that fails, they are in doubt.
            self.uncommitted = changed_ids
            self._apply(self.matrix, list(changed_ids))
        else:
            self._apply(self.matrix, list(changed_ids))
            self.seen = changes[-1][0] if changes else self.seen
            self.uncommitted = set()
        self.bytes_used = self.matrix.bytes_used

    def _apply(self, matrix: Matrix, entry_ids: list[str]) -> None:
        """Reload named entries from the database; deleted ones are dropped."""
        for start in range(0, len(entry_ids), IDS_AT_ONCE):
            part = entry_ids[start : start + IDS_AT_ONCE]
            batch = rows.read_ids(self.workspace_id, self.model, matrix.dim, part)
            present = {name.decode() for name in batch.ids.tolist()}
            deleted_ids = [entry_id for entry_id in part if entry_id not in present]
            if deleted_ids:
                matrix.drop(deleted_ids)
            if len(batch):
                matrix.put(batch)


class Matrices:
    """Every matrix this process keeps, together within a number of bytes.

    The least recently asked one goes first. The one that is being asked stays, even
    when it alone is larger.
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._cached: OrderedDict[Name, CachedMatrix] = OrderedDict()
        self._lock = threading.Lock()

    def view(self, scope: VectorScope, dim: int) -> tuple[Matrix, Snapshot]:
        """Return a scope's whole matrix, caught up, and a view of it; read only."""
        name = _name(scope)
        with self._lock:
            cached = self._cached.setdefault(
                name, CachedMatrix(scope.workspace_id, scope.model)
            )
            self._cached.move_to_end(name)
        known_bytes = cached.bytes_used
        answer = cached.fresh(dim)
        if cached.bytes_used > known_bytes:
            self._make_room(name)
        return answer

    def _make_room(self, kept_name: Name) -> None:
        with self._lock:
            sizes = {name: c.bytes_used for name, c in self._cached.items()}
            total = sum(sizes.values())
            for name, size in sizes.items():
                if total <= self.most_bytes:
                    return
                if size and name != kept_name:
                    del self._cached[name]
                    total -= size

    @property
    def bytes_used(self) -> int:
        """How many bytes the matrices of this process take."""
        with self._lock:
            return sum(cached.bytes_used for cached in self._cached.values())

    def holds(self, scope: VectorScope) -> bool:
        """Whether this process has loaded a workspace's matrix; this loads none."""
        with self._lock:
            cached = self._cached.get(_name(scope))
        return cached is not None and cached.matrix is not None

    def catch_up(self, workspace_id: str) -> int:
        """Update the loaded matrices of a workspace; return how many there are."""
        with self._lock:
            caches = [c for name, c in self._cached.items() if name[1] == workspace_id]
        for cached in caches:
            cached.catch_up()
        return len(caches)

    def clear(self) -> None:
        """Forget every matrix; the next query loads again."""
        with self._lock:
            self._cached.clear()
