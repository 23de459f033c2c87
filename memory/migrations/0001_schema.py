"""The tables of the journal, files, records and accounts, and their word indexes.

FTS5 with triggers on SQLite, generated tsvectors on PostgreSQL.
"""

import django.core.validators
import django.db.models.deletion
import django.utils.timezone
import memory.models.files
import memory.models.gateway
import memory.models.ids
import memory.models.installation
import memory.models.records
import memory.models.webhooks
from django.conf import settings
from django.db import migrations, models

from memory import raw_sql


SQLITE = (
    # External content: the words rest once, in the entries. Deleting and changing must tell
    # the index the old values, or it keeps (and later corrupts) what it no longer knows.
    """
    CREATE VIRTUAL TABLE journal_fts USING fts5(
        summary, body,
        content='journal_entries', content_rowid='docid',
        tokenize='porter unicode61 remove_diacritics 2'
    )
    """,
    """
    CREATE TRIGGER journal_fts_insert AFTER INSERT ON journal_entries BEGIN
        INSERT INTO journal_fts(rowid, summary, body)
        VALUES (new.docid, new.summary, new.body);
    END
    """,
    """
    CREATE TRIGGER journal_fts_delete AFTER DELETE ON journal_entries BEGIN
        INSERT INTO journal_fts(journal_fts, rowid, summary, body)
        VALUES ('delete', old.docid, old.summary, old.body);
    END
    """,
    """
    CREATE TRIGGER journal_fts_update
    AFTER UPDATE OF summary, body, docid ON journal_entries BEGIN
        INSERT INTO journal_fts(journal_fts, rowid, summary, body)
        VALUES ('delete', old.docid, old.summary, old.body);
        INSERT INTO journal_fts(rowid, summary, body)
        VALUES (new.docid, new.summary, new.body);
    END
    """,
    """
    CREATE VIRTUAL TABLE chunks_fts USING fts5(
        heading, text, content='memory_chunks', content_rowid='id',
        tokenize='porter unicode61 remove_diacritics 2'
    )
    """,
    """
    CREATE TRIGGER chunks_fts_insert AFTER INSERT ON memory_chunks BEGIN
        INSERT INTO chunks_fts(rowid, heading, text)
        VALUES (new.id, new.heading, new.text);
    END
    """,
    """
    CREATE TRIGGER chunks_fts_delete AFTER DELETE ON memory_chunks BEGIN
        INSERT INTO chunks_fts(chunks_fts, rowid, heading, text)
        VALUES ('delete', old.id, old.heading, old.text);
    END
    """,
    """
    CREATE TRIGGER chunks_fts_update
    AFTER UPDATE OF heading, text ON memory_chunks BEGIN
        INSERT INTO chunks_fts(chunks_fts, rowid, heading, text)
        VALUES ('delete', old.id, old.heading, old.text);
        INSERT INTO chunks_fts(rowid, heading, text)
        VALUES (new.id, new.heading, new.text);
    END
    """,
)
SQLITE_BACK = (
    "DROP TRIGGER chunks_fts_update",
    "DROP TRIGGER chunks_fts_delete",
    "DROP TRIGGER chunks_fts_insert",
    "DROP TABLE chunks_fts",
    "DROP TRIGGER journal_fts_update",
    "DROP TRIGGER journal_fts_delete",
    "DROP TRIGGER journal_fts_insert",
    "DROP TABLE journal_fts",
)
POSTGRES = (
    # U+0300 to U+036F are the combining marks that NFKD splits off letters. Punctuation
    # becomes space, or the parser would read "order-4711" as a word and a negative number.
    r"""
    CREATE FUNCTION journal_fold(text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
        SELECT regexp_replace(regexp_replace(
            normalize(lower($1), NFKD), '[' || U&'\0300' || '-' || U&'\036F' || ']',
            '', 'g'), '[!-/:-@\[-`{-~]+', ' ', 'g')
    $$
    """,
    """
    ALTER TABLE journal_entries ADD COLUMN tsv tsvector
    GENERATED ALWAYS AS (
        setweight(to_tsvector('english', journal_fold(left(summary, 4096))), 'A')
        || to_tsvector('english', journal_fold(left(body, 65536)))
    ) STORED
    """,
    "CREATE INDEX journal_tsv ON journal_entries USING gin (tsv)",
    """
    ALTER TABLE memory_chunks ADD COLUMN tsv tsvector
    GENERATED ALWAYS AS (
        setweight(to_tsvector('english', journal_fold(text)), 'A')
        || setweight(to_tsvector('english', journal_fold(heading)), 'B')
    ) STORED
    """,
    "CREATE INDEX memory_chunks_tsv ON memory_chunks USING gin (tsv)",
)
POSTGRES_BACK = (
    "ALTER TABLE memory_chunks DROP COLUMN tsv",
    "ALTER TABLE journal_entries DROP COLUMN tsv",
    "DROP FUNCTION journal_fold(text)",
)


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("memory", "0001_initial"),
        ("memory", "0002_word_index"),
        ("memory", "0003_files"),
        ("memory", "0004_chunk_index"),
        ("memory", "0005_records"),
        ("memory", "0006_review"),
        ("memory", "0007_archive"),
        ("memory", "0008_learned"),
        ("memory", "0009_webhooks"),
        ("memory", "0010_erasing"),
        ("memory", "0011_gateway"),
        ("memory", "0012_records_scope"),
        ("memory", "0013_record_widths"),
        ("memory", "0014_archive_rests"),
        ("memory", "0015_installation"),
        ("memory", "0016_workspace_settings"),
        ("memory", "0017_agent_key_end_user"),
        ("memory", "0018_invitations"),
        ("memory", "0019_unproven_addresses"),
    ]

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
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "db_table": "workspaces",
                "ordering": ("slug",),
            },
        ),
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
                ("signature", models.CharField(max_length=400)),
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
            ],
            options={
                "db_table": "held_files",
                "ordering": ("-risk", "received_at"),
            },
        ),
        migrations.CreateModel(
            name="KeyFingerprint",
            fields=[
                (
                    "name",
                    models.CharField(max_length=20, primary_key=True, serialize=False),
                ),
                ("fingerprint", models.CharField(max_length=64)),
                (
                    "recorded_at",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
            ],
            options={
                "db_table": "key_fingerprints",
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
                ("session_generation", models.PositiveIntegerField(default=0)),
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
                ("end_user", models.CharField(blank=True, max_length=256)),
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
            name="ChainSegment",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("last_seq", models.BigIntegerField()),
                ("last_hash", models.CharField(max_length=64)),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now)),
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
                "db_table": "journal_chain_segments",
                "ordering": ("workspace", "last_seq", "id"),
            },
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
            name="GatewayKey",
            fields=[
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
                    "id",
                    models.CharField(
                        default=memory.models.gateway.gateway_key_id,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("user_id", models.CharField(max_length=128)),
                ("app_id", models.CharField(blank=True, max_length=128)),
                ("project_id", models.CharField(blank=True, max_length=128)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="gateway_keys",
                        to="memory.agent",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="gateway_keys",
                        to="memory.workspace",
                    ),
                ),
            ],
            options={
                "db_table": "gateway_keys",
                "ordering": ("-created_at",),
            },
        ),
        migrations.CreateModel(
            name="GatewayPending",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("digest", models.CharField(max_length=64)),
                ("since", models.DateTimeField(default=django.utils.timezone.now)),
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
                "verbose_name_plural": "gateway pending",
                "db_table": "gateway_pending",
            },
        ),
        migrations.CreateModel(
            name="GatewaySetup",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=memory.models.gateway.setup_id,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("mode", models.CharField(max_length=16)),
                ("base_url", models.CharField(blank=True, max_length=500)),
                ("user_id", models.CharField(blank=True, max_length=128)),
                ("sealed_key", models.TextField(blank=True)),
                ("app_id", models.CharField(blank=True, max_length=128)),
                ("project_id", models.CharField(blank=True, max_length=128)),
                ("scope", models.JSONField(default=memory.models.gateway.no_scopes)),
                ("top_k", models.PositiveSmallIntegerField(default=8)),
                ("timeout_seconds", models.FloatField(default=10.0)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("updated_by", models.CharField(max_length=254)),
                (
                    "agent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="gateway_setups",
                        to="memory.agent",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="gateway_setups",
                        to="memory.workspace",
                    ),
                ),
            ],
            options={
                "db_table": "gateway_setups",
                "ordering": ("workspace", "agent"),
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
            ],
            options={
                "db_table": "held_records",
            },
        ),
        migrations.AddField(
            model_name="heldfile",
            name="agent",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="held",
                to="memory.agent",
            ),
        ),
        migrations.AddField(
            model_name="heldfile",
            name="crew",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="held",
                to="memory.crew",
            ),
        ),
        migrations.AddField(
            model_name="heldfile",
            name="workspace",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                to="memory.workspace",
            ),
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
            name="Installation",
            fields=[
                (
                    "number",
                    models.PositiveSmallIntegerField(
                        default=1, primary_key=True, serialize=False
                    ),
                ),
                (
                    "installation_id",
                    models.CharField(
                        default=memory.models.installation._installation_id,
                        max_length=40,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "db_table": "installation",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("number", 1)), name="installation_is_one"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=memory.models.ids.invitation,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("email", models.EmailField(max_length=254)),
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
                ("invited_by", models.CharField(max_length=254)),
                ("invited_by_id", models.CharField(max_length=128)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("digest", models.CharField(blank=True, max_length=64)),
                ("link_made_at", models.DateTimeField(blank=True, null=True)),
                ("mailed", models.BooleanField(default=False)),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to="memory.workspace",
                    ),
                ),
            ],
            options={
                "db_table": "invitations",
                "ordering": ("created_at",),
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
                ("redacted_at", models.DateTimeField(blank=True, null=True)),
                ("seal", models.CharField(blank=True, max_length=64, null=True)),
                ("retired_at", models.DateTimeField(blank=True, null=True)),
                ("restricted_at", models.DateTimeField(blank=True, null=True)),
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
            name="KnownAttack",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("signature", models.CharField(max_length=400)),
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
                            ("learned", "learned"),
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
            },
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
                ("scope_user", models.CharField(blank=True, max_length=256)),
                ("scope_agent", models.CharField(blank=True, max_length=256)),
                ("scope_namespace", models.CharField(blank=True, max_length=256)),
                ("scope_thread", models.CharField(blank=True, max_length=256)),
                ("scope_extra", models.JSONField(blank=True, null=True)),
                ("scope_key", models.CharField(blank=True, max_length=32, null=True)),
                ("kind", models.CharField(max_length=40)),
                ("content", models.TextField(blank=True)),
                ("sha256", models.CharField(blank=True, max_length=64)),
                ("metadata", models.JSONField(blank=True, default=dict)),
                ("confidence", models.FloatField(default=1.0)),
                ("provenance", models.CharField(max_length=24)),
                ("session_id", models.CharField(blank=True, max_length=256)),
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
                    "superseded_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="sources",
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
                "db_table": "records",
                "ordering": ("-updated_at", "id"),
            },
        ),
        migrations.CreateModel(
            name="RecordEntry",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("version", models.PositiveIntegerField()),
                (
                    "event",
                    models.CharField(
                        choices=[
                            ("created", "Created"),
                            ("updated", "Updated"),
                            ("superseded", "Superseded"),
                            ("invalidated", "Invalidated"),
                        ],
                        max_length=12,
                        null=True,
                    ),
                ),
                ("valid_from", models.DateTimeField(null=True)),
                ("valid_to", models.DateTimeField(null=True)),
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
            name="SavedFilter",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=60)),
                ("query", models.CharField(max_length=500)),
                ("made_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="held_filters",
                        to=settings.AUTH_USER_MODEL,
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
                "db_table": "saved_filters",
                "ordering": ("name",),
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
        migrations.CreateModel(
            name="Webhook",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=memory.models.webhooks.webhook_id,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("url", models.CharField(max_length=500)),
                (
                    "events",
                    models.JSONField(default=memory.models.webhooks.default_events),
                ),
                (
                    "secret",
                    models.CharField(
                        default=memory.models.webhooks.new_secret, max_length=64
                    ),
                ),
                ("active", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("created_by", models.CharField(max_length=254)),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="webhooks",
                        to="memory.workspace",
                    ),
                ),
            ],
            options={
                "db_table": "webhooks",
                "ordering": ("created_at", "id"),
            },
        ),
        migrations.CreateModel(
            name="WebhookDelivery",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=memory.models.webhooks.delivery_id,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("event", models.CharField(max_length=80)),
                ("body", models.TextField()),
                ("entry_id", models.CharField(blank=True, max_length=32)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("sent", "Sent"),
                            ("failed", "Failed"),
                        ],
                        default="pending",
                        max_length=8,
                    ),
                ),
                (
                    "last_status",
                    models.PositiveSmallIntegerField(blank=True, null=True),
                ),
                ("last_error", models.CharField(blank=True, max_length=200)),
                (
                    "next_attempt_at",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("sent_at", models.DateTimeField(blank=True, null=True)),
                (
                    "webhook",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="memory.webhook",
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
                "verbose_name_plural": "webhook deliveries",
                "db_table": "webhook_deliveries",
                "ordering": ("-created_at", "-id"),
            },
        ),
        migrations.CreateModel(
            name="WorkspaceSetting",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=64)),
                ("is_set", models.BooleanField(default=True)),
                ("value", models.JSONField(blank=True, null=True)),
                ("sealed", models.TextField(blank=True)),
                ("version", models.PositiveIntegerField(default=0)),
                ("changed_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("changed_by", models.CharField(max_length=254)),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="setting_rows",
                        to="memory.workspace",
                    ),
                ),
            ],
            options={
                "db_table": "workspace_settings",
                "ordering": ("name",),
            },
        ),
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
                ("restricted_at", models.DateTimeField(blank=True, null=True)),
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
        migrations.AddIndex(
            model_name="gatewaykey",
            index=models.Index(
                fields=["workspace", "user_id"], name="gateway_key_user"
            ),
        ),
        migrations.AddConstraint(
            model_name="gatewaypending",
            constraint=models.UniqueConstraint(
                fields=("workspace", "digest"), name="gateway_pending_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="gatewaysetup",
            constraint=models.UniqueConstraint(
                condition=models.Q(("agent__isnull", False)),
                fields=("workspace", "agent"),
                name="gateway_setup_of_agent",
            ),
        ),
        migrations.AddConstraint(
            model_name="gatewaysetup",
            constraint=models.UniqueConstraint(
                condition=models.Q(("agent__isnull", True)),
                fields=("workspace",),
                name="gateway_setup_of_workspace",
            ),
        ),
        migrations.AddField(
            model_name="heldrecord",
            name="record",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="memory.record",
            ),
        ),
        migrations.AddField(
            model_name="heldrecord",
            name="workspace",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                to="memory.workspace",
            ),
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
            model_name="idempotencyrecord",
            constraint=models.UniqueConstraint(
                fields=("workspace", "actor_id", "key_digest"),
                name="idempotency_key_unique",
            ),
        ),
        migrations.AddIndex(
            model_name="invitation",
            index=models.Index(fields=["email"], name="invitation_email"),
        ),
        migrations.AddIndex(
            model_name="invitation",
            index=models.Index(fields=["digest"], name="invitation_digest"),
        ),
        migrations.AddConstraint(
            model_name="invitation",
            constraint=models.UniqueConstraint(
                fields=("workspace", "email"), name="one_invitation_per_address"
            ),
        ),
        migrations.AddIndex(
            model_name="jobrun",
            index=models.Index(fields=["name", "workspace", "-id"], name="job_history"),
        ),
        migrations.AddConstraint(
            model_name="jobrun",
            constraint=models.UniqueConstraint(
                fields=("name", "slot"), name="job_slot_once"
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
            model_name="knownattack",
            constraint=models.UniqueConstraint(
                fields=("workspace", "held"), name="known_attack_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.UniqueConstraint(
                fields=("workspace", "user"), name="one_membership_per_workspace"
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
        migrations.AddConstraint(
            model_name="prioritychange",
            constraint=models.UniqueConstraint(
                fields=("workspace", "entry", "number"), name="priority_number_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="providerpulse",
            constraint=models.UniqueConstraint(
                fields=("workspace", "provider"), name="provider_pulse_once"
            ),
        ),
        migrations.AddIndex(
            model_name="providerrun",
            index=models.Index(
                fields=["workspace", "provider", "-started_at"], name="provider_run_of"
            ),
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
                fields=["workspace", "scope_key", "status", "-updated_at"],
                name="record_scope",
            ),
        ),
        migrations.AddIndex(
            model_name="record",
            index=models.Index(
                fields=["workspace", "scope_user", "status"], name="record_user"
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
                fields=("workspace", "crew", "agent", "scope_key", "external_id"),
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
                fields=("workspace", "crew", "scope_key", "external_id"),
                name="record_crew_external_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="record",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    models.Q(("external_id", ""), _negated=True),
                    ("crew__isnull", True),
                    ("status", "current"),
                ),
                fields=("workspace", "scope_key", "external_id"),
                name="record_workspace_external_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="recordentry",
            constraint=models.UniqueConstraint(
                fields=("workspace", "record", "version"), name="record_version_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="savedfilter",
            constraint=models.UniqueConstraint(
                fields=("workspace", "user", "name"), name="saved_filter_once"
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
        migrations.AddConstraint(
            model_name="webhook",
            constraint=models.UniqueConstraint(
                fields=("workspace", "url"), name="webhook_once"
            ),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(
                fields=["status", "next_attempt_at"], name="delivery_due"
            ),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(fields=["webhook", "-created_at"], name="delivery_last"),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(fields=["workspace"], name="delivery_workspace"),
        ),
        migrations.AddConstraint(
            model_name="workspacesetting",
            constraint=models.UniqueConstraint(
                fields=("workspace", "name"), name="workspace_setting_once"
            ),
        ),
        raw_sql.operation(
            {"sqlite": SQLITE, "postgresql": POSTGRES},
            {"sqlite": SQLITE_BACK, "postgresql": POSTGRES_BACK},
        ),
    ]
