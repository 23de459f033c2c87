import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("memory", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="IndexState",
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
                ("seq", models.BigIntegerField(default=0)),
                ("policy_version", models.PositiveSmallIntegerField(default=0)),
            ],
            options={
                "db_table": "journal_index_states",
            },
        ),
        migrations.CreateModel(
            name="EmbeddingChange",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("workspace_id", models.CharField(max_length=32)),
                ("entry_id", models.CharField(max_length=32)),
                ("kind", models.CharField(max_length=6)),
            ],
            options={
                "db_table": "embedding_changes",
                "indexes": [
                    models.Index(
                        fields=["workspace_id", "id"], name="embedding_change_of"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Embedding",
            fields=[
                (
                    "entry",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="embedding",
                        serialize=False,
                        to="memory.journalentry",
                    ),
                ),
                ("seq", models.BigIntegerField(default=0)),
                ("crew_id", models.CharField(max_length=128, null=True)),
                ("agent_id", models.CharField(max_length=128, null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("indexed", "Indexed"),
                            ("failed", "Failed"),
                        ],
                        default="pending",
                        max_length=8,
                    ),
                ),
                ("vector", models.BinaryField(default=b"")),
                ("dim", models.PositiveIntegerField(default=0)),
                ("model", models.CharField(blank=True, max_length=120)),
                ("indexed_at", models.DateTimeField(null=True)),
                ("embedded_at", models.DateTimeField(null=True)),
                ("importance_score", models.FloatField(default=0.5)),
                ("reference_count", models.PositiveIntegerField(default=0)),
                ("last_referenced_at", models.DateTimeField(null=True)),
                ("policy_version", models.PositiveSmallIntegerField(default=0)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("last_error", models.CharField(blank=True, max_length=200)),
                ("next_attempt_at", models.DateTimeField(null=True)),
                ("lease_until", models.DateTimeField(null=True)),
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
                "db_table": "journal_embeddings",
                "indexes": [
                    models.Index(
                        fields=["workspace", "model", "state"], name="embedding_of"
                    ),
                    models.Index(
                        condition=models.Q(("state", "indexed"), _negated=True),
                        fields=["workspace", "-seq"],
                        name="embedding_waiting",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("importance_score__gte", 0), ("importance_score__lte", 1)
                        ),
                        name="importance_in_unit",
                    )
                ],
            },
        ),
    ]
