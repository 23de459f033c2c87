"""The word index of the journal: FTS5 with triggers, or a generated tsvector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import migrations

if TYPE_CHECKING:
    from django.db.backends.base.schema import BaseDatabaseSchemaEditor
    from django.db.migrations.state import StateApps

# External content: the words rest once, in the entries. Deleting and changing must tell
# the index the old values, or it keeps (and later corrupts) what it no longer knows.
SQLITE = (
    """
    CREATE VIRTUAL TABLE journal_fts USING fts5(
        summary, body,
        content='journal_entries', content_rowid='docid',
        tokenize='porter unicode61 remove_diacritics 2'
    )
    """,
    """
    CREATE TRIGGER journal_fts_insert AFTER INSERT ON journal_entries BEGIN
        INSERT INTO journal_fts(rowid, summary, body)
        VALUES (new.docid, new.summary, new.body);
    END
    """,
    """
    CREATE TRIGGER journal_fts_delete AFTER DELETE ON journal_entries BEGIN
        INSERT INTO journal_fts(journal_fts, rowid, summary, body)
        VALUES ('delete', old.docid, old.summary, old.body);
    END
    """,
    """
    CREATE TRIGGER journal_fts_update
    AFTER UPDATE OF summary, body, docid ON journal_entries BEGIN
        INSERT INTO journal_fts(journal_fts, rowid, summary, body)
        VALUES ('delete', old.docid, old.summary, old.body);
        INSERT INTO journal_fts(rowid, summary, body)
        VALUES (new.docid, new.summary, new.body);
    END
    """,
)
SQLITE_BACK = (
    "DROP TRIGGER journal_fts_update",
    "DROP TRIGGER journal_fts_delete",
    "DROP TRIGGER journal_fts_insert",
    "DROP TABLE journal_fts",
)

# U+0300 to U+036F are the combining marks that NFKD splits off letters. Punctuation
# becomes space, or the parser would read "order-4711" as a word and a negative number.
POSTGRES = (
    r"""
    CREATE FUNCTION journal_fold(text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
        SELECT regexp_replace(regexp_replace(
            normalize(lower($1), NFKD), '[' || U&'\0300' || '-' || U&'\036F' || ']',
            '', 'g'), '[!-/:-@\[-`{-~]+', ' ', 'g')
    $$
    """,
    """
    ALTER TABLE journal_entries ADD COLUMN tsv tsvector
    GENERATED ALWAYS AS (
        setweight(to_tsvector('english', journal_fold(left(summary, 4096))), 'A')
        || to_tsvector('english', journal_fold(left(body, 65536)))
    ) STORED
    """,
    "CREATE INDEX journal_tsv ON journal_entries USING gin (tsv)",
)
POSTGRES_BACK = (
    "ALTER TABLE journal_entries DROP COLUMN tsv",
    "DROP FUNCTION journal_fold(text)",
)


def forwards(_apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Make the index of the database at hand."""
    lite = editor.connection.vendor == "sqlite"
    for statement in SQLITE if lite else POSTGRES:
        editor.execute(statement, params=None)


def backwards(_apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Drop it; the words are still in the entries."""
    lite = editor.connection.vendor == "sqlite"
    for statement in SQLITE_BACK if lite else POSTGRES_BACK:
        editor.execute(statement, params=None)


class Migration(migrations.Migration):
    """Adds the word index."""

    dependencies = [("memory", "0001_initial")]
    operations = [migrations.RunPython(forwards, backwards)]
