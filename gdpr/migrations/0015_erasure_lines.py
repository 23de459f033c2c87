import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Records of erasures that the machines of an installation copy from."""

    dependencies = [
        ("gdpr", "0014_covered_words"),
        ("memory", "0009_stored_files"),
    ]

    operations = [
        migrations.CreateModel(
            name="ErasureLine",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("number", models.PositiveIntegerField()),
                ("line", models.TextField()),
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
                "db_table": "gdpr_erasure_lines",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "number"), name="erasure_line_once"
                    )
                ],
            },
        ),
    ]
