"""The word index of memory files: FTS5 with triggers, or a generated tsvector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import migrations

if TYPE_CHECKING:
    from django.db.backends.base.schema import BaseDatabaseSchemaEditor
    from django.db.migrations.state import StateApps

SQLITE = (
    """
    CREATE VIRTUAL TABLE chunks_fts USING fts5(
        heading, text, content='memory_chunks', content_rowid='id',
        tokenize='porter unicode61 remove_diacritics 2'
    )
    """,
    """
    CREATE TRIGGER chunks_fts_insert AFTER INSERT ON memory_chunks BEGIN
        INSERT INTO chunks_fts(rowid, heading, text)
        VALUES (new.id, new.heading, new.text);
    END
    """,
    """
    CREATE TRIGGER chunks_fts_delete AFTER DELETE ON memory_chunks BEGIN
        INSERT INTO chunks_fts(chunks_fts, rowid, heading, text)
        VALUES ('delete', old.id, old.heading, old.text);
    END
    """,
    """
    CREATE TRIGGER chunks_fts_update
    AFTER UPDATE OF heading, text ON memory_chunks BEGIN
        INSERT INTO chunks_fts(chunks_fts, rowid, heading, text)
        VALUES ('delete', old.id, old.heading, old.text);
        INSERT INTO chunks_fts(rowid, heading, text)
        VALUES (new.id, new.heading, new.text);
    END
    """,
)
SQLITE_BACK = (
    "DROP TRIGGER chunks_fts_update",
    "DROP TRIGGER chunks_fts_delete",
    "DROP TRIGGER chunks_fts_insert",
    "DROP TABLE chunks_fts",
)
POSTGRES = (
    """
    ALTER TABLE memory_chunks ADD COLUMN tsv tsvector
    GENERATED ALWAYS AS (
        setweight(to_tsvector('english', journal_fold(text)), 'A')
        || setweight(to_tsvector('english', journal_fold(heading)), 'B')
    ) STORED
    """,
    "CREATE INDEX memory_chunks_tsv ON memory_chunks USING gin (tsv)",
)
POSTGRES_BACK = ("ALTER TABLE memory_chunks DROP COLUMN tsv",)


def forwards(_apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Make the index of the database at hand."""
    lite = editor.connection.vendor == "sqlite"
    for statement in SQLITE if lite else POSTGRES:
        editor.execute(statement, params=None)


def backwards(_apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Drop it; the chunks stay."""
    lite = editor.connection.vendor == "sqlite"
    for statement in SQLITE_BACK if lite else POSTGRES_BACK:
        editor.execute(statement, params=None)


class Migration(migrations.Migration):
    """Adds the word index of memory files."""

    dependencies = [("memory", "0003_files")]
    operations = [migrations.RunPython(forwards, backwards)]
