import django.db.models.deletion
import django.utils.timezone
import memory.models.records
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0004_chunk_index"),
    ]

    operations = [
        migrations.AlterField(
            model_name="heldfile",
            name="signature",
            field=models.CharField(max_length=400),
        ),
        migrations.AlterField(
            model_name="knownattack",
            name="signature",
            field=models.CharField(max_length=400),
        ),
        migrations.CreateModel(
            name="Record",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=memory.models.records._record_id,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("scope_user", models.CharField(blank=True, max_length=128)),
                ("scope_agent", models.CharField(blank=True, max_length=128)),
                ("scope_namespace", models.CharField(blank=True, max_length=128)),
                ("scope_thread", models.CharField(blank=True, max_length=128)),
                ("kind", models.CharField(max_length=40)),
                ("content", models.TextField(blank=True)),
                ("sha256", models.CharField(blank=True, max_length=64)),
                ("metadata", models.JSONField(blank=True, default=dict)),
                ("confidence", models.FloatField(default=1.0)),
                ("provenance", models.CharField(max_length=24)),
                ("session_id", models.CharField(blank=True, max_length=128)),
                ("turn_range", models.JSONField(blank=True, null=True)),
                ("external_id", models.CharField(blank=True, max_length=200)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("version", models.PositiveIntegerField(default=1)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("current", "Current"),
                            ("superseded", "Superseded"),
                            ("forgotten", "Forgotten"),
                        ],
                        default="current",
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "agent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="records",
                        to="memory.agent",
                    ),
                ),
                (
                    "crew",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="records",
                        to="memory.crew",
                    ),
                ),
                (
                    "current_entry",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
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
                "db_table": "records",
                "ordering": ("-updated_at", "id"),
            },
        ),
        migrations.CreateModel(
            name="HeldRecord",
            fields=[
                (
                    "held",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="record_draft",
                        serialize=False,
                        to="memory.heldfile",
                    ),
                ),
                ("draft", models.JSONField()),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="memory.workspace",
                    ),
                ),
                (
                    "record",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="memory.record",
                    ),
                ),
            ],
            options={
                "db_table": "held_records",
            },
        ),
        migrations.CreateModel(
            name="RecordEntry",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("version", models.PositiveIntegerField()),
                (
                    "entry",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="record_link",
                        to="memory.journalentry",
                    ),
                ),
                (
                    "record",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="links",
                        to="memory.record",
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
                "db_table": "record_entries",
                "ordering": ("record", "version"),
            },
        ),
        migrations.CreateModel(
            name="ProviderPulse",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("provider", models.CharField(max_length=40)),
                ("ok", models.BooleanField()),
                ("message", models.CharField(blank=True, max_length=300)),
                ("checked_at", models.DateTimeField()),
                ("last_good_at", models.DateTimeField(null=True)),
                ("milliseconds", models.FloatField(default=0)),
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
                "db_table": "provider_pulses",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "provider"), name="provider_pulse_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ProviderRun",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("provider", models.CharField(max_length=40)),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("seconds", models.FloatField(default=0)),
                ("passed", models.PositiveIntegerField(default=0)),
                ("failed", models.PositiveIntegerField(default=0)),
                ("skipped", models.PositiveIntegerField(default=0)),
                ("details", models.JSONField(default=list)),
                ("started_by", models.CharField(blank=True, max_length=254)),
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
                "db_table": "provider_runs",
                "ordering": ("-started_at", "-id"),
                "indexes": [
                    models.Index(
                        fields=["workspace", "provider", "-started_at"],
                        name="provider_run_of",
                    )
                ],
            },
        ),
        migrations.AddIndex(
            model_name="record",
            index=models.Index(
                fields=["workspace", "status", "-updated_at"], name="record_status"
            ),
        ),
        migrations.AddIndex(
            model_name="record",
            index=models.Index(
                fields=["workspace", "agent", "status"], name="record_agent"
            ),
        ),
        migrations.AddIndex(
            model_name="record",
            index=models.Index(
                fields=["workspace", "current_entry"], name="record_entry"
            ),
        ),
        migrations.AddConstraint(
            model_name="record",
            constraint=models.CheckConstraint(
                condition=models.Q(("confidence__gte", 0), ("confidence__lte", 1)),
                name="record_confidence_in_unit",
            ),
        ),
        migrations.AddConstraint(
            model_name="record",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("status__in", ["current", "superseded", "forgotten"])
                ),
                name="record_status_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="record",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    models.Q(("external_id", ""), _negated=True),
                    ("agent__isnull", False),
                    ("status", "current"),
                ),
                fields=("workspace", "crew", "agent", "external_id"),
                name="record_external_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="record",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    models.Q(("external_id", ""), _negated=True),
                    ("agent__isnull", True),
                    ("status", "current"),
                ),
                fields=("workspace", "crew", "external_id"),
                name="record_crew_external_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="recordentry",
            constraint=models.UniqueConstraint(
                fields=("workspace", "record", "version"), name="record_version_once"
            ),
        ),
    ]
