"""Restoring a backup into an empty installation.

First the rows, bodies and keys are loaded, at the schema of the backup; ``finish`` does
the rest. From the first change to the last the database carries a mark, and nothing of
it is served.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

from django.conf import settings
from django.db import IntegrityError, connection, transaction

from crewship_memory.backup import (
    bodies,
    fingerprints,
    finish,
    header,
    indexes,
    key_store,
    make,
    rows,
    schema,
    tables,
    target,
    target_lock,
)
from crewship_memory.backup.envelope import BadBackup, Input
from crewship_memory.backup.finish import Report
from crewship_memory.backup.frames import Frame, Kind, Reader
from crewship_memory.backup.header import Header
from crewship_memory.backup.make import Watch
from crewship_memory.backup.snapshot import Row
from memory.installation import identity as installation
from memory.installation import restore_mark
from memory.rules import errors


def restore(
    source: BinaryIO | None,
    secret: bytes,
    watch: Watch,
    *,
    erasures: Path | None = None,
    accept: bool = False,
) -> Report:
    """Restore a backup; without one, end a restore that had loaded everything.

    The report says what was carried out and verified. While it has problems, and they
    are not accepted, the installation is not served.
    """
    if erasures is not None:
        fingerprints.check_folder(erasures)
    with _alone(), target_lock.held(connection) as locked, restore_mark.ours():
        try:
            if source is not None:
                _load(Reader(Input(source, secret)), watch, locked)
            return finish.finish(watch, locked, erasures=erasures, accept=accept)
        finally:
            installation.forget()


class Busy(errors.Conflict):
    """A server starts, or another restore runs, in the same data folder."""

    code = "data_folder_busy"
    sentence = "Another restore runs, or a server starts, in this data folder."


@contextmanager
def _alone() -> Iterator[None]:
    """Hold the lock that ``up`` prepares with; raise Busy."""
    with (Path(settings.DATA_DIR) / "up.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy from None
        yield


def _load(reader: Reader, watch: Watch, locked: target_lock.Check) -> None:
    frames = iter(reader)
    first = next(frames)
    if first.kind != Kind.HEADER:
        raise BadBackup(reason="The backup does not begin with its header.")
    head = header.parsed(first.content)
    if target.check(head):
        return
    if not head.has_keys:
        key_store.check_complete()
    target.begin(head)
    make.step("marked")
    schema.migrate_to(head)
    schema.check_tables(head)
    make.step("migrated")
    connection.disable_constraint_checking()
    try:
        target.empty_tables(connection, [*head.tables, *tables.left_out_here()])
        note = _Load(head, watch).run(frames)
        # Triggers wrote into the logs of changes, which nobody will read.
        target.empty_tables(connection, tables.left_out_here())
        with _references_checked():
            connection.check_constraints()
    finally:
        connection.enable_constraint_checking()
    rows.reset_sequences(connection, head.tables.values())
    locked()
    target.note_loaded(note)
    make.step("loaded")


@contextmanager
def _references_checked() -> Iterator[None]:
    try:
        yield
    except IntegrityError:
        raise BadBackup(
            reason="Rows of the backup refer to rows that it does not have."
        ) from None


class _Load:
    """Takes the frames of a backup in their order."""

    def __init__(self, head: Header, watch: Watch) -> None:
        self._head, self._watch = head, watch
        self._counts: dict[str, int] = {}
        self._samples: list[Any] = []
        self._missing = 0
        self._bodies = bodies.target(head.installation_id)
        self._erasures = fingerprints.Target()

    def run(self, frames: Iterator[Frame]) -> dict[str, Any]:
        """Load everything; return what the mark notes of it."""
        for (kind, name), group in groupby(frames, key=_group):
            if kind == Kind.ROWS:
                self._rows(name, group)
                make.step(name)
                continue
            for frame in group:
                self._take(frame)
        return {
            "kind": "restore",
            "backup_id": self._head.backup_id,
            "made_at": self._head.made_at,
            "engine": self._head.engine,
            "version": self._head.version,
            "has_keys": self._head.has_keys,
            "rows": dict(self._head.rows),
            "bodies": self._bodies.counts.bodies,
            "bodies_missing": self._missing,
            "samples": self._samples,
        }

    def _take(self, frame: Frame) -> None:
        content = frame.content
        if frame.kind == Kind.KEYS:
            key_store.restore(content)
        elif frame.kind == Kind.SAMPLES:
            samples = content.get("samples")
            self._samples = samples if isinstance(samples, list) else []
        elif frame.kind == Kind.BODY:
            self._bodies.add(content, frame.data)
            self._watch("bodies", self._bodies.counts.bodies, 0)
        elif frame.kind == Kind.ERASURES:
            is_last = content.get("last") is True
            piece = fingerprints.Piece(str(content.get("name")), frame.data, is_last)
            self._erasures.add(piece)
        elif frame.kind == Kind.END:
            self._end(content)
        else:
            raise BadBackup(reason="The frames of the backup are in another order.")

    def _rows(self, name: str, group: Iterator[Frame]) -> None:
        table = self._head.tables.get(name)
        if table is None or name in self._counts:
            raise BadBackup(reason="The backup has rows of a table it does not name.")
        total = self._head.rows[name]

        def batches() -> Iterator[list[Row]]:
            count = 0
            for frame in group:
                batch = rows.unpacked(table, frame.content.get("rows"), frame.data)
                count += len(batch)
                if count > total:
                    raise BadBackup(reason=f"{name} has more rows than it says.")
                yield batch
                self._watch(name, count, total)

        # PostgreSQL looks at foreign keys here, SQLite at the end.
        left_out = indexes.left_out(connection, name, total)
        with _references_checked(), transaction.atomic(), left_out:
            self._counts[name] = rows.insert(connection, table, batches())

    def _end(self, content: dict[str, Any]) -> None:
        self._bodies.finish()
        for name, total in self._head.rows.items():
            if self._counts.get(name, 0) != total:
                raise BadBackup(reason=f"{name} has fewer rows than the header says.")
        if self._bodies.counts.bodies != content.get("bodies"):
            raise BadBackup(reason="The backup has another number of bodies.")
        self._missing = int(content.get("missing") or 0)


def _group(frame: Frame) -> tuple[Kind, str]:
    return frame.kind, str(frame.content.get("table", ""))


def open_backup(path: Path) -> BinaryIO:
    """Open a file; raise NotFound."""
    try:
        return path.open("rb")
    except OSError as error:
        raise errors.NotFound(f"Cannot read {path}: {error.strerror}.") from None
