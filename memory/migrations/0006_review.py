"""Saved filters of the quarantine, and room for the scanner's signatures."""

from __future__ import annotations

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("memory", "0005_records"),)

    operations = (
        migrations.CreateModel(
            name="SavedFilter",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=60)),
                ("query", models.CharField(max_length=500)),
                ("made_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="held_filters",
                        to=settings.AUTH_USER_MODEL,
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
            options={"db_table": "saved_filters", "ordering": ("name",)},
        ),
        migrations.AddConstraint(
            model_name="savedfilter",
            constraint=models.UniqueConstraint(
                fields=("workspace", "user", "name"), name="saved_filter_once"
            ),
        ),
        migrations.AlterField(
            model_name="heldfile",
            name="signature",
            field=models.CharField(max_length=400),
        ),
        migrations.AlterField(
            model_name="knownattack",
            name="signature",
            field=models.CharField(max_length=400),
        ),
    )
