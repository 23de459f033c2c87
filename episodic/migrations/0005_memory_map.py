"""The map of memory: one row of packed points per workspace."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("episodic", "0004_accepted_causes"),
        ("memory", "0003_last_visits"),
    ]

    operations = [
        migrations.CreateModel(
            name="MemoryMap",
            fields=[
                (
                    "workspace",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        serialize=False,
                        to="memory.workspace",
                    ),
                ),
                ("computed_at", models.DateTimeField(null=True)),
                ("model", models.CharField(blank=True, max_length=120)),
                ("indexed", models.PositiveIntegerField(default=0)),
                ("agreement", models.FloatField(default=0.0)),
                ("crews", models.JSONField(default=list)),
                ("points", models.BinaryField(default=b"")),
            ],
            options={"db_table": "memory_maps"},
        ),
    ]
