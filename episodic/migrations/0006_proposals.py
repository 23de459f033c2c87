import django.db.models.deletion
import django.utils.timezone
import episodic.models.proposals
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("episodic", "0005_nudges"),
        ("memory", "0008_learned"),
    ]

    operations = [
        migrations.CreateModel(
            name="ConsolidationMark",
            fields=[
                (
                    "crew",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="consolidation",
                        serialize=False,
                        to="memory.crew",
                    ),
                ),
                ("seq", models.BigIntegerField(default=0)),
                ("runs", models.PositiveIntegerField(default=0)),
                ("waiting_pins", models.JSONField(blank=True, default=list)),
                ("last_run_at", models.DateTimeField(blank=True, null=True)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        to="memory.workspace",
                    ),
                ),
            ],
            options={
                "db_table": "consolidation_marks",
            },
        ),
        migrations.CreateModel(
            name="ConsolidationProposal",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=episodic.models.proposals.proposal_id,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("approved", "Approved"),
                            ("rejected", "Rejected"),
                        ],
                        default="pending",
                        max_length=8,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1)),
                ("pattern", models.TextField()),
                ("pattern_key", models.CharField(max_length=64)),
                ("action", models.TextField(blank=True)),
                ("text", models.TextField()),
                ("content_hash", models.CharField(max_length=64)),
                ("confidence", models.FloatField()),
                ("evidence", models.JSONField(default=list)),
                ("signals", models.JSONField(default=dict)),
                ("score", models.FloatField(default=0.0)),
                ("summariser", models.CharField(max_length=120)),
                ("runs", models.PositiveIntegerField(default=1)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "last_found_at",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("decided_by", models.CharField(blank=True, max_length=254)),
                ("reason", models.CharField(blank=True, max_length=2000)),
                ("was_edited", models.BooleanField(default=False)),
                ("learned_label", models.CharField(blank=True, max_length=80)),
                (
                    "crew",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="proposals",
                        to="memory.crew",
                    ),
                ),
                (
                    "learned_version",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="memory.memoryversion",
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
                "db_table": "consolidation_proposals",
                "ordering": ("-created_at", "-id"),
                "indexes": [
                    models.Index(
                        fields=["workspace", "state", "-created_at", "-id"],
                        name="proposal_queue",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("crew", "pattern_key"), name="proposal_pattern_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("confidence__gte", 0), ("confidence__lte", 1)
                        ),
                        name="proposal_confidence_in_unit",
                    ),
                ],
            },
        ),
    ]
