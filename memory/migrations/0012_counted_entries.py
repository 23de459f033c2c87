"""Indexes that entries are counted by take next to nothing, as their keys are equal.

On PostgreSQL each is built beside the former one, which then goes and leaves it its
name, while entries are read and appended. A migration that was broken off is run again.
"""

from django.db import migrations, models

# By name: the condition. The second one after the first: of two that serve a query as
# well SQLite takes the last one.
CONDITIONS = {
    "journal_embeddable": "embeddable",
    "journal_unusable": (
        "embeddable AND (retired_at IS NOT NULL OR restricted_at IS NOT NULL"
        " OR erased_at IS NOT NULL)"
    ),
}


def exchange(_apps, editor):
    _exchange(editor, "workspace_id, embeddable")


def exchange_back(_apps, editor):
    _exchange(editor, "workspace_id, seq")


def _exchange(editor, columns):
    for name, condition in CONDITIONS.items():
        index = f"ON journal_entries ({columns}) WHERE {condition}"
        if editor.connection.vendor != "postgresql":
            editor.execute(f"DROP INDEX IF EXISTS {name}", params=None)
            editor.execute(f"CREATE INDEX {name} {index}", params=None)
            continue
        # What a migration left that was broken off. Dropped otherwise, an index waits
        # for whoever reads the table, and everybody else for it.
        drop = "DROP INDEX CONCURRENTLY IF EXISTS"
        editor.execute(f"{drop} {name}_new", params=None)
        editor.execute(f"CREATE INDEX CONCURRENTLY {name}_new {index}", params=None)
        editor.execute(f"{drop} {name}", params=None)
        editor.execute(f"ALTER INDEX {name}_new RENAME TO {name}", params=None)


def _added(name, condition):
    index = models.Index(
        fields=["workspace", "embeddable"], name=name, condition=condition
    )
    return migrations.AddIndex("journalentry", index)


class Migration(migrations.Migration):
    # An index is built concurrently outside of a transaction.
    atomic = False
    dependencies = [("memory", "0011_worker_processes")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(exchange, exchange_back)],
            state_operations=[
                *(migrations.RemoveIndex("journalentry", name) for name in CONDITIONS),
                _added("journal_embeddable", models.Q(embeddable=True)),
                _added(
                    "journal_unusable",
                    models.Q(embeddable=True)
                    & (
                        models.Q(retired_at__isnull=False)
                        | models.Q(restricted_at__isnull=False)
                        | models.Q(erased_at__isnull=False)
                    ),
                ),
            ],
        )
    ]
