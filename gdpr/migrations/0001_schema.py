"""The tables of people, cases, decisions and certificates."""

import django.db.models.deletion
import django.utils.timezone
import gdpr.models.cases
import gdpr.models.proofs
import gdpr.models.subjects
from django.db import migrations, models


# The value of gdpr.verification.sqlite.CLEAN_VERSION when this was written.
ADOPTED = 5_201


def mark(apps, editor):
    """Note that every deletion was one that zeroes, where there was none yet."""
    entries = apps.get_model("memory", "JournalEntry").objects
    if editor.connection.vendor == "sqlite" and not entries.exists():
        editor.execute(f"PRAGMA user_version = {ADOPTED}", params=None)


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("gdpr", "0001_initial"),
        ("gdpr", "0002_people"),
        ("gdpr", "0003_clean_from_the_start"),
        ("gdpr", "0004_live_processes"),
        ("gdpr", "0005_decisions"),
        ("gdpr", "0006_settings_rows"),
        ("gdpr", "0007_row_verdicts"),
        ("gdpr", "0008_numbers_again"),
    ]

    dependencies = [
        ("memory", "0001_schema"),
    ]

    operations = [
        migrations.CreateModel(
            name="ForgetOrder",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("workspace_id", models.CharField(max_length=32)),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "db_table": "gdpr_forget_orders",
            },
        ),
        migrations.CreateModel(
            name="LiveProcess",
            fields=[
                (
                    "name",
                    models.CharField(max_length=40, primary_key=True, serialize=False),
                ),
                ("seen_at", models.DateTimeField()),
                ("obeyed", models.BigIntegerField(default=0)),
            ],
            options={
                "db_table": "gdpr_live_processes",
            },
        ),
        migrations.CreateModel(
            name="PeopleStamp",
            fields=[
                (
                    "workspace",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="people_stamp",
                        serialize=False,
                        to="memory.workspace",
                    ),
                ),
                (
                    "stamp",
                    models.CharField(
                        default=gdpr.models.subjects.make_stamp, max_length=16
                    ),
                ),
            ],
            options={
                "db_table": "gdpr_people_stamps",
            },
        ),
        migrations.CreateModel(
            name="SigningKey",
            fields=[
                (
                    "key_id",
                    models.CharField(max_length=40, primary_key=True, serialize=False),
                ),
                ("public_key", models.CharField(max_length=64)),
                ("made_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("retired_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "db_table": "gdpr_signing_keys",
                "ordering": ("-made_at",),
            },
        ),
        migrations.CreateModel(
            name="Case",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=gdpr.models.cases._case_id,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("subject_ref", models.CharField(max_length=32)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("access", "Access"),
                            ("erasure", "Erasure"),
                            ("rectification", "Rectification"),
                            ("restriction", "Restriction"),
                        ],
                        max_length=13,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("received", "Received"),
                            ("identified", "Identity verified"),
                            ("planned", "Planned"),
                            ("approved", "Approved"),
                            ("running", "Running"),
                            ("verifying", "Verifying"),
                            ("on_hold", "On hold"),
                            ("partial", "Partial"),
                            ("complete", "Complete"),
                            ("refused", "Refused"),
                        ],
                        default="received",
                        max_length=10,
                    ),
                ),
                ("held_from", models.CharField(blank=True, max_length=10)),
                ("reason", models.TextField()),
                ("requester", models.CharField(blank=True, max_length=200)),
                ("ticket", models.CharField(blank=True, max_length=120)),
                ("received_at", models.DateTimeField()),
                ("due_at", models.DateTimeField()),
                ("extended_until", models.DateTimeField(blank=True, null=True)),
                ("extension_reason", models.TextField(blank=True)),
                ("opened_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("opened_by", models.CharField(max_length=254)),
                ("opened_by_id", models.CharField(max_length=128)),
                ("assignee", models.CharField(blank=True, max_length=254)),
                ("identity_how", models.CharField(blank=True, max_length=400)),
                ("identity_by", models.CharField(blank=True, max_length=254)),
                ("identity_at", models.DateTimeField(blank=True, null=True)),
                ("approved_by", models.CharField(blank=True, max_length=254)),
                ("approved_by_id", models.CharField(blank=True, max_length=128)),
                ("approved_at", models.DateTimeField(blank=True, null=True)),
                ("approved_plan", models.CharField(blank=True, max_length=64)),
                ("executed_by", models.CharField(blank=True, max_length=254)),
                ("executed_by_id", models.CharField(blank=True, max_length=128)),
                ("break_glass_reason", models.TextField(blank=True)),
                ("refusal_reason", models.TextField(blank=True)),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                ("closed_by", models.CharField(blank=True, max_length=254)),
                ("correction", models.JSONField(blank=True, default=dict)),
                ("run", models.PositiveSmallIntegerField(default=0)),
                ("result", models.JSONField(blank=True, default=dict)),
                ("version", models.PositiveIntegerField(default=1)),
                ("claimed_by", models.CharField(blank=True, max_length=120)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("digest_sent_on", models.DateField(blank=True, null=True)),
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
                "db_table": "gdpr_cases",
                "ordering": ("due_at", "id"),
            },
        ),
        migrations.CreateModel(
            name="CaseEvent",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("moved", "Moved"),
                            ("note", "Comment"),
                            ("attachment", "Attachment"),
                            ("alarm", "Alarm"),
                            ("fact", "Fact"),
                        ],
                        max_length=10,
                    ),
                ),
                ("state", models.CharField(blank=True, max_length=10)),
                ("text", models.TextField()),
                ("data", models.JSONField(blank=True, default=dict)),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                ("by", models.CharField(max_length=254)),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="gdpr.case",
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
                "db_table": "gdpr_case_events",
                "ordering": ("case", "-id"),
            },
        ),
        migrations.CreateModel(
            name="Subject",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=gdpr.models.subjects._subject_id,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("display_name", models.CharField(blank=True, max_length=200)),
                (
                    "consent",
                    models.CharField(
                        choices=[
                            ("unknown", "Never asked"),
                            ("given", "Given"),
                            ("withdrawn", "Withdrawn"),
                        ],
                        default="unknown",
                        max_length=10,
                    ),
                ),
                ("consent_note", models.CharField(blank=True, max_length=400)),
                ("consent_at", models.DateTimeField(blank=True, null=True)),
                ("opted_out_at", models.DateTimeField(blank=True, null=True)),
                ("restricted_at", models.DateTimeField(blank=True, null=True)),
                ("erased_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("created_by", models.CharField(max_length=254)),
                (
                    "merged_into",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="merged",
                        to="gdpr.subject",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="subjects",
                        to="memory.workspace",
                    ),
                ),
            ],
            options={
                "db_table": "gdpr_subjects",
                "ordering": ("-created_at", "id"),
            },
        ),
        migrations.CreateModel(
            name="Lifting",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("restricted_at", models.DateTimeField(blank=True, null=True)),
                (
                    "lifted_at",
                    models.DateTimeField(
                        blank=True, default=django.utils.timezone.now, null=True
                    ),
                ),
                ("lifted_by", models.CharField(blank=True, max_length=254)),
                ("reason", models.TextField()),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="memory.workspace",
                    ),
                ),
                (
                    "subject",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="liftings",
                        to="gdpr.subject",
                    ),
                ),
            ],
            options={
                "db_table": "gdpr_liftings",
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="Hold",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=gdpr.models.cases._hold_id,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("scope", models.CharField(default="all", max_length=24)),
                ("ground", models.CharField(blank=True, max_length=200)),
                ("reason", models.TextField()),
                ("owner", models.CharField(max_length=254)),
                ("review_at", models.DateTimeField()),
                ("placed_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("placed_by", models.CharField(max_length=254)),
                ("released_at", models.DateTimeField(blank=True, null=True)),
                ("released_by", models.CharField(blank=True, max_length=254)),
                ("release_reason", models.TextField(blank=True)),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="memory.workspace",
                    ),
                ),
                (
                    "subject",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="holds",
                        to="gdpr.subject",
                    ),
                ),
            ],
            options={
                "db_table": "gdpr_holds",
                "ordering": ("-placed_at", "id"),
            },
        ),
        migrations.CreateModel(
            name="Dismissal",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("digest", models.CharField(max_length=64)),
                ("decided_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("decided_by", models.CharField(max_length=254)),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="memory.workspace",
                    ),
                ),
                (
                    "subject",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="dismissals",
                        to="gdpr.subject",
                    ),
                ),
            ],
            options={
                "db_table": "gdpr_dismissals",
            },
        ),
        migrations.AddField(
            model_name="case",
            name="subject",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="cases",
                to="gdpr.subject",
            ),
        ),
        migrations.CreateModel(
            name="Alias",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("user_id", "User id"),
                            ("email", "E-mail"),
                            ("phone", "Phone"),
                            ("handle", "Handle"),
                            ("name", "Name"),
                            ("pattern", "Free pattern"),
                        ],
                        max_length=8,
                    ),
                ),
                ("value", models.CharField(max_length=320)),
                ("folded", models.CharField(max_length=640)),
                ("added_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("added_by", models.CharField(max_length=254)),
                ("swept_at", models.DateTimeField(blank=True, null=True)),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="memory.workspace",
                    ),
                ),
                (
                    "subject",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="aliases",
                        to="gdpr.subject",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "aliases",
                "db_table": "gdpr_aliases",
                "ordering": ("id",),
            },
        ),
        migrations.CreateModel(
            name="SubjectLink",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("place", models.CharField(max_length=24)),
                ("row_id", models.CharField(max_length=64)),
                (
                    "via",
                    models.CharField(
                        choices=[
                            ("named", "Named by its writer"),
                            ("matched", "Found in its text"),
                        ],
                        max_length=8,
                    ),
                ),
                ("linked_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "subject",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="links",
                        to="gdpr.subject",
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
                "db_table": "gdpr_subject_links",
            },
        ),
        migrations.CreateModel(
            name="Suppression",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("digest", models.CharField(max_length=64)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("user_id", "User id"),
                            ("email", "E-mail"),
                            ("phone", "Phone"),
                            ("handle", "Handle"),
                            ("name", "Name"),
                            ("pattern", "Free pattern"),
                        ],
                        max_length=8,
                    ),
                ),
                ("words", models.PositiveSmallIntegerField(default=1)),
                ("subject_ref", models.CharField(max_length=32)),
                ("case_ref", models.CharField(blank=True, max_length=32)),
                ("since", models.DateTimeField(default=django.utils.timezone.now)),
                ("lifted_at", models.DateTimeField(blank=True, null=True)),
                ("lifted_by", models.CharField(blank=True, max_length=254)),
                ("lift_reason", models.TextField(blank=True)),
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
                "db_table": "gdpr_suppressions",
            },
        ),
        migrations.CreateModel(
            name="UnknownName",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("digest", models.CharField(max_length=64)),
                ("place", models.CharField(max_length=24)),
                ("row_id", models.CharField(max_length=64)),
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
                "db_table": "gdpr_unknown_names",
            },
        ),
        migrations.CreateModel(
            name="CasePlan",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("number", models.PositiveSmallIntegerField()),
                ("plan_hash", models.CharField(max_length=64)),
                ("body", models.JSONField()),
                ("rows", models.JSONField(default=dict)),
                ("made_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("made_by", models.CharField(max_length=254)),
                ("made_by_id", models.CharField(max_length=128)),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="plans",
                        to="gdpr.case",
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
                "db_table": "gdpr_case_plans",
                "ordering": ("case", "-number"),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "case", "number"), name="plan_number_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CaseStep",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("run", models.PositiveSmallIntegerField()),
                ("position", models.PositiveSmallIntegerField()),
                ("name", models.CharField(max_length=32)),
                ("title", models.CharField(max_length=120)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("deferred", "Deferred by a hold"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("total", models.PositiveIntegerField(default=0)),
                ("done", models.PositiveIntegerField(default=0)),
                ("counts", models.JSONField(blank=True, default=dict)),
                ("fault", models.CharField(blank=True, max_length=400)),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="steps",
                        to="gdpr.case",
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
                "db_table": "gdpr_case_steps",
                "ordering": ("case", "run", "position"),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "case", "run", "name"),
                        name="case_step_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Certificate",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=gdpr.models.proofs._certificate_id,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run", models.PositiveSmallIntegerField()),
                ("result", models.CharField(max_length=10)),
                ("document", models.TextField()),
                ("key_id", models.CharField(max_length=40)),
                ("issued_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="certificates",
                        to="gdpr.case",
                    ),
                ),
                (
                    "replaces",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="replaced_by",
                        to="gdpr.certificate",
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
                "db_table": "gdpr_certificates",
                "ordering": ("-issued_at", "-id"),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "case", "run"), name="certificate_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Export",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=gdpr.models.proofs._export_id,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("subject_ref", models.CharField(max_length=32)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("making", "Being made"),
                            ("ready", "Ready"),
                            ("failed", "Failed"),
                            ("gone", "Gone"),
                        ],
                        default="making",
                        max_length=7,
                    ),
                ),
                ("sha256", models.CharField(blank=True, max_length=64)),
                ("bytes", models.PositiveBigIntegerField(default=0)),
                ("counts", models.JSONField(blank=True, default=dict)),
                ("error", models.CharField(blank=True, max_length=400)),
                ("made_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("made_by", models.CharField(max_length=254)),
                ("expires_at", models.DateTimeField()),
                ("claimed_by", models.CharField(blank=True, max_length=120)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("last_read_at", models.DateTimeField(blank=True, null=True)),
                ("last_read_by", models.CharField(blank=True, max_length=254)),
                (
                    "case",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="exports",
                        to="gdpr.case",
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
                "db_table": "gdpr_exports",
                "ordering": ("-made_at", "id"),
                "indexes": [
                    models.Index(fields=["workspace", "subject_ref"], name="export_of")
                ],
            },
        ),
        migrations.CreateModel(
            name="GdprAction",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=gdpr.models.proofs._action_id,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("subject_ref", models.CharField(max_length=32)),
                ("case_ref", models.CharField(blank=True, max_length=32)),
                ("actor_id", models.CharField(max_length=128)),
                ("actor_label", models.CharField(blank=True, max_length=254)),
                (
                    "action",
                    models.CharField(
                        choices=[
                            ("export", "Export"),
                            ("delete", "Erasure"),
                            ("rectify", "Rectification"),
                            ("restrict", "Restriction"),
                            ("lift", "Restriction lifted"),
                            ("view", "View"),
                            ("decide", "Rows decided"),
                        ],
                        max_length=8,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("in_progress", "In progress"),
                            ("completed", "Completed"),
                            ("partial", "Partial"),
                            ("failed", "Failed"),
                        ],
                        default="in_progress",
                        max_length=11,
                    ),
                ),
                ("scope", models.JSONField(blank=True, default=dict)),
                ("reason", models.TextField(blank=True)),
                ("error", models.CharField(blank=True, max_length=400)),
                (
                    "initiated_at",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
                ("completed_at", models.DateTimeField(blank=True, null=True)),
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
                "db_table": "gdpr_actions",
                "ordering": ("-initiated_at", "-id"),
                "indexes": [
                    models.Index(fields=["workspace", "subject_ref"], name="action_of"),
                    models.Index(
                        fields=["workspace", "-initiated_at"], name="action_newest"
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "action__in",
                                [
                                    "export",
                                    "delete",
                                    "rectify",
                                    "restrict",
                                    "lift",
                                    "view",
                                    "decide",
                                ],
                            )
                        ),
                        name="action_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "status__in",
                                ["in_progress", "completed", "partial", "failed"],
                            )
                        ),
                        name="action_status_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("action", "delete"), _negated=True),
                            models.Q(("reason", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="action_delete_has_reason",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RowVerdict",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("place", models.CharField(max_length=32)),
                ("row_id", models.CharField(max_length=128)),
                (
                    "verdict",
                    models.CharField(
                        choices=[("theirs", "This person’s"), ("spared", "Stays")],
                        max_length=6,
                    ),
                ),
                (
                    "ground",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("somebody_else", "It is about somebody else"),
                            ("no_person", "The word means no person here"),
                            ("must_stay", "The law or a claim needs it"),
                            ("other", "Another reason, in the case while it is open"),
                        ],
                        max_length=13,
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                ("decided_by", models.CharField(max_length=254)),
                ("decided_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="verdicts",
                        to="gdpr.case",
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
                "db_table": "gdpr_row_verdicts",
                "ordering": ("case", "place", "row_id"),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "case", "place", "row_id"),
                        name="row_judged_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("verdict", "spared"), _negated=True),
                            models.Q(
                                models.Q(("ground", ""), _negated=True),
                                models.Q(("reason", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="row_spared_has_reason",
                    ),
                ],
            },
        ),
        migrations.AddIndex(
            model_name="subject",
            index=models.Index(
                fields=["workspace", "-created_at"], name="subject_newest"
            ),
        ),
        migrations.AddIndex(
            model_name="hold",
            index=models.Index(
                condition=models.Q(("released_at", None)),
                fields=["workspace", "subject"],
                name="hold_in_force",
            ),
        ),
        migrations.AddConstraint(
            model_name="hold",
            constraint=models.CheckConstraint(
                condition=models.Q(("reason", ""), _negated=True),
                name="hold_has_reason",
            ),
        ),
        migrations.AddConstraint(
            model_name="dismissal",
            constraint=models.UniqueConstraint(
                fields=("workspace", "subject", "digest"), name="dismissed_once"
            ),
        ),
        migrations.AddIndex(
            model_name="case",
            index=models.Index(
                fields=["workspace", "state", "due_at"], name="case_urgent"
            ),
        ),
        migrations.AddIndex(
            model_name="case",
            index=models.Index(
                fields=["workspace", "subject_ref"], name="case_of_subject"
            ),
        ),
        migrations.AddConstraint(
            model_name="case",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("kind__in", ["access", "erasure", "rectification", "restriction"])
                ),
                name="case_kind_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="case",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "state__in",
                        [
                            "received",
                            "identified",
                            "planned",
                            "approved",
                            "running",
                            "verifying",
                            "on_hold",
                            "partial",
                            "complete",
                            "refused",
                        ],
                    )
                ),
                name="case_state_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="case",
            constraint=models.CheckConstraint(
                condition=models.Q(("reason", ""), _negated=True),
                name="case_has_reason",
            ),
        ),
        migrations.AddConstraint(
            model_name="case",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "refused"), _negated=True),
                    models.Q(("refusal_reason", ""), _negated=True),
                    _connector="OR",
                ),
                name="case_refusal_has_reason",
            ),
        ),
        migrations.AddIndex(
            model_name="alias",
            index=models.Index(fields=["workspace", "folded"], name="alias_folded"),
        ),
        migrations.AddConstraint(
            model_name="alias",
            constraint=models.UniqueConstraint(
                fields=("workspace", "subject", "kind", "folded"), name="alias_once"
            ),
        ),
        migrations.AddIndex(
            model_name="subjectlink",
            index=models.Index(
                fields=["workspace", "place", "row_id"], name="link_of_row"
            ),
        ),
        migrations.AddConstraint(
            model_name="subjectlink",
            constraint=models.UniqueConstraint(
                fields=("workspace", "subject", "place", "row_id"),
                name="subject_link_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="suppression",
            constraint=models.UniqueConstraint(
                condition=models.Q(("lifted_at", None)),
                fields=("workspace", "digest"),
                name="suppressed_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="unknownname",
            constraint=models.UniqueConstraint(
                fields=("workspace", "digest", "place", "row_id"),
                name="unknown_name_once",
            ),
        ),
        migrations.RunPython(mark, migrations.RunPython.noop),
    ]
