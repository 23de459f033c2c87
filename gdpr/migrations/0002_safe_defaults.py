"""A second person and an identity check by default, in workspaces made from now on."""

from django.db import migrations, models
from django.utils import timezone

SAFEGUARDS = ("two_person", "require_identity")


def keep_earlier_rules(apps, editor):
    """Store the earlier defaults in the workspaces that relied on them."""
    alias = editor.connection.alias
    workspaces = apps.get_model("memory", "Workspace").objects.using(alias)
    rows = apps.get_model("memory", "WorkspaceSetting").objects.using(alias)
    earlier = {
        "is_set": True,
        "value": False,
        "changed_at": timezone.now(),
        "changed_by": "upgrade",
    }
    for workspace in workspaces.all():
        for name in SAFEGUARDS:
            place = {"workspace_id": workspace.pk, "name": name}
            if not rows.filter(**place, is_set=True).exists():
                rows.update_or_create(**place, defaults=earlier)


class Migration(migrations.Migration):
    dependencies = [
        ("gdpr", "0001_schema"),
        ("memory", "0001_schema"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="gdpraction",
            name="action_known",
        ),
        migrations.AddField(
            model_name="case",
            name="approved_key_maker",
            field=models.CharField(blank=True, max_length=128),
        ),
        migrations.AddField(
            model_name="case",
            name="identity_skipped_ground",
            field=models.CharField(
                blank=True,
                choices=[
                    ("asked_by_employer", "Their employer asked for it"),
                    ("own_decision", "The controller decided it without a request"),
                    ("authority", "An authority asked for it"),
                    ("data_wrong", "The data is wrong, or of nobody real"),
                    ("other", "Another ground, in the case while it is open"),
                ],
                max_length=17,
            ),
        ),
        migrations.AddField(
            model_name="case",
            name="identity_skipped_reason",
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name="case",
            name="opened_key_maker",
            field=models.CharField(blank=True, max_length=128),
        ),
        migrations.AddField(
            model_name="caseplan",
            name="made_key_maker",
            field=models.CharField(blank=True, max_length=128),
        ),
        migrations.AlterField(
            model_name="gdpraction",
            name="action",
            field=models.CharField(
                choices=[
                    ("export", "Export"),
                    ("delete", "Erasure"),
                    ("rectify", "Rectification"),
                    ("restrict", "Restriction"),
                    ("lift", "Restriction lifted"),
                    ("view", "View"),
                    ("decide", "Rows decided"),
                    ("settings", "Safeguard switched off"),
                ],
                max_length=8,
            ),
        ),
        migrations.AddConstraint(
            model_name="case",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("identity_skipped_ground", ""),
                    models.Q(("identity_skipped_reason", ""), _negated=True),
                    _connector="OR",
                ),
                name="case_identity_skip_has_reason",
            ),
        ),
        migrations.AddConstraint(
            model_name="gdpraction",
            constraint=models.CheckConstraint(
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
                            "settings",
                        ],
                    )
                ),
                name="action_known",
            ),
        ),
        migrations.RunPython(keep_earlier_rules, migrations.RunPython.noop),
    ]
