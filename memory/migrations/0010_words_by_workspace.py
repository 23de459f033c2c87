"""On PostgreSQL the words of entries get keys of their workspace and are split by it.

The rows are copied in batches, each in a transaction of its own, while the old table
serves; a migration that was broken off goes on where it was. At the end what changed
meanwhile is copied again, and the new table takes the old one's name.
"""

from importlib import import_module

from django.db import migrations, models, transaction

from memory.fulltext import LEXEMES
from memory.word_index import storage
from memory.word_index.pg_table import COLUMNS, FROM_JOURNAL, PARTITIONS

ROWS_AT_ONCE = 10_000
NEW = "journal_words_new"
_FLAGS = "retired_at, restricted_at, erased_at, embeddable, ts, recorded_at, trace_id"


# The planner takes it for dear and PostgreSQL calls it for few rows.
ROW = """
    CREATE OR REPLACE FUNCTION word_row(bigint) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL RESTRICTED COST 1000 AS 'BEGIN RETURN true; END'
"""
TABLE = f"""
    CREATE TABLE IF NOT EXISTS {NEW} (
        docid bigint NOT NULL,
        ts bigint NOT NULL,
        recorded bigint NOT NULL,
        thread bigint,
        flags smallint NOT NULL,
        usable boolean NOT NULL,
        embeddable boolean NOT NULL,
        workspace_id varchar(32) NOT NULL,
        crew_id varchar(128),
        agent_id varchar(128),
        entry_type varchar(80) NOT NULL,
        words bytea NOT NULL,
        keys int[] NOT NULL,
        PRIMARY KEY (workspace_id, docid)
    ) PARTITION BY HASH (workspace_id)
"""
PARTS = [
    f"""
    CREATE TABLE IF NOT EXISTS journal_words_{part} PARTITION OF {NEW}
    FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {part})
    """
    for part in range(PARTITIONS)
]
INDEXES = (
    # The number of a thread is a digest that holds its workspace.
    f"""
    CREATE INDEX IF NOT EXISTS journal_words_thread ON {NEW} (thread, ts, docid)
    WHERE usable AND embeddable
    """,
    # A short list of what is not sorted in yet: every question reads it.
    f"""
    CREATE INDEX IF NOT EXISTS journal_words_keys ON {NEW}
    USING gin (keys) WITH (gin_pending_list_limit = 256)
    """,
)
# Behind the last one that was copied: there may be gaps, and they may be long.
NEXT = """
    SELECT docid, words FROM journal_words
    WHERE docid > %s ORDER BY docid LIMIT %s
"""
# Who reads the journal goes on; who writes waits for this.
LOCK = "LOCK TABLE agents, journal_entries IN SHARE ROW EXCLUSIVE MODE"
_SAME = " AND ".join(f"o.{name} IS NOT DISTINCT FROM n.{name}" for name in COLUMNS)
REST = f"""
    SELECT docid, words FROM journal_words w
    WHERE NOT EXISTS (SELECT 1 FROM {NEW} n WHERE n.docid = w.docid)
"""  # noqa: S608
CHANGED = f"""
    DELETE FROM {NEW} n WHERE NOT EXISTS (
        SELECT 1 FROM (
            SELECT {FROM_JOURNAL}, w.words FROM journal_entries e
            JOIN journal_words w ON w.docid = e.docid
        ) AS o
        WHERE o.docid = n.docid AND o.words = n.words AND {_SAME}
    )
"""  # noqa: S608
REPLACE = (
    "DROP TABLE journal_words",
    f"ALTER TABLE {NEW} RENAME TO journal_words",
    f"ALTER INDEX {NEW}_pkey RENAME TO journal_words_pkey",
)
# Whoever counts words waits for nobody, and stores nothing while words are leaving.
# Rows that another transaction locks are leaving with it.
_TERM = " + ".join(
    f"(get_byte(w.words, 5 + 4 * place + {n})::bigint << {8 * n})" for n in range(4)
)
COUNTS_FORGET = f"""
    CREATE OR REPLACE FUNCTION word_counts_forget(home text, docids bigint[])
    RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_advisory_xact_lock_shared(hashtextextended('word counts ' || home, 0));
        DELETE FROM word_counts c USING (
            SELECT d.id FROM word_counts d
            WHERE d.workspace_id = home AND d.term IN (
                SELECT {_TERM} FROM journal_words w, generate_series(
                    0, get_byte(w.words, 3) + 256 * get_byte(w.words, 4) - 1
                ) AS place
                WHERE w.workspace_id = home AND w.docid = ANY(docids)
                AND octet_length(w.words) > 4
            ) FOR UPDATE SKIP LOCKED
        ) AS leaving
        WHERE c.id = leaving.id;
    END
    $$
"""  # noqa: S608
# Texts that changed are logged for the job that writes their words again.
FORGET = """
    CREATE OR REPLACE FUNCTION journal_words_forget() RETURNS trigger
    LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM word_counts_forget(old.workspace_id, ARRAY[old.docid]);
        DELETE FROM journal_words
        WHERE workspace_id = old.workspace_id AND docid = old.docid;
        IF TG_OP = 'UPDATE' AND new.erased_at IS NULL THEN
            INSERT INTO word_changes (workspace_id, docid, kind)
            VALUES (new.workspace_id, new.docid, 'words');
        END IF;
        RETURN NULL;
    END
    $$
"""
RENAME = """
    CREATE OR REPLACE FUNCTION agents_words_forget() RETURNS trigger
    LANGUAGE plpgsql AS $$
    DECLARE
        own bigint[] := ARRAY(
            SELECT docid FROM journal_words
            WHERE workspace_id = new.workspace_id AND agent_id = new.id
        );
    BEGIN
        PERFORM word_counts_forget(new.workspace_id, own);
        DELETE FROM journal_words
        WHERE workspace_id = new.workspace_id AND docid = ANY(own);
        INSERT INTO word_changes (workspace_id, docid, kind)
        SELECT new.workspace_id, docid, 'words' FROM unnest(own) AS docid;
        RETURN NULL;
    END
    $$
"""
# Before the agent's words and embeddings are touched, in the order in which everybody
# locks entries. Triggers fire in the order of their names.
AUTHOR = (
    """
    CREATE OR REPLACE FUNCTION agents_author_lock() RETURNS trigger
    LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM 1 FROM journal_entries
        WHERE workspace_id = new.workspace_id AND agent_id = new.id
        ORDER BY id FOR NO KEY UPDATE;
        RETURN NULL;
    END
    $$
    """,
    """
    CREATE OR REPLACE TRIGGER agents_author_lock AFTER UPDATE OF name ON agents
    FOR EACH ROW WHEN (old.name <> new.name) EXECUTE FUNCTION agents_author_lock()
    """,
)
# What keys are made of.
UPDATE = """
    CREATE OR REPLACE TRIGGER journal_words_update
    AFTER UPDATE OF summary, body, docid, crew_id, agent_id, entry_type
    ON journal_entries
    FOR EACH ROW EXECUTE FUNCTION journal_words_forget()
"""
_OWN = ", ".join(f"{name} = o.{name}" for name in COLUMNS)
FLAGS = (
    f"""
    CREATE OR REPLACE FUNCTION journal_words_follow() RETURNS trigger
    LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE journal_words w SET {_OWN} FROM (
            SELECT {FROM_JOURNAL} FROM journal_entries e WHERE e.docid = new.docid
        ) AS o
        WHERE w.workspace_id = new.workspace_id AND w.docid = new.docid;
        RETURN NULL;
    END
    $$
    """,  # noqa: S608
    f"""
    CREATE OR REPLACE TRIGGER journal_words_flags
    AFTER UPDATE OF {_FLAGS} ON journal_entries
    FOR EACH ROW EXECUTE FUNCTION journal_words_follow()
    """,
)


# The rows of the journal hold their lexemes no more; only the index does.
SEARCH = (
    f"""
    CREATE INDEX CONCURRENTLY IF NOT EXISTS journal_lexemes
    ON journal_entries USING gin (({LEXEMES}))
    """,
    # With it goes its index.
    "ALTER TABLE journal_entries DROP COLUMN IF EXISTS tsv",
)
SEARCH_BACK = (
    f"""
    ALTER TABLE journal_entries ADD COLUMN tsv tsvector
    GENERATED ALWAYS AS ({LEXEMES}) STORED
    """,
    "CREATE INDEX journal_tsv ON journal_entries USING gin (tsv)",
    "DROP INDEX journal_lexemes",
)


def _is_split(cursor):
    """Whether the table was replaced already."""
    cursor.execute("SELECT relkind FROM pg_class WHERE relname = 'journal_words'")
    return cursor.fetchone() == ("p",)


def split(_apps, editor):
    """Replace the table on PostgreSQL."""
    if editor.connection.vendor != "postgresql":
        return
    with editor.connection.cursor() as cursor:
        if not _is_split(cursor):
            for statement in (ROW, TABLE, *PARTS):
                cursor.execute(statement)
            _copy(cursor)
            for statement in INDEXES:
                cursor.execute(statement)
            with transaction.atomic(using=editor.connection.alias):
                cursor.execute(LOCK)
                cursor.execute(CHANGED)
                cursor.execute(REST)
                storage.store_split(cursor.fetchall(), table=NEW)
                for statement in (
                    *REPLACE,
                    COUNTS_FORGET,
                    FORGET,
                    RENAME,
                    *AUTHOR,
                    UPDATE,
                    *FLAGS,
                ):
                    cursor.execute(statement)
        _drop_invalid(cursor)
        for statement in SEARCH:
            cursor.execute(statement)
    storage.fill()


def _drop_invalid(cursor):
    """Drop the index that a migration left which was broken off."""
    cursor.execute(
        "SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
        " WHERE c.relname = 'journal_lexemes' AND NOT i.indisvalid"
    )
    if cursor.fetchone():
        cursor.execute("DROP INDEX journal_lexemes")


def _copy(cursor):
    """Copy the rows behind the last one that was copied, some at once."""
    cursor.execute(f"SELECT coalesce(max(docid), -1) FROM {NEW}")  # noqa: S608
    (last,) = cursor.fetchone()
    while True:
        cursor.execute(NEXT, [last, ROWS_AT_ONCE])
        rows = cursor.fetchall()
        if not rows:
            return
        storage.store_split(rows, table=NEW)
        last = rows[-1][0]


def make_counts(apps, editor):
    """Make the table of counts, unless a migration that was broken off did."""
    counts = apps.get_model("memory", "WordCount")
    if counts._meta.db_table not in editor.connection.introspection.table_names():
        editor.create_model(counts)


def drop_counts(apps, editor):
    """Drop the table of counts, unless a migration that was broken off did."""
    counts = apps.get_model("memory", "WordCount")
    if counts._meta.db_table in editor.connection.introspection.table_names():
        editor.delete_model(counts)


def join(_apps, editor):
    """Make the one table again, with the triggers it had."""
    if editor.connection.vendor != "postgresql":
        return
    with editor.connection.cursor() as cursor:
        if not _is_split(cursor):
            return
    earlier = import_module("memory.migrations.0002_word_lists").POSTGRES
    with transaction.atomic(using=editor.connection.alias):
        for statement in (
            "DROP TRIGGER journal_words_flags ON journal_entries",
            "DROP FUNCTION journal_words_follow()",
            "DROP TRIGGER agents_author_lock ON agents",
            "DROP FUNCTION agents_author_lock()",
            *(sql.replace("CREATE", "CREATE OR REPLACE", 1) for sql in earlier[:4]),
            "CREATE TABLE words_joined (docid bigint PRIMARY KEY, words bytea NOT NULL)",
            "INSERT INTO words_joined SELECT docid, words FROM journal_words",
            "DROP TABLE journal_words",
            "DROP FUNCTION word_counts_forget(text, bigint[])",
            "DROP FUNCTION word_row(bigint)",
            "ALTER TABLE words_joined RENAME TO journal_words",
            *SEARCH_BACK,
        ):
            editor.execute(statement, params=None)


class Migration(migrations.Migration):
    # Batches of their own, so that nobody waits for the whole table.
    atomic = False
    dependencies = [
        ("memory", "0009_stored_files"),
    ]

    operations = [
        migrations.RunPython(split, join),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="WordCount",
                    fields=[
                        ("id", models.BigAutoField(primary_key=True, serialize=False)),
                        ("workspace_id", models.CharField(max_length=32)),
                        ("term", models.BigIntegerField()),
                        ("seq", models.BigIntegerField()),
                        ("entries", models.BigIntegerField()),
                        ("words", models.BigIntegerField(default=0)),
                    ],
                    options={
                        "db_table": "word_counts",
                        "constraints": [
                            models.UniqueConstraint(
                                fields=["workspace_id", "term"],
                                name="word_counts_unique",
                            )
                        ],
                    },
                ),
            ],
        ),
        migrations.RunPython(make_counts, drop_counts),
    ]
