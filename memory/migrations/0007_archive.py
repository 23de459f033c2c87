"""The archive of compacted entries, and the runs of the clock's jobs."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0006_review"),
    ]

    operations = [
        migrations.CreateModel(
            name="ArchivedEntry",
            fields=[
                (
                    "id",
                    models.CharField(max_length=32, primary_key=True, serialize=False),
                ),
                ("seq", models.BigIntegerField()),
                ("ts", models.DateTimeField()),
                ("recorded_at", models.DateTimeField()),
                (
                    "archived_at",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
                ("entry_type", models.CharField(max_length=80)),
                ("severity", models.CharField(max_length=8)),
                ("priority", models.CharField(max_length=10)),
                ("actor_type", models.CharField(max_length=12)),
                ("actor_id", models.CharField(max_length=128)),
                ("crew_id", models.CharField(blank=True, max_length=128, null=True)),
                ("agent_id", models.CharField(blank=True, max_length=128, null=True)),
                ("mission_id", models.CharField(blank=True, max_length=128, null=True)),
                ("trace_id", models.CharField(blank=True, max_length=128, null=True)),
                ("span_id", models.CharField(blank=True, max_length=128, null=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("summary", models.CharField(max_length=200)),
                ("payload_text", models.CharField(db_column="payload", max_length=400)),
                ("subjects", models.TextField(blank=True)),
                ("original_size_bytes", models.PositiveBigIntegerField()),
                ("commitment", models.CharField(max_length=64)),
                ("prev_hash", models.CharField(blank=True, max_length=64)),
                ("entry_hash", models.CharField(max_length=64)),
                (
                    "checkpoint",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="archived",
                        to="memory.chaincheckpoint",
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
                "verbose_name_plural": "archived entries",
                "db_table": "journal_entries_archived",
                "ordering": ("-ts", "-seq"),
                "indexes": [
                    models.Index(
                        fields=["workspace", "-ts", "-seq"], name="archived_ts"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "seq"), name="archived_seq_unique"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="JobRun",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=60)),
                ("slot", models.CharField(max_length=100)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("partly", "Partly"),
                            ("failed", "Failed"),
                        ],
                        default="running",
                        max_length=8,
                    ),
                ),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "heartbeat_at",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("counts", models.JSONField(blank=True, default=dict)),
                ("error", models.CharField(blank=True, max_length=400)),
                ("asked_by", models.CharField(blank=True, max_length=254)),
                ("claimed_by", models.CharField(blank=True, max_length=120)),
                (
                    "workspace",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="job_runs",
                        to="memory.workspace",
                    ),
                ),
            ],
            options={
                "db_table": "job_runs",
                "ordering": ("-id",),
                "indexes": [
                    models.Index(
                        fields=["name", "workspace", "-id"], name="job_history"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("name", "slot"), name="job_slot_once"
                    )
                ],
            },
        ),
    ]
