"""A database that begins empty never deletes in the open: it needs no rewrite later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import migrations

if TYPE_CHECKING:
    from django.db.backends.base.schema import BaseDatabaseSchemaEditor
    from django.db.migrations.state import StateApps

# The value of gdpr.verification.sqlite.CLEAN_VERSION when this was written.
ADOPTED = 5_201


def mark(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Note that every deletion was one that zeroes, where there was none yet."""
    entries = apps.get_model("memory", "JournalEntry").objects
    if editor.connection.vendor == "sqlite" and not entries.exists():
        editor.execute(f"PRAGMA user_version = {ADOPTED}", params=None)


class Migration(migrations.Migration):
    """Marks new databases."""

    dependencies = [("gdpr", "0002_people")]
    operations = [migrations.RunPython(mark, migrations.RunPython.noop)]
