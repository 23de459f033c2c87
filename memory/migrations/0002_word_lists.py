"""The words of entries for the word ranking, and triggers that keep them right."""

from django.db import migrations, models

import memory.models.words
from memory import raw_sql
from memory.word_index import storage

_LOG = "INSERT INTO word_changes(workspace_id, docid, kind) VALUES"
# What the index keeps of an entry besides its words.
_FLAGS = (
    "retired_at, restricted_at, erased_at, embeddable, entry_type, ts, recorded_at,"
    " crew_id, agent_id, trace_id"
)

SQLITE = (
    # Triggers, not our code: whatever touches an entry, its words do not outlive it.
    f"""
    CREATE TRIGGER journal_words_delete AFTER DELETE ON journal_entries BEGIN
        DELETE FROM journal_words WHERE docid = old.docid;
        {_LOG} (old.workspace_id, old.docid, 'del');
    END
    """,  # noqa: S608
    f"""
    CREATE TRIGGER journal_words_update
    AFTER UPDATE OF summary, body, docid ON journal_entries BEGIN
        DELETE FROM journal_words WHERE docid = old.docid;
        DELETE FROM journal_words WHERE docid = new.docid;
        {_LOG} (old.workspace_id, old.docid, 'words');
        INSERT INTO word_changes(workspace_id, docid, kind)
        SELECT new.workspace_id, new.docid, 'words' WHERE new.docid <> old.docid;
    END
    """,  # noqa: S608
    f"""
    CREATE TRIGGER journal_words_flags
    AFTER UPDATE OF {_FLAGS} ON journal_entries BEGIN
        {_LOG} (new.workspace_id, new.docid, 'flags');
    END
    """,
    # Its author's name is among an entry's words.
    """
    CREATE TRIGGER agents_words_rename AFTER UPDATE OF name ON agents
    WHEN old.name <> new.name BEGIN
        DELETE FROM journal_words WHERE docid IN (
            SELECT docid FROM journal_entries
            WHERE workspace_id = new.workspace_id AND agent_id = new.id
        );
        INSERT INTO word_changes(workspace_id, docid, kind)
        SELECT workspace_id, docid, 'words' FROM journal_entries
        WHERE workspace_id = new.workspace_id AND agent_id = new.id;
    END
    """,
)
SQLITE_BACK = (
    "DROP TRIGGER agents_words_rename",
    "DROP TRIGGER journal_words_flags",
    "DROP TRIGGER journal_words_update",
    "DROP TRIGGER journal_words_delete",
)
# Nobody keeps an index in memory there: nothing is logged.
POSTGRES = (
    """
    CREATE FUNCTION journal_words_forget() RETURNS trigger
    LANGUAGE plpgsql AS $$
    BEGIN
        DELETE FROM journal_words WHERE docid = old.docid;
        RETURN NULL;
    END
    $$
    """,
    """
    CREATE TRIGGER journal_words_delete AFTER DELETE ON journal_entries
    FOR EACH ROW EXECUTE FUNCTION journal_words_forget()
    """,
    """
    CREATE TRIGGER journal_words_update
    AFTER UPDATE OF summary, body, docid ON journal_entries
    FOR EACH ROW EXECUTE FUNCTION journal_words_forget()
    """,
    """
    CREATE FUNCTION agents_words_forget() RETURNS trigger
    LANGUAGE plpgsql AS $$
    BEGIN
        DELETE FROM journal_words WHERE docid IN (
            SELECT docid FROM journal_entries
            WHERE workspace_id = new.workspace_id AND agent_id = new.id
        );
        RETURN NULL;
    END
    $$
    """,
    """
    CREATE TRIGGER agents_words_rename AFTER UPDATE OF name ON agents
    FOR EACH ROW WHEN (old.name <> new.name) EXECUTE FUNCTION agents_words_forget()
    """,
)
POSTGRES_BACK = (
    "DROP TRIGGER agents_words_rename ON agents",
    "DROP FUNCTION agents_words_forget()",
    "DROP TRIGGER journal_words_update ON journal_entries",
    "DROP TRIGGER journal_words_delete ON journal_entries",
    "DROP FUNCTION journal_words_forget()",
)


def fill(_apps, editor):
    """Write the words of the entries that are there: a tenth of a second per 1,000.

    On PostgreSQL a later migration does, into the table it makes of this one.
    """
    if editor.connection.vendor == "sqlite":
        storage.fill()


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0001_schema"),
    ]

    operations = [
        migrations.CreateModel(
            name="EntryWords",
            fields=[
                (
                    "docid",
                    memory.models.words.RowNumberField(
                        primary_key=True, serialize=False
                    ),
                ),
                ("words", models.BinaryField()),
            ],
            options={
                "db_table": "journal_words",
                "verbose_name_plural": "entry words",
            },
        ),
        migrations.CreateModel(
            name="WordChange",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("workspace_id", models.CharField(max_length=32)),
                ("docid", models.BigIntegerField()),
                ("kind", models.CharField(max_length=5)),
            ],
            options={
                "db_table": "word_changes",
                "indexes": [
                    models.Index(fields=["workspace_id", "id"], name="word_change_of")
                ],
            },
        ),
        raw_sql.operation(
            {"sqlite": SQLITE, "postgresql": POSTGRES},
            {"sqlite": SQLITE_BACK, "postgresql": POSTGRES_BACK},
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
