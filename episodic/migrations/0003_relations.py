import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("episodic", "0002_change_log"),
        ("memory", "0004_chunk_index"),
    ]

    operations = [
        migrations.CreateModel(
            name="MemoryRelation",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "relation",
                    models.CharField(
                        choices=[
                            ("similar", "Similar"),
                            ("supports", "Supports"),
                            ("contradicts", "Contradicts"),
                        ],
                        max_length=12,
                    ),
                ),
                ("weight", models.FloatField(default=1.0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "dst",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="relations_in",
                        to="memory.journalentry",
                    ),
                ),
                (
                    "src",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="relations_out",
                        to="memory.journalentry",
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
                "db_table": "memory_relations",
                "indexes": [
                    models.Index(fields=["workspace", "dst"], name="relation_back")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "src", "dst", "relation"),
                        name="relation_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("src", models.F("dst")), _negated=True),
                        name="relation_not_to_itself",
                    ),
                ],
            },
        ),
    ]
