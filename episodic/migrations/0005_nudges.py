import django.db.models.deletion
import django.utils.timezone
import episodic.models.nudges
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("episodic", "0004_health"),
        ("memory", "0006_review"),
    ]

    operations = [
        migrations.CreateModel(
            name="RecallCheck",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=episodic.models.nudges.check_id,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                ("question", models.JSONField()),
                ("expected", models.JSONField()),
                ("created_by", models.CharField(max_length=254)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "result",
                    models.CharField(
                        choices=[
                            ("new", "New"),
                            ("holds", "Holds"),
                            ("broken", "Broken"),
                            ("refused", "Refused"),
                        ],
                        default="new",
                        max_length=8,
                    ),
                ),
                ("last_run_at", models.DateTimeField(null=True)),
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
                "db_table": "recall_checks",
            },
        ),
        migrations.CreateModel(
            name="RecallCheckRun",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("ran_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "result",
                    models.CharField(
                        choices=[
                            ("new", "New"),
                            ("holds", "Holds"),
                            ("broken", "Broken"),
                            ("refused", "Refused"),
                        ],
                        max_length=8,
                    ),
                ),
                ("returned", models.PositiveSmallIntegerField(default=0)),
                ("missing", models.JSONField(default=list)),
                ("model", models.CharField(blank=True, max_length=120)),
                ("note", models.CharField(blank=True, max_length=300)),
                (
                    "recall_check",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runs",
                        to="episodic.recallcheck",
                    ),
                ),
            ],
            options={
                "db_table": "recall_check_runs",
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="NudgeSent",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("session_digest", models.CharField(max_length=64)),
                ("kind", models.CharField(max_length=20)),
                ("sent_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "agent",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="memory.agent",
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
                "db_table": "nudges_sent",
                "indexes": [models.Index(fields=["sent_at"], name="nudge_age")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "agent", "session_digest", "kind"),
                        name="nudge_once_a_session",
                    )
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="recallcheck",
            constraint=models.UniqueConstraint(
                fields=("workspace", "name"), name="recall_check_named_once"
            ),
        ),
        migrations.AddIndex(
            model_name="recallcheckrun",
            index=models.Index(fields=["recall_check", "-id"], name="check_runs"),
        ),
    ]
