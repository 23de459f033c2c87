"""Causes of low health that people accept with a reason until a day."""

import django.db.models.deletion
import episodic.models.health
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("episodic", "0003_author_names"),
        ("memory", "0002_word_lists"),
    ]

    operations = [
        migrations.CreateModel(
            name="AcceptedCause",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=episodic.models.health.acceptance_id,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("crew_id", models.CharField(blank=True, default="", max_length=128)),
                ("metric", models.CharField(max_length=40)),
                ("key", models.CharField(max_length=300)),
                ("reason", models.CharField(max_length=500)),
                ("accepted_by", models.CharField(max_length=254)),
                ("accepted_at", models.DateTimeField()),
                ("until", models.DateTimeField()),
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
                "db_table": "memory_health_accepted",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "crew_id", "metric", "key"),
                        name="health_cause_accepted_once",
                    )
                ],
            },
        ),
    ]
