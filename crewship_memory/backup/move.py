"""Moving an embedded installation into PostgreSQL.

The rows are copied table by table, each in a transaction that also notes it, so that an
interrupted move goes on with the next table. Another process then does on the new
database what ends a restore. The SQLite file is read and left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import environ
from django.conf import settings
from django.db import OperationalError, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from crewship_memory.backup import (
    child_process,
    indexes,
    make,
    rows,
    samples,
    snapshot,
    tables,
    target,
    target_lock,
)
from crewship_memory.backup.make import Watch
from crewship_memory.backup.snapshot import Row, Snapshot
from crewship_memory.backup.tables import Table
from memory.installation import bodies, restore_mark, schema_version
from memory.installation import identity as installation
from memory.journal import append as journal
from memory.rules import errors

ALIAS: Final = "move_target"
BATCH: Final = 500


class CannotMove(errors.Conflict):
    """This installation, or the new database, is none to move from or into."""

    code = "cannot_move"
    sentence = "{reason}"


def move(url: str, watch: Watch, *, accept: bool = False) -> dict[str, Any]:
    """Copy the installation into the database of a URL; return the report.

    Run again after an interruption. Raises CannotMove and InUse with nothing changed.
    """
    if connection.vendor != "sqlite":
        raise CannotMove(reason="This installation is on PostgreSQL already.")
    installation.require()
    schema_version.guard()
    installation_id = installation.installation_id()
    database = _database(url)
    with target_lock.held(database) as locked:
        _copy_all(url, database, _note(database, installation_id), watch)
        locked()
    make.step("moved")
    database.close()
    watch("verifying", 0, 0)
    arguments = ["--accept"] if accept else []
    return child_process.restore(arguments, {"DATABASE_URL": url})


def _copy_all(
    url: str, database: BaseDatabaseWrapper, note: dict[str, Any], watch: Watch
) -> None:
    if note.get("stage") == target.LOADED:
        return
    note["samples"] = note.get("samples") or samples.taken()
    note["made_at"] = note.get("made_at") or journal.stamp(timezone.now())
    restore_mark.write(note, database)
    if not note.get("is_migrated"):
        child_process.migrate({"DATABASE_URL": url})
    with snapshot.alone() as moment:
        _load(moment, database, note, watch)


def _database(url: str) -> BaseDatabaseWrapper:
    config = dict(environ.FileAwareEnv.db_url_config(url))
    if config.get("ENGINE") != "django.db.backends.postgresql":
        raise CannotMove(reason="The new database has to be PostgreSQL: postgres://…")
    config["OPTIONS"] = {"connect_timeout": 5, **config.get("OPTIONS", {})}
    connections.settings[ALIAS] = connections.configure_settings(
        {"default": settings.DATABASES["default"], ALIAS: config}
    )[ALIAS]
    database = connections[ALIAS]
    try:
        database.ensure_connection()
    except OperationalError:
        raise CannotMove(reason="The new database does not answer.") from None
    return database


def _note(database: BaseDatabaseWrapper, installation_id: str) -> dict[str, Any]:
    """Return what an interrupted move noted, or a new note for an empty database."""
    note = restore_mark.read(database)
    if note is None:
        if table := target.filled_table(database):
            raise CannotMove(reason=f"The table {table} of the new database has rows.")
        return {
            "stage": target.LOADING,
            "kind": "move",
            "backup_id": installation_id,
            "engine": connection.vendor,
            "rows": {},
        }
    if note.get("kind") != "move" or note.get("backup_id") != installation_id:
        raise CannotMove(reason="Something else is being restored into that database.")
    return note


def _load(
    moment: Snapshot, database: BaseDatabaseWrapper, note: dict[str, Any], watch: Watch
) -> None:
    all_tables = tables.all_tables(with_bodies=bodies.in_database())
    if not note.get("is_migrated"):
        names = [table.name for table in all_tables]
        with transaction.atomic(using=ALIAS):
            target.empty_tables(database, names)
            note["is_migrated"] = True
            restore_mark.write(note, database)
    for table in all_tables:
        if table.name not in note["rows"]:
            _copy(moment, database, table, note, watch)
            make.step(table.name)
    _compare(moment, database, all_tables)
    rows.reset_sequences(database, all_tables)
    note |= {"stage": target.LOADED, "bodies": None, "bodies_missing": 0}
    with transaction.atomic(using=ALIAS):
        restore_mark.write(note, database)


def _copy(
    moment: Snapshot,
    database: BaseDatabaseWrapper,
    table: Table,
    note: dict[str, Any],
    watch: Watch,
) -> None:
    total = moment.count(table)

    def batches() -> Iterator[list[Row]]:
        iterator, count = moment.rows(table), 0
        while batch := list(islice(iterator, BATCH)):
            yield batch
            count += len(batch)
            watch(table.name, count, total)

    left_out = indexes.left_out(database, table.name, total)
    with transaction.atomic(using=ALIAS), left_out:
        note["rows"][table.name] = rows.insert(database, table, batches())
        restore_mark.write(note, database)


def _compare(
    moment: Snapshot, database: BaseDatabaseWrapper, all_tables: list[Table]
) -> None:
    """Raise CannotMove where a table has another number of rows than before."""
    with database.cursor() as cursor:
        for table in all_tables:
            name = database.ops.quote_name(table.name)
            cursor.execute(f"SELECT count(*) FROM {name}")  # noqa: S608
            count, expected = cursor.fetchone()[0], moment.count(table)
            if count != expected:
                raise CannotMove(
                    reason=f"{table.name} has {count} rows and not {expected}: the old"
                    " database was written to meanwhile. Empty the new one, and begin"
                    " again."
                )
