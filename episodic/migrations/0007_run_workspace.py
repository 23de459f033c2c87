import django.db.models.deletion
from django.db import migrations, models
from django.db.models import OuterRef, Subquery


def fill(apps, schema_editor):
    """Take the workspace of each run from its check."""
    check = apps.get_model("episodic", "RecallCheck")
    run = apps.get_model("episodic", "RecallCheckRun")
    of_check = check.objects.filter(pk=OuterRef("recall_check_id"))
    run.objects.update(workspace_id=Subquery(of_check.values("workspace_id")[:1]))
    if schema_editor.connection.vendor == "postgresql":
        # It alters no table whose foreign keys are still to be checked.
        schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")


class Migration(migrations.Migration):
    dependencies = [
        ("episodic", "0006_vector_table"),
        ("memory", "0011_worker_processes"),
    ]

    operations = [
        migrations.AddField(
            model_name="recallcheckrun",
            name="workspace",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="memory.workspace",
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AlterField(
            model_name="recallcheckrun",
            name="workspace",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="memory.workspace",
            ),
        ),
    ]
