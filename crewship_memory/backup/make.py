"""Making a backup of a running installation."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

import structlog
from django.db import DatabaseError, connection
from django.utils import timezone

from crewship_memory.backup import (
    bodies,
    envelope,
    fingerprints,
    key_store,
    record,
    rows,
    samples,
    snapshot,
    tables,
)
from crewship_memory.backup.envelope import Output
from crewship_memory.backup.frames import Kind, Writer
from crewship_memory.backup.header import Header
from crewship_memory.backup.header import content as content_of
from crewship_memory.backup.snapshot import Snapshot
from crewship_memory.backup.tables import Table
from crewship_memory.version import VERSION
from memory.installation import identity as installation
from memory.installation import schema_version
from memory.journal import append as journal
from memory.models import ids
from memory.rules import errors

ACTOR: Final = "backup"
# Is told what is worked on, how far it is, and how far it goes.
Watch = Callable[[str, int, int], object]
log = structlog.get_logger(__name__)


def no_step(_name: str) -> None:
    return None


# Called after each step with its name; the crash tests end the process there.
step: Callable[[str], None] = no_step


@dataclass(slots=True)
class Made:
    """What a backup has, for the command and the journal."""

    backup_id: str
    made_at: str
    has_keys: bool
    engine: str
    rows: dict[str, int] = field(default_factory=dict)
    bodies: bodies.Counts = field(default_factory=bodies.Counts)
    samples: int = 0
    bytes: int = 0
    sha256: str = ""
    seconds: float = 0.0
    is_journaled: bool = True

    def as_json(self) -> dict[str, Any]:
        return {
            "backup_id": self.backup_id,
            "made_at": self.made_at,
            "engine": self.engine,
            "keys": self.has_keys,
            "tables": len(self.rows),
            "rows": sum(self.rows.values()),
            "entries": self.rows.get("journal_entries", 0),
            "bodies": self.bodies.bodies,
            "bodies_missing": self.bodies.missing,
            "samples": self.samples,
            "bytes": self.bytes,
            "sha256": self.sha256,
            "seconds": round(self.seconds, 2),
            "journaled": self.is_journaled,
        }


def make(
    target: Path | BinaryIO, secret: bytes, watch: Watch, *, with_keys: bool = True
) -> Made:
    """Write a backup, and note it in every workspace's journal.

    The file is there when it is complete, never before. Raises NotReady while the keys
    or the data folder are not those of the database.
    """
    start = time.monotonic()
    installation.require()
    schema_version.guard()
    if not with_keys:
        key_store.require_apart()
    made = Made(
        ids.make("bkp"), journal.stamp(timezone.now()), with_keys, connection.vendor
    )
    # Before the snapshot: what is asked later may have entries that it lacks.
    sample_rows = samples.taken()
    made.samples = len(sample_rows)
    with envelope.output(target, secret) as output:
        _write(output, made, sample_rows, watch)
    step("in_place")
    made.bytes, made.sha256 = output.size, output.sha256
    made.seconds = time.monotonic() - start
    _note(made)
    return made


def _write(
    output: Output, made: Made, sample_rows: list[dict[str, Any]], watch: Watch
) -> None:
    writer = Writer(output.write)
    with snapshot.taken() as moment:
        all_tables = tables.all_tables()
        made.rows = {table.name: moment.count(table) for table in all_tables}
        writer.put(Kind.HEADER, content_of(_header(made, moment, all_tables)))
        if made.has_keys:
            writer.put(Kind.KEYS, key_store.collected())
        writer.put(Kind.SAMPLES, {"samples": sample_rows})
        for table in all_tables:
            _write_table(writer, moment, table, made.rows[table.name], watch)
            step(table.name)
        total = bodies.expected(moment)
        for piece in bodies.pieces(moment, made.bodies):
            content = {
                "folder": piece.folder,
                "parts": list(piece.parts),
                "last": piece.is_last,
            }
            writer.put(Kind.BODY, content, piece.data, pack=True)
            watch("bodies", made.bodies.bodies, total)
        step("bodies")
    # The last thing, so that it knows erasures that began since the snapshot.
    for part in fingerprints.pieces():
        content = {"name": part.name, "last": part.is_last}
        writer.put(Kind.ERASURES, content, part.data, pack=True)
    end = {"sha256": writer.digest.hexdigest(), "missing": made.bodies.missing}
    writer.put(Kind.END, end | {"bodies": made.bodies.bodies})


def _header(made: Made, moment: Snapshot, all_tables: list[Table]) -> Header:
    migrations = moment.select("SELECT app, name FROM django_migrations ORDER BY id")
    installation_id = installation.installation_id()
    return Header(
        backup_id=made.backup_id,
        installation_id=installation_id,
        version=VERSION,
        engine=made.engine,
        made_at=made.made_at,
        has_keys=made.has_keys,
        keys=key_store.fingerprints(installation_id),
        migrations=tuple((str(app), str(name)) for app, name in migrations),
        tables={table.name: table for table in all_tables},
        rows=made.rows,
    )


def _write_table(
    writer: Writer, moment: Snapshot, table: Table, total: int, watch: Watch
) -> None:
    count = 0
    for batch in rows.batches(table, moment.rows(table)):
        content = {"table": table.name, "rows": batch.rows}
        writer.put(Kind.ROWS, content, bytes(batch.data))
        count += len(batch.rows)
        watch(table.name, count, total)


def _note(made: Made) -> None:
    """Note the backup in the journal; a full disk does not undo it."""
    facts = {
        "backup_id": made.backup_id,
        "made_at": made.made_at,
        "bytes": made.bytes,
        "sha256": made.sha256,
        "keys": made.has_keys,
    }
    try:
        record.everywhere(record.MADE, facts, ACTOR)
    except (DatabaseError, OSError, errors.Unavailable):
        log.exception("backup_not_journaled")
        made.is_journaled = False
