"""Indexes of the journal that take less room, each built before the old one goes.

On PostgreSQL appends go on meanwhile. A migration that was broken off goes on.
"""

from django.db import migrations, models

TABLE = "journal_entries"
_WHERE = " WHERE embeddable"
_UNUSABLE = (
    f"{_WHERE} AND (retired_at IS NOT NULL OR restricted_at IS NOT NULL"
    " OR erased_at IS NOT NULL)"
)
# By name: columns, and the condition.
NEW = {
    "journal_by_ts": ("workspace_id, ts, seq", ""),
    "journal_by_crew": ("workspace_id, crew_id, ts, seq", ""),
    "journal_by_agent": ("workspace_id, agent_id, ts, seq", ""),
    "journal_by_type": ("workspace_id, entry_type, ts, seq", ""),
    "journal_embeddable_of": ("workspace_id, embeddable", _WHERE),
    # After the other: of two that serve a query as well SQLite takes the last one.
    "journal_unusable_of": ("workspace_id, embeddable", _UNUSABLE),
}
OLD = {
    "journal_ts": ("workspace_id, ts DESC, seq DESC", ""),
    "journal_crew_ts": ("workspace_id, crew_id, ts DESC, seq DESC", ""),
    "journal_agent_ts": ("workspace_id, agent_id, ts DESC, seq DESC", ""),
    "journal_type_ts": ("workspace_id, entry_type, ts DESC, seq DESC", ""),
    "journal_embeddable": ("workspace_id, seq", _WHERE),
    "journal_unusable": ("workspace_id, seq", _UNUSABLE),
}


def exchange(_apps, editor):
    _exchange(editor, OLD, NEW)


def exchange_back(_apps, editor):
    _exchange(editor, NEW, OLD)


def _exchange(editor, old, new):
    """Build each index beside the one that it replaces, then drop that one."""
    is_postgres = editor.connection.vendor == "postgresql"
    word = "CONCURRENTLY " if is_postgres else ""
    for former, (name, (columns, condition)) in zip(old, new.items(), strict=True):
        if is_postgres:
            _drop_invalid(editor, name)
        for statement in (
            f"CREATE INDEX {word}IF NOT EXISTS {name} ON {TABLE} ({columns}){condition}",
            f"DROP INDEX {word}IF EXISTS {former}",
        ):
            editor.execute(statement, params=None)


def _drop_invalid(editor, name):
    """Drop an index that was left half built."""
    with editor.connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
            " WHERE c.relname = %s AND NOT i.indisvalid",
            [name],
        )
        if cursor.fetchone():
            cursor.execute(f"DROP INDEX {name}")


def _index(name, *fields, **options):
    return migrations.AddIndex(
        "journalentry", models.Index(fields=fields, name=name, **options)
    )


class Migration(migrations.Migration):
    # An index is built concurrently outside of a transaction.
    atomic = False
    dependencies = [("memory", "0011_worker_processes")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(exchange, exchange_back)],
            state_operations=[
                *(migrations.RemoveIndex("journalentry", name) for name in OLD),
                _index("journal_by_ts", "workspace", "ts", "seq"),
                _index("journal_by_crew", "workspace", "crew_id", "ts", "seq"),
                _index("journal_by_agent", "workspace", "agent_id", "ts", "seq"),
                _index("journal_by_type", "workspace", "entry_type", "ts", "seq"),
                _index(
                    *("journal_embeddable_of", "workspace", "embeddable"),
                    condition=models.Q(embeddable=True),
                ),
                _index(
                    *("journal_unusable_of", "workspace", "embeddable"),
                    condition=models.Q(embeddable=True)
                    & (
                        models.Q(retired_at__isnull=False)
                        | models.Q(restricted_at__isnull=False)
                        | models.Q(erased_at__isnull=False)
                    ),
                ),
            ],
        )
    ]
