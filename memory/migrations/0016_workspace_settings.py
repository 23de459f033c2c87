"""Settings get rows of their own, with who changed them; the JSON column goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

if TYPE_CHECKING:
    from django.db.backends.base.schema import BaseDatabaseSchemaEditor
    from django.db.migrations.state import StateApps

BY = "migration"
PLAIN = ("fusion", "cost_limit_usd_per_day", "versions_retention_days", "provider")


def _kept(settings: dict[str, Any]) -> dict[str, Any]:
    """Return name → value of what stands in a workspace's JSON."""
    scanner, remote = settings.get("scanner"), settings.get("remote")
    scanner = scanner if isinstance(scanner, dict) else {}
    remote = remote if isinstance(remote, dict) else {}
    found = {name: settings.get(name) for name in PLAIN}
    found["scanner_rules"] = scanner.get("rules")
    found["scanner_policy"] = scanner.get("policy")
    found["remote_provider_url"] = remote.get("url")
    return {name: value for name, value in found.items() if value not in (None, "", {})}


def move(apps: StateApps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Move what stands in the JSON into rows.

    The key of a remote provider has to be entered again: a seal needs the keys of the
    installation, which no migration may make.
    """
    rows = apps.get_model("memory", "WorkspaceSetting").objects
    for workspace in apps.get_model("memory", "Workspace").objects.order_by("pk"):
        settings = workspace.settings if isinstance(workspace.settings, dict) else {}
        for name, value in _kept(settings).items():
            known = {"value": value, "version": 1, "changed_by": BY}
            rows.get_or_create(workspace=workspace, name=name, defaults=known)


class Migration(migrations.Migration):
    # PostgreSQL alters no table whose rows were changed in the same transaction.
    atomic = False
    dependencies = [
        ("memory", "0015_installation"),
    ]

    operations = [
        migrations.CreateModel(
            name="WorkspaceSetting",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=64)),
                ("is_set", models.BooleanField(default=True)),
                ("value", models.JSONField(blank=True, null=True)),
                ("sealed", models.TextField(blank=True)),
                ("version", models.PositiveIntegerField(default=0)),
                (
                    "changed_at",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
                ("changed_by", models.CharField(max_length=254)),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="setting_rows",
                        to="memory.workspace",
                    ),
                ),
            ],
            options={
                "db_table": "workspace_settings",
                "ordering": ("name",),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "name"), name="workspace_setting_once"
                    )
                ],
            },
        ),
        migrations.RunPython(move, migrations.RunPython.noop, atomic=True),
        migrations.RemoveField(model_name="workspace", name="settings"),
    ]
