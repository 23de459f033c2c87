"""PostgreSQL: room for one more version of a vector on a page, where it was two.

Seven of 384 numbers fit on a page then, instead of six. It holds for new pages alone:
nothing is rewritten. Where longer vectors are stored, pages stay as they are.
"""

from django.db import migrations

# The length of the bundled model's vectors.
USUAL = 384
FULLER, FORMER = 87, 80


def fill(_apps, editor):
    if editor.connection.vendor != "postgresql":
        return
    with editor.connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(bool_and(dim = %s), true) FROM journal_vector_counts",
            [USUAL],
        )
        (is_usual,) = cursor.fetchone()
    if is_usual:
        _set(editor, FULLER)


def fill_back(_apps, editor):
    if editor.connection.vendor == "postgresql":
        _set(editor, FORMER)


def _set(editor, fillfactor):
    with editor.connection.cursor() as cursor:
        cursor.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits"
            " WHERE inhparent = 'journal_vectors'::regclass"
        )
        partitions = [name for (name,) in cursor.fetchall()]
    for name in partitions:
        editor.execute(
            f"ALTER TABLE {name} SET (fillfactor = {fillfactor})", params=None
        )


class Migration(migrations.Migration):
    dependencies = [
        ("episodic", "0007_run_workspace"),
        ("memory", "0012_counted_entries"),
    ]

    operations = [migrations.RunPython(fill, fill_back)]
