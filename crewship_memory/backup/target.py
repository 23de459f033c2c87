"""What a backup is restored into: an empty installation, or one it was begun in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from django.conf import settings
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from crewship_memory.backup import bodies, fingerprints, key_store, schema
from crewship_memory.backup.header import Header
from memory.installation import bodies as body_settings
from memory.installation import restore_mark
from memory.models import Installation
from memory.rules import errors

LOADING: Final = "loading"
LOADED: Final = "loaded"
# What migrating alone leaves rows in.
_MIGRATED: Final = frozenset(
    {
        "django_migrations",
        "django_content_type",
        "auth_permission",
        restore_mark.TABLE,
    }
)


class NotEmpty(errors.Conflict):
    """Something is there already; nothing was changed."""

    code = "target_not_empty"
    sentence = "A backup is restored into an empty installation only: {reason}."


def _quoted(name: str) -> str:
    return connection.ops.quote_name(name)


def filled_table(database: BaseDatabaseWrapper) -> str | None:
    """Return the name of a table with rows, None when the database is empty."""
    with database.cursor() as cursor:
        for name in sorted(database.introspection.table_names(cursor)):
            if name in _MIGRATED or name.startswith(("journal_fts", "chunks_fts")):
                continue
            cursor.execute(f"SELECT 1 FROM {_quoted(name)} LIMIT 1")  # noqa: S608
            if cursor.fetchone():
                return name
    return None


def check(header: Header) -> bool:
    """Refuse a target that is not empty; return whether the rows are loaded already.

    A restore that was interrupted while it loaded begins again; one that had loaded
    everything goes on, with the same backup.
    """
    note = restore_mark.read()
    key_store.check_present(header.installation_id, header.keys)
    if note is None:
        schema.check(header)
        if table := filled_table(connection):
            raise NotEmpty(reason=f"the table {table} of the database has rows")
        _check_folder()
        return False
    if note.get("stage") == LOADED:
        if note.get("backup_id") != header.backup_id:
            raise NotEmpty(
                reason="another backup was loaded here, and its restore has not ended;"
                " run restore without a file to end it"
            )
        return True
    schema.check(header)
    if note.get("data_dir") != str(settings.DATA_DIR):
        _check_folder()
    return False


def _check_folder() -> None:
    if folders := bodies.present():
        raise NotEmpty(reason=f"the data folder has files in {', '.join(folders)}")


def begin(header: Header) -> None:
    """Mark the target, and delete what an interrupted restore left there."""
    note = {
        "stage": LOADING,
        "kind": "restore",
        "backup_id": header.backup_id,
        "data_dir": str(settings.DATA_DIR),
    }
    restore_mark.write(note)
    bodies.clear()
    fingerprints.clear()


def empty_tables(database: BaseDatabaseWrapper, names: Iterable[str]) -> None:
    """Delete the rows of tables, without a look at foreign keys."""
    listed = [_quoted(name) for name in names]
    with transaction.atomic(using=database.alias), database.cursor() as cursor:
        if database.vendor == "postgresql":
            cursor.execute(f"TRUNCATE {', '.join(listed)} CASCADE")
        else:
            for name in listed:
                cursor.execute(f"DELETE FROM {name}")  # noqa: S608


def note_loaded(note: dict[str, Any]) -> None:
    """Note that every row and body is there, the bodies in the data folder."""
    with transaction.atomic():
        if "bodies" in schema.columns(Installation._meta.db_table):
            Installation.objects.update(bodies=body_settings.FOLDER)
        restore_mark.write({"stage": LOADED, **note})
