import hashlib
import json

import django.db.models.deletion
from django.db import migrations, models


NAMES = ("user", "agent", "namespace", "thread")
EVENTS = {
    "memory.recorded": "created",
    "memory.revised": "updated",
    "memory.forgotten": "invalidated",
}


def fill(apps, schema_editor):  # noqa: ARG001
    """Name the scope of every record, and say of every link when its version held."""
    for record in apps.get_model("memory", "Record").objects.iterator(500):
        named = {name: getattr(record, f"scope_{name}") for name in NAMES}
        text = json.dumps(
            {name: value for name, value in named.items() if value},
            sort_keys=True,
            separators=(",", ":"),
            ensure_ascii=False,
        )
        record.scope_key = hashlib.sha256(text.encode()).hexdigest()[:32]
        record.save(update_fields=["scope_key"])
        later = None
        links = record.links.select_related("entry").order_by("-version")
        for link in links:
            link.event = EVENTS.get(link.entry.entry_type, "updated")
            link.valid_from = link.entry.ts
            link.valid_to = link.entry.ts if link.event == "invalidated" else later
            link.save(update_fields=["event", "valid_from", "valid_to"])
            later = link.entry.ts


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0011_gateway"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="record",
            name="record_external_once",
        ),
        migrations.RemoveConstraint(
            model_name="record",
            name="record_crew_external_once",
        ),
        migrations.AddField(
            model_name="record",
            name="scope_extra",
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="record",
            name="scope_key",
            field=models.CharField(blank=True, max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="record",
            name="superseded_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="sources",
                to="memory.record",
            ),
        ),
        migrations.AddField(
            model_name="recordentry",
            name="event",
            field=models.CharField(
                choices=[
                    ("created", "Created"),
                    ("updated", "Updated"),
                    ("superseded", "Superseded"),
                    ("invalidated", "Invalidated"),
                ],
                max_length=12,
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="recordentry",
            name="valid_from",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="recordentry",
            name="valid_to",
            field=models.DateTimeField(null=True),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="record",
            index=models.Index(
                fields=["workspace", "scope_key", "status", "-updated_at"],
                name="record_scope",
            ),
        ),
        migrations.AddIndex(
            model_name="record",
            index=models.Index(
                fields=["workspace", "scope_user", "status"], name="record_user"
            ),
        ),
        migrations.AddConstraint(
            model_name="record",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    models.Q(("external_id", ""), _negated=True),
                    ("agent__isnull", False),
                    ("status", "current"),
                ),
                fields=("workspace", "crew", "agent", "scope_key", "external_id"),
                name="record_external_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="record",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    models.Q(("external_id", ""), _negated=True),
                    ("agent__isnull", True),
                    ("status", "current"),
                ),
                fields=("workspace", "crew", "scope_key", "external_id"),
                name="record_crew_external_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="record",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    models.Q(("external_id", ""), _negated=True),
                    ("crew__isnull", True),
                    ("status", "current"),
                ),
                fields=("workspace", "scope_key", "external_id"),
                name="record_workspace_external_once",
            ),
        ),
    ]
