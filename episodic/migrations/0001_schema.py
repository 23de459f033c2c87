"""The tables of recall; triggers that log its changes; pgvector's own column."""

import django.db.models.deletion
import django.utils.timezone
import episodic.models.health
import episodic.models.nudges
import episodic.models.proposals
from django.db import migrations, models

from memory import raw_sql


_LOG = "INSERT INTO embedding_changes(workspace_id, entry_id, kind) VALUES"

SQLITE = (
    # Triggers, not our code, write the log: whatever touches an embedding is noticed.
    f"""
    CREATE TRIGGER embedding_insert AFTER INSERT ON journal_embeddings
    WHEN new.state = 'indexed' BEGIN
        {_LOG} (new.workspace_id, new.entry_id, 'put');
    END
    """,
    f"""
    CREATE TRIGGER embedding_update
    AFTER UPDATE OF state, vector, dim, model, importance_score ON journal_embeddings
    WHEN new.state = 'indexed' OR old.state = 'indexed' BEGIN
        {_LOG} (new.workspace_id, new.entry_id, 'put');
    END
    """,
    f"""
    CREATE TRIGGER embedding_delete AFTER DELETE ON journal_embeddings
    WHEN old.state = 'indexed' BEGIN
        {_LOG} (old.workspace_id, old.entry_id, 'del');
    END
    """,
)
SQLITE_BACK = (
    "DROP TRIGGER embedding_delete",
    "DROP TRIGGER embedding_update",
    "DROP TRIGGER embedding_insert",
)
POSTGRES = (
    "CREATE EXTENSION IF NOT EXISTS vector",
    "ALTER TABLE journal_embeddings ADD COLUMN vec vector",
    """
    CREATE INDEX journal_embeddings_vec_384 ON journal_embeddings
    USING hnsw ((vec::vector(384)) vector_cosine_ops) WHERE dim = 384
    """,
    """
    CREATE INDEX journal_embeddings_vec_768 ON journal_embeddings
    USING hnsw ((vec::vector(768)) vector_cosine_ops) WHERE dim = 768
    """,
)
POSTGRES_BACK = ("ALTER TABLE journal_embeddings DROP COLUMN vec",)


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("episodic", "0001_initial"),
        ("episodic", "0002_change_log"),
        ("episodic", "0003_relations"),
        ("episodic", "0004_health"),
        ("episodic", "0005_nudges"),
        ("episodic", "0006_proposals"),
        ("episodic", "0007_withheld"),
    ]

    dependencies = [
        ("memory", "0001_schema"),
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
                            ("withheld", "Withheld"),
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
        raw_sql.operation(
            {"sqlite": SQLITE, "postgresql": POSTGRES},
            {"sqlite": SQLITE_BACK, "postgresql": POSTGRES_BACK},
        ),
    ]
