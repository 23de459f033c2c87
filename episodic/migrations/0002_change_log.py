"""What tells every process that the index changed, and pgvector's own column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import migrations

if TYPE_CHECKING:
    from django.db.backends.base.schema import BaseDatabaseSchemaEditor
    from django.db.migrations.state import StateApps

_LOG = "INSERT INTO embedding_changes(workspace_id, entry_id, kind) VALUES"

# Triggers, not our code, write the log: whatever touches an embedding is noticed.
SQLITE = (
    f"""
    CREATE TRIGGER embedding_insert AFTER INSERT ON journal_embeddings
    WHEN new.state = 'indexed' BEGIN
        {_LOG} (new.workspace_id, new.entry_id, 'put');
    END
    """,
    f"""
    CREATE TRIGGER embedding_update
    AFTER UPDATE OF state, vector, dim, model, importance_score ON journal_embeddings
    WHEN new.state = 'indexed' OR old.state = 'indexed' BEGIN
        {_LOG} (new.workspace_id, new.entry_id, 'put');
    END
    """,
    f"""
    CREATE TRIGGER embedding_delete AFTER DELETE ON journal_embeddings
    WHEN old.state = 'indexed' BEGIN
        {_LOG} (old.workspace_id, old.entry_id, 'del');
    END
    """,
)
SQLITE_BACK = (
    "DROP TRIGGER embedding_delete",
    "DROP TRIGGER embedding_update",
    "DROP TRIGGER embedding_insert",
)

POSTGRES = (
    "CREATE EXTENSION IF NOT EXISTS vector",
    "ALTER TABLE journal_embeddings ADD COLUMN vec vector",
    """
    CREATE INDEX journal_embeddings_vec_384 ON journal_embeddings
    USING hnsw ((vec::vector(384)) vector_cosine_ops) WHERE dim = 384
    """,
    """
    CREATE INDEX journal_embeddings_vec_768 ON journal_embeddings
    USING hnsw ((vec::vector(768)) vector_cosine_ops) WHERE dim = 768
    """,
)
POSTGRES_BACK = ("ALTER TABLE journal_embeddings DROP COLUMN vec",)


def forwards(_apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Make what the database at hand needs."""
    lite = editor.connection.vendor == "sqlite"
    for statement in SQLITE if lite else POSTGRES:
        editor.execute(statement, params=None)


def backwards(_apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Take it away again."""
    lite = editor.connection.vendor == "sqlite"
    for statement in SQLITE_BACK if lite else POSTGRES_BACK:
        editor.execute(statement, params=None)


class Migration(migrations.Migration):
    """Adds the change log's triggers, or the vector column."""

    dependencies = [("episodic", "0001_initial")]
    operations = [migrations.RunPython(forwards, backwards)]
