"""Trees of files in the database: for an installation on several machines.

There are no folders, links or half-written files here. A workspace that is in the
database is the root of its paths, so that a tree is never lost on its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Final

from django.db.models import BinaryField, Case, F, QuerySet, Sum, When
from django.utils import timezone

from memory.models import StoredFile, Workspace
from memory.rules import errors
from memory.stored_files import store
from memory.stored_files.store import (
    LOCK_SECONDS,
    Locks,
    RawFile,
    Stored,
    Unsafe,
    check_part,
    digest,
)

# What a file system allows; a name that is longer there is refused here as well.
_NAME_BYTES: Final = 255
_PATH_CHARS: Final = 600


def _path(parts: Sequence[str]) -> str:
    for part in parts:
        check_part(part)
        # Half a surrogate pair: a database does not take it.
        if not part.isascii() and part != part.encode("utf-8", "replace").decode():
            raise Unsafe(label="The path")
        if len(part.encode()) > _NAME_BYTES:
            raise Unsafe(label="The path")
    path = "/".join(parts)
    if len(path) > _PATH_CHARS:
        raise Unsafe(label="The path")
    return path


class DatabaseStore:
    """One tree. ``workspace_field`` is what the first segment of a path names."""

    def __init__(self, tree: str, locks: Locks, workspace_field: str = "id") -> None:
        self._tree, self._locks, self._field = tree, locks, workspace_field

    # ── Whose rows ───────────────────────────────────────────────────────────
    def _below(self, parts: Sequence[str]) -> QuerySet[StoredFile]:
        """Return the rows below a folder."""
        rows = StoredFile.objects.filter(tree=self._tree)
        if not parts:
            return rows
        path = _path(parts)
        rows = rows.filter(**{f"workspace__{self._field}": parts[0]})
        return rows.filter(path__startswith=f"{path}/")

    def _at(self, parts: Sequence[str]) -> QuerySet[StoredFile]:
        """Return the row of a file, as a set of one or none."""
        path = _path(parts)
        rows = StoredFile.objects.filter(tree=self._tree, path=path)
        return rows.filter(**{f"workspace__{self._field}": parts[0]})

    def _workspace_id(self, first: str) -> str | None:
        rows = Workspace.objects.filter(**{self._field: first})
        return rows.values_list("pk", flat=True).first()

    def check(self) -> None:
        """Do nothing: a database without the table fails by itself."""

    def has_folder(self, parts: Sequence[str]) -> bool:
        """Whether a folder is there; that of a workspace outlives its last file."""
        if len(parts) == 1:
            return self._workspace_id(parts[0]) is not None
        return self._below(parts).exists()

    # ── Reading ──────────────────────────────────────────────────────────────
    def read(self, parts: Sequence[str]) -> Stored | None:
        """Return a file's bytes, None when it is not there; raise TooLarge."""
        small = When(size__lte=store.READ_LIMIT, then=F("body"))
        rows = self._at(parts).annotate(
            small=Case(small, default=None, output_field=BinaryField(null=True))
        )
        row = rows.values_list("small", "size").first()
        if row is None:
            return None
        if row[0] is None:
            limit = store.READ_LIMIT
            raise errors.TooLarge(what=parts[-1], limit=limit, size=row[1])
        data = bytes(row[0])
        return Stored(data, digest(data))

    def age(self, parts: Sequence[str]) -> float:
        """Return the seconds since a file was written or touched, 0 for none."""
        at = self._at(parts).values_list("written_at", flat=True).first()
        return (timezone.now() - at).total_seconds() if at else 0.0

    def walk(self, parts: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
        """Yield every file below a folder by name, hidden names left out."""
        paths = self._below(parts).values_list("path", flat=True)
        for below in sorted(tuple(path.split("/")) for path in paths.iterator()):
            if not any(part.startswith(".") for part in below[len(parts) :]):
                yield below

    def raw(self, parts: Sequence[str] = ()) -> Iterator[RawFile]:
        """Yield every file below a folder, hidden ones as well."""
        rows = self._below(parts).order_by("path").values_list("pk", "path")
        for pk, path in rows.iterator():
            read, remove = partial(_read_row, pk), partial(_remove_row, pk)
            yield RawFile(self._tree, tuple(path.split("/")), read, remove)

    def bytes_below(self, parts: Sequence[str]) -> int:
        """Return how many bytes the files below a folder have."""
        return self._below(parts).aggregate(total=Sum("size"))["total"] or 0

    # ── Writing ──────────────────────────────────────────────────────────────
    def write(self, parts: Sequence[str], data: bytes) -> str:
        """Write a file in one statement; return the SHA-256 of its bytes."""
        path, workspace_id = _path(parts), self._workspace_id(parts[0])
        if workspace_id is None or len(parts) < 2:
            raise Unsafe(label="/".join(parts[-2:]))
        row = StoredFile(
            workspace_id=workspace_id,
            tree=self._tree,
            path=path,
            body=data,
            size=len(data),
            sha256=digest(data),
        )
        StoredFile.objects.bulk_create(
            [row],
            update_conflicts=True,
            unique_fields=["workspace", "tree", "path"],
            update_fields=["body", "size", "sha256", "written_at"],
        )
        return row.sha256

    def remove(self, parts: Sequence[str]) -> bool:
        """Remove a file; return whether there was one."""
        return bool(self._at(parts).delete()[0])

    def remove_below(self, parts: Sequence[str]) -> int:
        """Remove every file below a folder; return how many."""
        return self._below(parts).delete()[0]

    def touch(self, parts: Sequence[str]) -> None:
        """Set a file's time to now, so that it does not count as abandoned."""
        self._at(parts).update(written_at=timezone.now())

    def tidy(self) -> int:
        """Return 0: a transaction leaves nothing half-written."""
        return 0

    # ── Locking ──────────────────────────────────────────────────────────────
    def locked(
        self, name: str, seconds: float = LOCK_SECONDS
    ) -> AbstractContextManager[None]:
        """Hold the lock of one file, across machines; raise Busy."""
        return self._locks.locked(name, seconds)

    def forget_lock(self, name: str) -> None:
        """Remove what the lock of a file that is gone leaves behind."""
        self._locks.forget_lock(name)


def _read_row(pk: int) -> bytes:
    body = StoredFile.objects.filter(pk=pk).values_list("body", flat=True).first()
    if body is None:
        raise FileNotFoundError
    return bytes(body)


def _remove_row(pk: int) -> bool:
    return bool(StoredFile.objects.filter(pk=pk).delete()[0])
