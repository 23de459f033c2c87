import django.core.validators
import django.db.models.deletion
import django.utils.timezone
import memory.models.ids
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="Agent",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=memory.models.ids.agent,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "slug",
                    models.CharField(
                        max_length=64,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?\\Z",
                                "Use lower-case letters, digits and dashes, 64 at most.",
                            )
                        ],
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                (
                    "role",
                    models.CharField(
                        choices=[("AGENT", "AGENT"), ("LEAD", "LEAD")],
                        default="AGENT",
                        max_length=8,
                    ),
                ),
                ("memory_walk_depth", models.PositiveSmallIntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "db_table": "agents",
                "ordering": ("slug",),
            },
        ),
        migrations.CreateModel(
            name="Workspace",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=memory.models.ids.workspace,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("number", models.PositiveIntegerField(unique=True)),
                (
                    "slug",
                    models.CharField(
                        max_length=64,
                        unique=True,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?\\Z",
                                "Use lower-case letters, digits and dashes, 64 at most.",
                            )
                        ],
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                ("settings", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "db_table": "workspaces",
                "ordering": ("slug",),
            },
        ),
        migrations.CreateModel(
            name="User",
            fields=[
                ("password", models.CharField(max_length=128, verbose_name="password")),
                (
                    "last_login",
                    models.DateTimeField(
                        blank=True, null=True, verbose_name="last login"
                    ),
                ),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                (
                    "is_staff",
                    models.BooleanField(
                        default=False,
                        help_text="Designates whether the user can log into this admin site.",
                        verbose_name="staff status",
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        default=True,
                        help_text="Designates whether this user should be treated as active. Unselect this instead of deleting accounts.",
                        verbose_name="active",
                    ),
                ),
                (
                    "date_joined",
                    models.DateTimeField(
                        default=django.utils.timezone.now, verbose_name="date joined"
                    ),
                ),
                (
                    "id",
                    models.CharField(
                        default=memory.models.ids.user,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("email", models.EmailField(max_length=254, unique=True)),
                ("name", models.CharField(blank=True, max_length=120)),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
            ],
            options={
                "db_table": "users",
                "ordering": ("email",),
            },
        ),
        migrations.CreateModel(
            name="ChainHead",
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
                ("entry_hash", models.CharField(blank=True, max_length=64)),
                ("mac", models.CharField(blank=True, max_length=64)),
            ],
            options={
                "db_table": "journal_chain_heads",
            },
        ),
        migrations.CreateModel(
            name="ChainCheckpoint",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("removed", models.JSONField()),
                ("mac", models.CharField(max_length=64)),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        to="memory.workspace",
                    ),
                ),
            ],
            options={
                "db_table": "journal_chain_checkpoints",
                "ordering": ("id",),
            },
        ),
        migrations.CreateModel(
            name="AgentKey",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=memory.models.ids.key,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                ("prefix", models.CharField(max_length=16)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("scopes", models.JSONField(blank=True, default=list)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("created_by", models.CharField(max_length=254)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="keys",
                        to="memory.agent",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="agent_keys",
                        to="memory.workspace",
                    ),
                ),
            ],
            options={
                "db_table": "agent_keys",
                "ordering": ("-created_at",),
            },
        ),
        migrations.AddField(
            model_name="agent",
            name="workspace",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="agents",
                to="memory.workspace",
            ),
        ),
        migrations.CreateModel(
            name="Crew",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=memory.models.ids.crew,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "slug",
                    models.CharField(
                        max_length=64,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?\\Z",
                                "Use lower-case letters, digits and dashes, 64 at most.",
                            )
                        ],
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="crews",
                        to="memory.workspace",
                    ),
                ),
            ],
            options={
                "db_table": "crews",
                "ordering": ("slug",),
            },
        ),
        migrations.AddField(
            model_name="agent",
            name="crew",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="agents",
                to="memory.crew",
            ),
        ),
        migrations.CreateModel(
            name="IdempotencyRecord",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("actor_id", models.CharField(max_length=128)),
                ("key_digest", models.CharField(max_length=64)),
                ("body_digest", models.CharField(max_length=64)),
                ("answer", models.JSONField()),
                (
                    "created_at",
                    models.DateTimeField(
                        db_index=True, default=django.utils.timezone.now
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
                "db_table": "idempotency_records",
            },
        ),
        migrations.CreateModel(
            name="JournalEntry",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=memory.models.ids.entry,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("seq", models.BigIntegerField()),
                ("docid", models.BigIntegerField(unique=True)),
                ("ts", models.DateTimeField()),
                (
                    "recorded_at",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
                ("entry_type", models.CharField(max_length=80)),
                (
                    "severity",
                    models.CharField(
                        choices=[
                            ("info", "info"),
                            ("notice", "notice"),
                            ("warn", "warn"),
                            ("error", "error"),
                        ],
                        max_length=8,
                    ),
                ),
                (
                    "priority",
                    models.CharField(
                        choices=[
                            ("normal", "normal"),
                            ("high", "high"),
                            ("pin", "pin"),
                            ("permanent", "permanent"),
                        ],
                        max_length=10,
                    ),
                ),
                ("priority_at_emit", models.CharField(max_length=10)),
                (
                    "actor_type",
                    models.CharField(
                        choices=[
                            ("agent", "agent"),
                            ("user", "user"),
                            ("system", "system"),
                            ("keeper", "keeper"),
                            ("sidecar", "sidecar"),
                            ("orchestrator", "orchestrator"),
                        ],
                        max_length=12,
                    ),
                ),
                ("actor_id", models.CharField(max_length=128)),
                ("crew_id", models.CharField(blank=True, max_length=128, null=True)),
                ("agent_id", models.CharField(blank=True, max_length=128, null=True)),
                ("mission_id", models.CharField(blank=True, max_length=128, null=True)),
                ("trace_id", models.CharField(blank=True, max_length=128, null=True)),
                ("span_id", models.CharField(blank=True, max_length=128, null=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("summary", models.TextField()),
                ("payload_text", models.TextField(db_column="payload")),
                ("refs_text", models.TextField(db_column="refs")),
                ("body", models.TextField(blank=True)),
                ("embeddable", models.BooleanField(default=False)),
                ("salt", models.BinaryField(null=True)),
                ("commitment", models.CharField(max_length=64)),
                ("prev_hash", models.CharField(blank=True, max_length=64)),
                ("entry_hash", models.CharField(max_length=64)),
                ("erased_at", models.DateTimeField(blank=True, null=True)),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="entries",
                        to="memory.workspace",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "journal entries",
                "db_table": "journal_entries",
                "ordering": ("-ts", "-seq"),
            },
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=memory.models.ids.membership,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "viewer"),
                            ("operator", "operator"),
                            ("compliance", "compliance"),
                            ("admin", "admin"),
                        ],
                        max_length=12,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="members",
                        to="memory.workspace",
                    ),
                ),
            ],
            options={
                "db_table": "memberships",
                "ordering": ("created_at",),
            },
        ),
        migrations.CreateModel(
            name="OperatorKey",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=memory.models.ids.key,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                ("prefix", models.CharField(max_length=16)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("scopes", models.JSONField(blank=True, default=list)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("created_by", models.CharField(max_length=254)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "viewer"),
                            ("operator", "operator"),
                            ("compliance", "compliance"),
                            ("admin", "admin"),
                        ],
                        default="operator",
                        max_length=12,
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="keys",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="operator_keys",
                        to="memory.workspace",
                    ),
                ),
            ],
            options={
                "db_table": "operator_keys",
                "ordering": ("-created_at",),
            },
        ),
        migrations.CreateModel(
            name="PriorityChange",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("number", models.PositiveIntegerField()),
                ("previous", models.CharField(max_length=10)),
                ("priority", models.CharField(max_length=10)),
                ("reason", models.TextField(blank=True)),
                ("set_by", models.CharField(max_length=254)),
                ("set_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "entry",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="priorities",
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
                "db_table": "journal_entry_priorities",
                "ordering": ("entry", "number"),
            },
        ),
        migrations.CreateModel(
            name="SubjectMention",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("alias", models.CharField(max_length=320)),
                ("folded", models.CharField(max_length=640)),
                (
                    "entry",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="mentions",
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
                "db_table": "subject_mentions",
            },
        ),
        migrations.AddConstraint(
            model_name="crew",
            constraint=models.UniqueConstraint(
                fields=("workspace", "slug"), name="crew_slug_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.UniqueConstraint(
                fields=("workspace", "crew", "slug"), name="agent_slug_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.CheckConstraint(
                condition=models.Q(("memory_walk_depth__in", (0, 1))),
                name="agent_walk_depth_0_or_1",
            ),
        ),
        migrations.AddConstraint(
            model_name="idempotencyrecord",
            constraint=models.UniqueConstraint(
                fields=("workspace", "actor_id", "key_digest"),
                name="idempotency_key_unique",
            ),
        ),
        migrations.AddIndex(
            model_name="journalentry",
            index=models.Index(fields=["workspace", "-ts", "-seq"], name="journal_ts"),
        ),
        migrations.AddIndex(
            model_name="journalentry",
            index=models.Index(
                fields=["workspace", "crew_id", "-ts", "-seq"], name="journal_crew_ts"
            ),
        ),
        migrations.AddIndex(
            model_name="journalentry",
            index=models.Index(
                fields=["workspace", "agent_id", "-ts", "-seq"], name="journal_agent_ts"
            ),
        ),
        migrations.AddIndex(
            model_name="journalentry",
            index=models.Index(
                fields=["workspace", "entry_type", "-ts", "-seq"],
                name="journal_type_ts",
            ),
        ),
        migrations.AddIndex(
            model_name="journalentry",
            index=models.Index(
                condition=models.Q(("trace_id__isnull", False)),
                fields=["workspace", "trace_id"],
                name="journal_trace",
            ),
        ),
        migrations.AddIndex(
            model_name="journalentry",
            index=models.Index(
                condition=models.Q(("mission_id__isnull", False)),
                fields=["workspace", "mission_id"],
                name="journal_mission",
            ),
        ),
        migrations.AddIndex(
            model_name="journalentry",
            index=models.Index(
                condition=models.Q(("severity__in", ["warn", "error"])),
                fields=["workspace", "severity", "-ts"],
                name="journal_loud",
            ),
        ),
        migrations.AddIndex(
            model_name="journalentry",
            index=models.Index(
                condition=models.Q(("priority", "normal"), _negated=True),
                fields=["workspace", "priority"],
                name="journal_marked",
            ),
        ),
        migrations.AddIndex(
            model_name="journalentry",
            index=models.Index(
                condition=models.Q(("embeddable", True)),
                fields=["workspace", "seq"],
                name="journal_embeddable",
            ),
        ),
        migrations.AddConstraint(
            model_name="journalentry",
            constraint=models.UniqueConstraint(
                fields=("workspace", "seq"), name="journal_seq_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="journalentry",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("severity__in", ["info", "notice", "warn", "error"])
                ),
                name="journal_severity_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="journalentry",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("priority__in", ["normal", "high", "pin", "permanent"])
                ),
                name="journal_priority_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="journalentry",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "actor_type__in",
                        [
                            "agent",
                            "user",
                            "system",
                            "keeper",
                            "sidecar",
                            "orchestrator",
                        ],
                    )
                ),
                name="journal_actor_type_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.UniqueConstraint(
                fields=("workspace", "user"), name="one_membership_per_workspace"
            ),
        ),
        migrations.AddConstraint(
            model_name="prioritychange",
            constraint=models.UniqueConstraint(
                fields=("workspace", "entry", "number"), name="priority_number_unique"
            ),
        ),
        migrations.AddIndex(
            model_name="subjectmention",
            index=models.Index(fields=["workspace", "folded"], name="mention_folded"),
        ),
        migrations.AddConstraint(
            model_name="subjectmention",
            constraint=models.UniqueConstraint(
                fields=("workspace", "entry", "folded"), name="mention_once"
            ),
        ),
    ]
