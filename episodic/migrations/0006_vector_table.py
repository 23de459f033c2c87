"""PostgreSQL: one narrow table of vectors instead of a column beside the float32 ones.

It is partitioned by workspace, so that a question reads one partition's indexes, and
counted by triggers. What becomes of an embedding it is told by triggers too, so that
nothing that touches one can be missed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from django.db import NotSupportedError, migrations
from pgvector import HalfVector

if TYPE_CHECKING:
    from django.db.backends.base.schema import BaseDatabaseSchemaEditor
    from django.db.migrations.state import StateApps

PARTITIONS: Final = 32
# Room for a second version of a row, whatever its length: a change of importance stays
# on its page, and no index hears of it.
FILLFACTOR: Final = 80
DIMS: Final = (384, 768, 1024)
# Neighbours are chosen from so many: with pgvector's own 64 the graph of a million
# leads to 94 of a hundred nearest, with 128 to 99, whatever the search looks at. A
# vector that comes later is put in 1.7 times as slowly (3.2 instead of 1.9 ms).
GRAPH_CANDIDATES: Final = 128
CHUNK: Final = 2_000

TABLE: Final = (
    """
    CREATE TABLE journal_vectors (
        importance double precision NOT NULL,
        ts timestamptz NOT NULL,
        recorded_at timestamptz NOT NULL,
        dim smallint NOT NULL,
        is_ranked boolean NOT NULL,
        workspace_id varchar(32) NOT NULL,
        entry_id varchar(32) NOT NULL,
        crew_id varchar(128),
        agent_id varchar(128),
        entry_type varchar(80) NOT NULL,
        model varchar(120) NOT NULL,
        vec halfvec NOT NULL,
        PRIMARY KEY (workspace_id, entry_id)
    ) PARTITION BY HASH (workspace_id)
    """,
    # Never out of line, where a scan would have to fetch each of them.
    "ALTER TABLE journal_vectors ALTER COLUMN vec SET STORAGE MAIN",
    *(
        f"CREATE TABLE journal_vectors_{n:02} PARTITION OF journal_vectors"
        f" FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {n})"
        f" WITH (fillfactor = {FILLFACTOR})"
        for n in range(PARTITIONS)
    ),
    # Changes are rows of their own, added up by who asks: writers wait for nobody.
    """
    CREATE TABLE journal_vector_counts (
        id bigint GENERATED ALWAYS AS IDENTITY,
        workspace_id varchar(32) NOT NULL,
        model varchar(120) NOT NULL,
        dim smallint NOT NULL,
        crew_id varchar(128),
        agent_id varchar(128),
        entry_type varchar(80) NOT NULL,
        added bigint NOT NULL,
        PRIMARY KEY (workspace_id, id)
    )
    """,
)
_GROUP: Final = "workspace_id, model, dim, crew_id, agent_id, entry_type"
_COUNT: Final = f"INSERT INTO journal_vector_counts ({_GROUP}, added)"
_OF_NEW: Final = ", ".join(f"new.{name}" for name in _GROUP.split(", "))
_OF_OLD: Final = ", ".join(f"old.{name}" for name in _GROUP.split(", "))
_CHANGED: Final = (
    f"SELECT {_GROUP}, count(*) * CASE tg_op WHEN 'DELETE' THEN -1 ELSE 1 END"  # noqa: S608
    f" FROM changed_rows WHERE is_ranked GROUP BY {_GROUP}"
)
COUNTED: Final = (
    f"""
    CREATE FUNCTION journal_vectors_counted() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        {_COUNT} {_CHANGED};
        RETURN NULL;
    END $$
    """,
    f"""
    CREATE FUNCTION journal_vectors_recounted() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF old.is_ranked THEN
            {_COUNT} VALUES ({_OF_OLD}, -1);
        END IF;
        IF new.is_ranked THEN
            {_COUNT} VALUES ({_OF_NEW}, 1);
        END IF;
        RETURN NULL;
    END $$
    """,
    """
    CREATE TRIGGER journal_vectors_inserted AFTER INSERT ON journal_vectors
    REFERENCING NEW TABLE AS changed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION journal_vectors_counted()
    """,
    """
    CREATE TRIGGER journal_vectors_deleted AFTER DELETE ON journal_vectors
    REFERENCING OLD TABLE AS changed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION journal_vectors_counted()
    """,
    f"""
    CREATE TRIGGER journal_vectors_updated
    AFTER UPDATE OF is_ranked, {_GROUP} ON journal_vectors FOR EACH ROW
    WHEN ((old.is_ranked, {_OF_OLD}) IS DISTINCT FROM (new.is_ranked, {_OF_NEW}))
    EXECUTE FUNCTION journal_vectors_recounted()
    """,
)
FOLLOWED: Final = (
    """
    CREATE FUNCTION journal_vectors_follow() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF tg_op = 'DELETE' OR new.dim = 0 THEN
            DELETE FROM journal_vectors
            WHERE workspace_id = old.workspace_id AND entry_id = old.entry_id;
        ELSE
            UPDATE journal_vectors SET importance = new.importance_score,
                is_ranked = (new.state = 'indexed'), model = new.model
            WHERE workspace_id = new.workspace_id AND entry_id = new.entry_id;
        END IF;
        RETURN NULL;
    END $$
    """,
    """
    CREATE TRIGGER journal_embeddings_deleted AFTER DELETE ON journal_embeddings
    FOR EACH ROW WHEN (old.dim > 0) EXECUTE FUNCTION journal_vectors_follow()
    """,
    """
    CREATE TRIGGER journal_embeddings_updated
    AFTER UPDATE OF state, dim, model, importance_score ON journal_embeddings
    FOR EACH ROW WHEN (old.dim > 0 AND
        (old.state, old.dim, old.model, old.importance_score)
        IS DISTINCT FROM (new.state, new.dim, new.model, new.importance_score))
    EXECUTE FUNCTION journal_vectors_follow()
    """,
)
INDEXES: Final = (
    "CREATE INDEX journal_vectors_agent ON journal_vectors (workspace_id, agent_id)",
    "CREATE INDEX journal_vectors_crew ON journal_vectors (workspace_id, crew_id)",
    "CREATE INDEX journal_vectors_type ON journal_vectors (workspace_id, entry_type)",
    "CREATE INDEX journal_vectors_ts ON journal_vectors (workspace_id, ts)",
    *(
        f"CREATE INDEX journal_vectors_hnsw_{dim} ON journal_vectors"
        f" USING hnsw ((vec::halfvec({dim})) halfvec_cosine_ops)"
        f" WITH (ef_construction = {GRAPH_CANDIDATES}) WHERE dim = {dim}"
        for dim in DIMS
    ),
)
_RENAMED: Final = """
    CREATE OR REPLACE FUNCTION agents_embeddings_begin_again() RETURNS trigger
    LANGUAGE plpgsql AS $$
    BEGIN
        -- In the order in which everybody locks embeddings.
        PERFORM 1 FROM journal_embeddings
        WHERE workspace_id = new.workspace_id AND agent_id = new.id AND dim > 0
        ORDER BY entry_id FOR NO KEY UPDATE;
        UPDATE journal_embeddings SET vector = '', dim = 0, attempts = 0,
        last_error = '', next_attempt_at = NULL, lease_until = NULL,
        state = CASE state WHEN 'withheld' THEN 'withheld' ELSE 'pending' END{more}
        WHERE workspace_id = new.workspace_id AND agent_id = new.id AND dim > 0;
        RETURN NULL;
    END $$
    """
EMPTIED: Final = (
    _RENAMED.format(more=""),
    # An index for patterns of ids, which nobody asks for.
    "DROP INDEX IF EXISTS journal_embeddings_entry_id_2c616deb_like",
    # Importance changes every night: also here on its page, as no index has it.
    "ALTER TABLE journal_embeddings SET (fillfactor = 85)",
    # The vectors were twice in every row: both are gone with one rewrite of the table.
    """
    ALTER TABLE journal_embeddings DROP COLUMN vec,
    ALTER COLUMN vector TYPE bytea USING ''::bytea
    """,
)
BACK: Final = (
    "ALTER TABLE journal_embeddings RESET (fillfactor)",
    """
    CREATE INDEX journal_embeddings_entry_id_2c616deb_like
    ON journal_embeddings (entry_id varchar_pattern_ops)
    """,
    "DROP TRIGGER journal_embeddings_updated ON journal_embeddings",
    "DROP TRIGGER journal_embeddings_deleted ON journal_embeddings",
    "ALTER TABLE journal_embeddings ADD COLUMN vec vector",
    _RENAMED.format(more=", vec = NULL"),
)
AWAY: Final = (
    "DROP TABLE journal_vectors",
    "DROP TABLE journal_vector_counts",
    "DROP FUNCTION journal_vectors_counted()",
    "DROP FUNCTION journal_vectors_recounted()",
    "DROP FUNCTION journal_vectors_follow()",
    *(
        f"CREATE INDEX journal_embeddings_vec_{dim} ON journal_embeddings"
        f" USING hnsw ((vec::vector({dim})) vector_cosine_ops) WHERE dim = {dim}"
        for dim in (384, 768)
    ),
)
_STORED: Final = (
    "SELECT m.importance_score, e.ts, e.recorded_at, m.dim, m.state = 'indexed',"
    " m.workspace_id, m.entry_id, m.crew_id, m.agent_id, e.entry_type, m.model,"
    " m.vector FROM journal_embeddings m JOIN journal_entries e ON e.id = m.entry_id"
    " WHERE m.dim > 0 AND length(m.vector) = 4 * m.dim AND m.entry_id > %s"
    " ORDER BY m.entry_id LIMIT %s"
)
_COPY: Final = (
    "COPY journal_vectors (importance, ts, recorded_at, dim, is_ranked, workspace_id,"
    " entry_id, crew_id, agent_id, entry_type, model, vec) FROM STDIN (FORMAT BINARY)"
)
_TYPES: Final = (
    *("float8", "timestamptz", "timestamptz", "int2", "bool"),
    # A vector is sent as it is: the server reads the bytes in the form of its type.
    *("text", "text", "text", "text", "text", "text", "bytea"),
)
_MEMORY: Final = (
    "SELECT set_config('maintenance_work_mem', '512MB', true) WHERE"
    " pg_size_bytes(current_setting('maintenance_work_mem')) < pg_size_bytes('512MB')"
)
_HALVES: Final = (
    "SELECT workspace_id, entry_id, halfvec_send(vec) FROM journal_vectors"
    " WHERE entry_id > %s ORDER BY entry_id LIMIT %s"
)
_RESTORE: Final = (
    "UPDATE journal_embeddings m SET vector = %s, vec = v.vec::vector"
    " FROM journal_vectors v WHERE v.workspace_id = m.workspace_id"
    " AND v.entry_id = m.entry_id AND m.workspace_id = %s AND m.entry_id = %s"
)


def forwards(_apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Make the table, fill it from the stored vectors, then build its indexes."""
    if editor.connection.vendor != "postgresql":
        return
    editor.execute("CREATE EXTENSION IF NOT EXISTS vector", params=None)
    _require_halves(editor)
    _execute(editor, TABLE)
    # Before they are filled, so that these rows are counted too.
    _execute(editor, COUNTED)
    with editor.connection.cursor() as cursor:
        for rows in _batches(cursor, _STORED, 6):
            with cursor.copy(_COPY) as copy:
                copy.set_types(_TYPES)
                for row in rows:
                    vector = np.frombuffer(bytes(row[-1]), dtype="<f4")
                    copy.write_row((*row[:-1], HalfVector(vector).to_binary()))
        # A graph that fits is built many times as quickly; one process alone, because
        # several share memory that a container may not have.
        cursor.execute("SET LOCAL max_parallel_maintenance_workers = 0")
        cursor.execute(_MEMORY)
    _execute(editor, INDEXES)
    _execute(editor, FOLLOWED)
    _execute(editor, EMPTIED)


def backwards(_apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Put the vectors back beside the embeddings, as precise as they were kept."""
    if editor.connection.vendor != "postgresql":
        return
    _execute(editor, BACK)
    with editor.connection.cursor() as cursor:
        for rows in _batches(cursor, _HALVES, 1):
            vectors = (HalfVector.from_binary(row[2]).to_numpy() for row in rows)
            values = [
                (vector.astype("<f4").tobytes(), row[0], row[1])
                for row, vector in zip(rows, vectors, strict=True)
            ]
            cursor.executemany(_RESTORE, values)
    _execute(editor, AWAY)


def _require_halves(editor: BaseDatabaseSchemaEditor) -> None:
    """Raise for a pgvector without halves, or whose index cannot be filtered."""
    with editor.connection.cursor() as cursor:
        cursor.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        version = str(cursor.fetchone()[0])
    if tuple(int(part) for part in version.split(".")[:2]) < (0, 8):
        message = (
            f"The database has pgvector {version}, and 0.8 or newer is needed: install"
            " it, then ALTER EXTENSION vector UPDATE."
        )
        raise NotSupportedError(message)


def _execute(editor: BaseDatabaseSchemaEditor, statements: tuple[str, ...]) -> None:
    for statement in statements:
        editor.execute(statement, params=None)


def _batches(cursor: Any, query: str, key: int) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of a query some at a time; ``key`` is the place of the entry."""
    entry_id = ""
    while True:
        cursor.execute(query, [entry_id, CHUNK])
        rows = cursor.fetchall()
        if not rows:
            return
        yield rows
        entry_id = rows[-1][key]


class Migration(migrations.Migration):
    dependencies = [("episodic", "0005_memory_map")]

    operations = [migrations.RunPython(forwards, backwards)]
