import django.db.models.deletion
import django.utils.timezone
import memory.models.files
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0002_word_index"),
    ]

    operations = [
        migrations.CreateModel(
            name="HeldFile",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=memory.models.files._held_id,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("tier", models.CharField(max_length=8)),
                ("key", models.CharField(blank=True, max_length=64)),
                ("label", models.CharField(max_length=80)),
                ("mode", models.CharField(max_length=8)),
                ("source", models.CharField(max_length=16)),
                ("written_by", models.CharField(max_length=254)),
                ("body", models.BinaryField()),
                ("sha256", models.CharField(max_length=64)),
                ("bytes", models.PositiveIntegerField()),
                ("base_sha256", models.CharField(blank=True, max_length=64)),
                ("fingerprint", models.CharField(max_length=64)),
                ("signature", models.CharField(max_length=16)),
                ("findings", models.JSONField(default=list)),
                ("family", models.CharField(blank=True, max_length=24)),
                ("score", models.FloatField()),
                ("risk", models.FloatField()),
                ("rules_version", models.CharField(max_length=64)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("held", "Held"),
                            ("released", "Released"),
                            ("redacted", "Redacted"),
                            ("discarded", "Discarded"),
                        ],
                        default="held",
                        max_length=10,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1)),
                (
                    "received_at",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
                (
                    "last_seen_at",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
                ("times_seen", models.PositiveIntegerField(default=1)),
                ("claimed_by", models.CharField(blank=True, max_length=254)),
                ("claimed_at", models.DateTimeField(blank=True, null=True)),
                ("decision", models.CharField(blank=True, max_length=20)),
                ("reason", models.TextField(blank=True)),
                ("decided_by", models.CharField(blank=True, max_length=254)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("outcome", models.JSONField(blank=True, default=dict)),
                (
                    "agent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="held",
                        to="memory.agent",
                    ),
                ),
                (
                    "crew",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="held",
                        to="memory.crew",
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
                "db_table": "held_files",
                "ordering": ("-risk", "received_at"),
            },
        ),
        migrations.CreateModel(
            name="Clearance",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("fingerprint", models.CharField(max_length=64)),
                ("cleared_by", models.CharField(max_length=254)),
                ("cleared_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="memory.workspace",
                    ),
                ),
                (
                    "held",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="clearances",
                        to="memory.heldfile",
                    ),
                ),
            ],
            options={
                "db_table": "scan_clearances",
            },
        ),
        migrations.CreateModel(
            name="BlockedSource",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("source", models.CharField(max_length=16)),
                ("blocked_by", models.CharField(max_length=254)),
                ("blocked_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "agent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
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
                (
                    "held",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="blocks",
                        to="memory.heldfile",
                    ),
                ),
            ],
            options={
                "db_table": "blocked_sources",
            },
        ),
        migrations.CreateModel(
            name="KnownAttack",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("signature", models.CharField(max_length=16)),
                ("confirmed_by", models.CharField(max_length=254)),
                (
                    "confirmed_at",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
                (
                    "held",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="known_as",
                        to="memory.heldfile",
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
                "db_table": "known_attacks",
            },
        ),
        migrations.CreateModel(
            name="MemoryFile",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=memory.models.files._file_id,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "tier",
                    models.CharField(
                        choices=[
                            ("AGENT", "AGENT"),
                            ("CREW", "CREW"),
                            ("PERSONA", "PERSONA"),
                            ("pins", "pins"),
                            ("daily", "daily"),
                            ("peers", "peers"),
                            ("lessons", "lessons"),
                        ],
                        max_length=8,
                    ),
                ),
                ("key", models.CharField(blank=True, max_length=64)),
                ("label", models.CharField(max_length=80)),
                ("path", models.CharField(max_length=300)),
                ("sha256", models.CharField(blank=True, max_length=64)),
                ("bytes", models.PositiveIntegerField(default=0)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "agent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="files",
                        to="memory.agent",
                    ),
                ),
                (
                    "crew",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="files",
                        to="memory.crew",
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
                "db_table": "memory_files",
                "ordering": ("path",),
            },
        ),
        migrations.CreateModel(
            name="MemoryChunk",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("heading", models.TextField(blank=True)),
                ("text", models.TextField()),
                ("line_start", models.PositiveIntegerField()),
                ("line_end", models.PositiveIntegerField()),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="memory.workspace",
                    ),
                ),
                (
                    "file",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="chunks",
                        to="memory.memoryfile",
                    ),
                ),
            ],
            options={
                "db_table": "memory_chunks",
                "ordering": ("file", "line_start"),
            },
        ),
        migrations.CreateModel(
            name="MemoryVersion",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=memory.models.files._version_id,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("sha256", models.CharField(blank=True, max_length=64)),
                ("bytes", models.PositiveIntegerField(default=0)),
                ("written_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("written_by", models.CharField(max_length=254)),
                ("author", models.JSONField(default=dict)),
                ("source", models.CharField(max_length=16)),
                ("note", models.CharField(blank=True, max_length=400)),
                ("committed", models.BooleanField(default=False)),
                (
                    "file",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="versions",
                        to="memory.memoryfile",
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="children",
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
                "db_table": "memory_versions",
                "ordering": ("-number",),
            },
        ),
        migrations.AddIndex(
            model_name="heldfile",
            index=models.Index(
                fields=["workspace", "state", "-risk", "received_at"], name="held_queue"
            ),
        ),
        migrations.AddIndex(
            model_name="heldfile",
            index=models.Index(
                fields=["workspace", "fingerprint"], name="held_fingerprint"
            ),
        ),
        migrations.AddConstraint(
            model_name="clearance",
            constraint=models.UniqueConstraint(
                fields=("workspace", "fingerprint"), name="clearance_once"
            ),
        ),
        migrations.AddIndex(
            model_name="blockedsource",
            index=models.Index(
                fields=["workspace", "agent", "source"], name="blocked_of"
            ),
        ),
        migrations.AddConstraint(
            model_name="knownattack",
            constraint=models.UniqueConstraint(
                fields=("workspace", "held"), name="known_attack_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="memoryfile",
            constraint=models.UniqueConstraint(
                fields=("workspace", "path"), name="memory_file_path_unique"
            ),
        ),
        migrations.AddIndex(
            model_name="memoryversion",
            index=models.Index(fields=["workspace", "sha256"], name="version_sha"),
        ),
        migrations.AddIndex(
            model_name="memoryversion",
            index=models.Index(
                condition=models.Q(("committed", False)),
                fields=["workspace", "file"],
                name="version_unfinished",
            ),
        ),
        migrations.AddConstraint(
            model_name="memoryversion",
            constraint=models.UniqueConstraint(
                fields=("workspace", "file", "number"), name="version_number_unique"
            ),
        ),
    ]
