"""The schema of a target: brought to that of a backup, then to that of this code."""

from __future__ import annotations

from collections.abc import Iterable

from django.core.management import call_command
from django.core.management.sql import emit_post_migrate_signal
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from crewship_memory.backup.header import Header, Migration
from memory.installation import schema_version
from memory.rules import errors


class SchemaDiffers(errors.Conflict):
    """This code, or the target, cannot have the schema of the backup."""

    code = "schema_differs"
    sentence = "{reason}"


def steps(migrations: Iterable[Migration]) -> set[Migration]:
    """Return a backup's migrations as this code names them; raise SchemaDiffers."""
    applied = set(migrations)
    code = MigrationLoader(None, ignore_no_migrations=True).disk_migrations
    code_names = set(code).union(*(step.replaces for step in code.values()))
    if newer := sorted(".".join(step) for step in applied - code_names):
        raise SchemaDiffers(
            reason="The backup was made by a newer version: this one does not know"
            f" {', '.join(newer[:3])}. Restore it with that version."
        )
    for name, migration in code.items():
        replaced = set(migration.replaces)
        if replaced and name not in applied and replaced & applied:
            if not replaced <= applied:
                rest = sorted(".".join(step) for step in replaced - applied)
                raise SchemaDiffers(reason=schema_version.upgrade_refusal(rest))
            applied.add(name)
    return applied & set(code)


def check(header: Header) -> None:
    """Refuse a target that is migrated further than the backup is."""
    recorded = steps(header.migrations)
    recorder = MigrationRecorder(connection)
    names_here = set(MigrationLoader(None, ignore_no_migrations=True).disk_migrations)
    further = sorted(set(recorder.applied_migrations()) & names_here - recorded)
    if further:
        names = ", ".join(".".join(step) for step in further[:3])
        raise SchemaDiffers(
            reason=f"The target has migrations that the backup lacks ({names}): restore"
            " into a database without tables; they are made, and migrated afterwards."
        )


def migrate_to(header: Header) -> None:
    """Make the tables as the backup has them."""
    recorded = steps(header.migrations)
    executor = MigrationExecutor(connection)
    graph = executor.loader.graph
    # The last of each app: what is before them comes along.
    targets = [
        step
        for step in sorted(recorded)
        if not any(
            child.key in recorded and child.key[0] == step[0]
            for child in graph.node_map[step].children
        )
    ]
    executor.migrate(targets)
    # SQLite's triggers come back with this signal.
    emit_post_migrate_signal(verbosity=0, interactive=False, db=connection.alias)


def check_tables(header: Header) -> None:
    """Refuse a backup with tables or columns that its schema does not have."""
    names = set(connection.introspection.table_names())
    for table in header.tables.values():
        present = columns(table.name) if table.name in names else set()
        absent = {column.name for column in table.columns} - present
        if absent:
            raise SchemaDiffers(
                reason="The backup has columns that its schema does not have:"
                f" {table.name}.{min(absent)}."
            )


def columns(name: str) -> set[str]:
    """Return the columns that a table of the target has now."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {connection.ops.quote_name(name)} LIMIT 0")  # noqa: S608
        return {column[0] for column in cursor.description}


def migrate_to_head() -> None:
    """Bring the target to the schema of this code."""
    call_command("migrate", interactive=False, verbosity=0)
