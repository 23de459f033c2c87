"""On PostgreSQL: the workspace first in every key of a table that has one."""

from django.db import migrations

from memory import distribution


def rekey(_apps, schema_editor):
    """Put the workspace first in the keys of all tables that exist by now."""
    if schema_editor.connection.vendor == "postgresql":
        with schema_editor.connection.cursor() as cursor:
            distribution.rekey(cursor)


def rekey_back(_apps, schema_editor):
    """Take the workspace out of those keys again."""
    if schema_editor.connection.vendor == "postgresql":
        with schema_editor.connection.cursor() as cursor:
            distribution.rekey_back(cursor)


class Migration(migrations.Migration):
    dependencies = [
        ("gdpr", "0015_erasure_lines"),
        ("memory", "0011_worker_processes"),
        ("episodic", "0007_run_workspace"),
    ]

    operations = [migrations.RunPython(rekey, rekey_back)]
