"""Decisions get places of their own: why a restriction ended, what is not theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

if TYPE_CHECKING:
    from django.db.backends.base.schema import BaseDatabaseSchemaEditor
    from django.db.migrations.state import StateApps


def move(apps: StateApps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Move the reasons out of the consent's notes, and have every name searched again.

    Whoever notes a consent notes its date: a note without one is such a reason.
    """
    subjects = apps.get_model("gdpr", "Subject").objects
    liftings = apps.get_model("gdpr", "Lifting").objects
    rows = subjects.filter(consent_at=None).exclude(consent_note="")
    for one in rows.order_by("pk").iterator():
        liftings.create(
            workspace_id=one.workspace_id,
            subject_id=one.pk,
            lifted_at=None,
            reason=one.consent_note,
        )
    rows.update(consent_note="")
    # The archive was not among the places that are searched for a name.
    apps.get_model("gdpr", "Alias").objects.update(swept_at=None)


class Migration(migrations.Migration):
    """Makes the two tables and fills the one."""

    dependencies = [
        ("gdpr", "0004_live_processes"),
        ("memory", "0013_record_widths"),
    ]

    operations = [
        migrations.CreateModel(
            name="Lifting",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("restricted_at", models.DateTimeField(blank=True, null=True)),
                (
                    "lifted_at",
                    models.DateTimeField(
                        blank=True, default=django.utils.timezone.now, null=True
                    ),
                ),
                ("lifted_by", models.CharField(blank=True, max_length=254)),
                ("reason", models.TextField()),
                (
                    "subject",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="liftings",
                        to="gdpr.subject",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="memory.workspace",
                    ),
                ),
            ],
            options={"db_table": "gdpr_liftings", "ordering": ("-id",)},
        ),
        migrations.CreateModel(
            name="Dismissal",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("digest", models.CharField(max_length=64)),
                (
                    "decided_at",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
                ("decided_by", models.CharField(max_length=254)),
                (
                    "subject",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="dismissals",
                        to="gdpr.subject",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="memory.workspace",
                    ),
                ),
            ],
            options={
                "db_table": "gdpr_dismissals",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "subject", "digest"), name="dismissed_once"
                    )
                ],
            },
        ),
        migrations.RunPython(move, migrations.RunPython.noop),
    ]
