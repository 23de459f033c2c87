"""Labels of decided texts, proposals made from them, and passages that are allowed.

Texts that were decided earlier get their labels here. On PostgreSQL, where the tables
are keyed by workspace already, a row of the new tables can refer to a held text by its
id alone only while that is unique: until the new keys have their workspace too.
"""

import django.db.models.deletion
import django.utils.timezone
import memory.models.learning
from django.db import migrations, models

from memory import distribution

ROWS_AT_ONCE = 200
ATTACKS = ("redacted", "discarded")
# Held for a name, which says nothing of the rules.
SUPPRESSED = "suppressed"
WRITERS = ("own", "teammate", "user", "operator", "unknown")
UNIQUE = "held_files_by_id_alone"
IS_KEYED = (
    "SELECT count(*) FROM pg_constraint WHERE contype = 'p'"
    " AND conrelid = to_regclass('held_files') AND array_length(conkey, 1) > 1"
)


def _is_keyed(editor):
    """Whether the tables are on PostgreSQL and keyed by workspace."""
    if editor.connection.vendor != "postgresql":
        return False
    with editor.connection.cursor() as cursor:
        cursor.execute(IS_KEYED)
        return cursor.fetchone()[0] > 0


def allow_references(_apps, editor):
    if _is_keyed(editor):
        editor.execute(f"CREATE UNIQUE INDEX {UNIQUE} ON held_files (id)", params=None)


def rekey(_apps, editor):
    """Put the workspace first in the keys of the new tables."""
    if _is_keyed(editor):
        with editor.connection.cursor() as cursor:
            distribution.rekey(cursor)
        editor.execute(f"DROP INDEX {UNIQUE}", params=None)


def label(apps, editor):
    """Write the labels of the texts that were decided before there were any."""
    held, labels = (apps.get_model("memory", n) for n in ("HeldFile", "ReviewLabel"))
    # Of an erased text only its row is left, which says nothing any more.
    rows = held.objects.filter(decided_at__isnull=False, bytes__gt=0)
    batch = []
    rows = rows.exclude(state="held").exclude(family=SUPPRESSED)
    for row in rows.defer("body").iterator(ROWS_AT_ONCE):
        batch.append(_label(labels, row))
        if len(batch) == ROWS_AT_ONCE:
            labels.objects.bulk_create(batch)
            batch = []
    labels.objects.bulk_create(batch)
    if editor.connection.vendor == "postgresql":
        # What the new rows refer to is checked now, so that indexes can follow.
        editor.execute("SET CONSTRAINTS ALL IMMEDIATE", params=None)


def _label(model, row):
    rules = {}
    for finding in sorted(row.findings, key=lambda finding: finding["weight"]):
        mode = finding.get("mode", "hold")
        rules[finding["rule"]] = {
            "rule": finding["rule"], "weight": finding["weight"], "mode": mode
        }  # fmt: skip
    return model(
        workspace_id=row.workspace_id,
        held_id=row.pk,
        label="attack" if row.state in ATTACKS else "honest",
        decision=row.decision,
        rules=[rules[name] for name in sorted(rules)],
        score=row.score,
        rules_version=row.rules_version,
        tier=row.tier,
        origin=row.source,
        writer=_writer(row),
        decided_by=row.decided_by,
        decided_at=row.decided_at,
    )


def _writer(row):
    """Return whose hand a text was judged as, or what its source says of it."""
    context = row.outcome.get("context")
    if isinstance(context, dict) and context.get("writer") in WRITERS:
        return context["writer"]
    return "operator" if row.source in ("operator", "operator_curated") else "own"


def forget_narrow(apps, _editor):
    """Take back what an earlier version would read as a text that passes always."""
    clearances = apps.get_model("memory", "Clearance").objects
    clearances.exclude(kind="text", allows_all=True).delete()


def _to(model, **options):
    return models.ForeignKey(
        on_delete=django.db.models.deletion.CASCADE, to=f"memory.{model}", **options
    )


class Migration(migrations.Migration):
    dependencies = [("memory", "0012_counted_entries")]

    operations = [
        migrations.RunPython(allow_references, migrations.RunPython.noop),
        migrations.CreateModel(
            name="ReviewLabel",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "label",
                    models.CharField(
                        choices=[("attack", "Attack"), ("honest", "Honest")],
                        max_length=8,
                    ),
                ),
                ("decision", models.CharField(max_length=20)),
                ("rules", models.JSONField(default=list)),
                ("score", models.FloatField()),
                ("rules_version", models.CharField(max_length=64)),
                ("tier", models.CharField(max_length=8)),
                ("origin", models.CharField(max_length=16)),
                ("writer", models.CharField(max_length=8)),
                ("decided_by", models.CharField(max_length=254)),
                ("decided_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={"db_table": "review_labels"},
        ),
        migrations.CreateModel(
            name="ScannerProposal",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=memory.models.learning._proposal_id,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("weight", "Weight"),
                            ("mode", "Mode"),
                            ("text", "Text"),
                            ("passage", "Passage"),
                        ],
                        max_length=8,
                    ),
                ),
                ("subject", models.CharField(max_length=80)),
                ("before", models.CharField(max_length=8)),
                ("after", models.CharField(max_length=8)),
                ("is_guarded", models.BooleanField(default=False)),
                ("decisions", models.PositiveIntegerField()),
                ("evidence", models.JSONField(default=dict)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("approved", "Approved"),
                            ("declined", "Declined"),
                        ],
                        default="pending",
                        max_length=8,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1)),
                (
                    "proposed_at",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
                ("decided_by", models.CharField(blank=True, max_length=254)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("reason", models.TextField(blank=True)),
            ],
            options={"db_table": "scanner_proposals"},
        ),
        # Added, not created: these references are made at once and not at the end.
        migrations.AddField(
            "reviewlabel", "workspace", _to("workspace", db_index=False)
        ),
        migrations.AddField(
            "reviewlabel", "held", _to("heldfile", related_name="labels")
        ),
        migrations.AddField(
            "scannerproposal", "workspace", _to("workspace", db_index=False)
        ),
        migrations.AddField(
            "scannerproposal",
            "held",
            _to("heldfile", blank=True, null=True, related_name="proposals"),
        ),
        migrations.AddIndex(
            "reviewlabel",
            models.Index(fields=["workspace", "-decided_at"], name="review_labels_new"),
        ),
        migrations.AddConstraint(
            "reviewlabel",
            models.UniqueConstraint(
                fields=("workspace", "held"), name="review_label_once"
            ),
        ),
        migrations.AddConstraint(
            "scannerproposal",
            models.UniqueConstraint(
                fields=("workspace", "kind", "subject"), name="scanner_proposal_once"
            ),
        ),
        migrations.RemoveConstraint("clearance", "clearance_once"),
        migrations.AddField(
            "clearance", "allows_all", models.BooleanField(default=True)
        ),
        migrations.AddField(
            "clearance",
            "kind",
            models.CharField(
                choices=[("text", "Text"), ("passage", "Passage")],
                default="text",
                max_length=8,
            ),
        ),
        migrations.AddConstraint(
            "clearance",
            models.UniqueConstraint(
                fields=("workspace", "kind", "fingerprint"), name="clearance_once"
            ),
        ),
        migrations.RunPython(rekey, migrations.RunPython.noop),
        migrations.RunPython(label, forget_narrow),
    ]
