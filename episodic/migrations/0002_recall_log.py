"""The tables of the recall log: what agents asked, and what they got."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("episodic", "0001_schema"),
        ("memory", "0001_schema"),
    ]

    operations = [
        migrations.CreateModel(
            name="LoggedQuestion",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("asked_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("question", models.TextField()),
                ("question_key", models.CharField(max_length=64)),
                ("agent_id", models.CharField(max_length=128, null=True)),
                ("crew_id", models.CharField(max_length=128, null=True)),
                ("asked_by", models.CharField(blank=True, max_length=254)),
                ("scope", models.CharField(max_length=16)),
                ("mode", models.CharField(max_length=8)),
                ("fusion", models.CharField(max_length=16)),
                ("k", models.PositiveSmallIntegerField()),
                ("unanswered", models.BooleanField(default=False)),
                ("latency_ms", models.FloatField(default=0.0)),
                ("degraded", models.CharField(blank=True, max_length=200)),
                ("model", models.CharField(blank=True, max_length=120)),
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
                "db_table": "recall_log",
            },
        ),
        migrations.CreateModel(
            name="LoggedHit",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("rank", models.PositiveSmallIntegerField()),
                ("entry_id", models.CharField(max_length=32)),
                ("score", models.FloatField()),
                ("cosine", models.FloatField(null=True)),
                ("via", models.CharField(max_length=12)),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="memory.workspace",
                    ),
                ),
                (
                    "question",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="hits",
                        to="episodic.loggedquestion",
                    ),
                ),
            ],
            options={
                "db_table": "recall_log_hits",
            },
        ),
        migrations.AddIndex(
            model_name="loggedquestion",
            index=models.Index(
                fields=["workspace", "-asked_at", "-id"], name="recall_log_newest"
            ),
        ),
        migrations.AddIndex(
            model_name="loggedquestion",
            index=models.Index(
                condition=models.Q(("unanswered", True)),
                fields=["workspace", "question_key"],
                name="recall_log_unanswered",
            ),
        ),
        migrations.AddIndex(
            model_name="loggedhit",
            index=models.Index(
                fields=["workspace", "entry_id"], name="recall_log_hit_of"
            ),
        ),
        migrations.AddConstraint(
            model_name="loggedhit",
            constraint=models.UniqueConstraint(
                fields=("question", "rank"), name="recall_log_hit_ranked_once"
            ),
        ),
    ]
