"""The privacy settings join the workspace's other settings, one row each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import migrations

if TYPE_CHECKING:
    from django.db.backends.base.schema import BaseDatabaseSchemaEditor
    from django.db.migrations.state import StateApps

DEFAULTS: dict[str, Any] = {
    "two_person": False,
    "require_identity": False,
    "allow_break_glass": True,
    "time_zone": "UTC",
    "export_days": 14,
    "backup_days": 90,
    "digest": True,
}


def move(apps: StateApps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Move what differs from the default; who changed it last is known per table."""
    rows = apps.get_model("memory", "WorkspaceSetting").objects
    for kept in apps.get_model("gdpr", "PrivacySettings").objects.order_by("pk"):
        for name, default in DEFAULTS.items():
            value = getattr(kept, name)
            if value == default:
                continue
            known = {
                "value": value,
                "version": 1,
                "changed_at": kept.updated_at,
                "changed_by": kept.updated_by or "migration",
            }
            where = {"workspace_id": kept.workspace_id, "name": name}
            rows.get_or_create(**where, defaults=known)


class Migration(migrations.Migration):
    # PostgreSQL alters no table whose rows were changed in the same transaction.
    atomic = False
    dependencies = [
        ("gdpr", "0005_decisions"),
        ("memory", "0016_workspace_settings"),
    ]

    operations = [
        migrations.RunPython(move, migrations.RunPython.noop, atomic=True),
        migrations.DeleteModel(name="PrivacySettings"),
    ]
