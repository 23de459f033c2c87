"""On PostgreSQL: no index that only says once more that a row number is unique.

It is made of the workspace's number and the entry's place in its chain, and a unique
rule has these. The index on the row number alone answers who looks for one.
"""

from django.db import migrations

from memory import distribution

NAME = "journal_entries_docid_key"
BACK = (
    f"ALTER TABLE journal_entries ADD CONSTRAINT {NAME} UNIQUE (workspace_id, docid)",
    f"COMMENT ON CONSTRAINT {NAME} ON journal_entries IS '{distribution.MARK}'",
)


def drop(_apps, editor):
    if editor.connection.vendor == "postgresql":
        editor.execute(
            f"ALTER TABLE journal_entries DROP CONSTRAINT IF EXISTS {NAME}", params=None
        )


def restore(_apps, editor):
    if editor.connection.vendor == "postgresql":
        for statement in BACK:
            editor.execute(statement, params=None)


class Migration(migrations.Migration):
    # After those that put the workspace into the keys.
    dependencies = [("gdpr", "0016_keys_by_workspace")]

    operations = [migrations.RunPython(drop, restore)]
