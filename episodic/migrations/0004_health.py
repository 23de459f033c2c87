import django.db.models.deletion
import episodic.models.health
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("episodic", "0003_relations"),
        ("memory", "0006_review"),
    ]

    operations = [
        migrations.CreateModel(
            name="HealthSnapshot",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=episodic.models.health.snapshot_id,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("crew_id", models.CharField(blank=True, default="", max_length=128)),
                ("date", models.DateField()),
                ("computed_at", models.DateTimeField()),
                ("freshness", models.FloatField(null=True)),
                ("coverage", models.FloatField(null=True)),
                ("coherence", models.FloatField(null=True)),
                ("efficiency", models.FloatField(null=True)),
                ("reachability", models.FloatField(null=True)),
                ("score", models.FloatField(null=True)),
                ("details", models.JSONField(default=dict)),
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
                "db_table": "memory_health_snapshots",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "crew_id", "date"),
                        name="health_once_a_day",
                    )
                ],
            },
        ),
    ]
