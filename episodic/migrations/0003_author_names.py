"""A new name of an agent: what was embedded with the old one is embedded again."""

from django.db import migrations

from memory import raw_sql


_AGAIN = (
    "UPDATE journal_embeddings SET vector = {empty}, dim = 0, attempts = 0,"
    " last_error = '', next_attempt_at = NULL, lease_until = NULL,"
    " state = CASE state WHEN 'withheld' THEN 'withheld' ELSE 'pending' END{more}"
    " WHERE workspace_id = new.workspace_id AND agent_id = new.id AND dim > 0"
)
SQLITE = (
    f"""
    CREATE TRIGGER agents_embeddings_rename AFTER UPDATE OF name ON agents
    WHEN old.name <> new.name BEGIN
        {_AGAIN.format(empty="x''", more="")};
    END
    """,
)
SQLITE_BACK = ("DROP TRIGGER agents_embeddings_rename",)
POSTGRES = (
    f"""
    CREATE FUNCTION agents_embeddings_begin_again() RETURNS trigger
    LANGUAGE plpgsql AS $$
    BEGIN
        {_AGAIN.format(empty="''", more=", vec = NULL")};
        RETURN NULL;
    END $$
    """,
    """
    CREATE TRIGGER agents_embeddings_rename AFTER UPDATE OF name ON agents FOR EACH ROW
    WHEN (old.name <> new.name) EXECUTE FUNCTION agents_embeddings_begin_again()
    """,
)
POSTGRES_BACK = (
    "DROP TRIGGER agents_embeddings_rename ON agents",
    "DROP FUNCTION agents_embeddings_begin_again()",
)


class Migration(migrations.Migration):
    dependencies = [
        ("episodic", "0002_recall_log"),
        ("memory", "0002_word_lists"),
    ]

    operations = [
        raw_sql.operation(
            {"sqlite": SQLITE, "postgresql": POSTGRES},
            {"sqlite": SQLITE_BACK, "postgresql": POSTGRES_BACK},
        ),
    ]
