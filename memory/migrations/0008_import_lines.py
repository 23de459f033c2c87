import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    """Lines of an uploaded file of entries, until they are appended."""

    dependencies = [
        ("memory", "0007_user_language"),
    ]

    operations = [
        migrations.CreateModel(
            name="ImportLine",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("import_id", models.CharField(max_length=32)),
                ("number", models.PositiveIntegerField()),
                ("line", models.TextField(blank=True)),
                ("fault", models.CharField(blank=True, max_length=300)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
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
                "db_table": "journal_import_lines",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "import_id", "number"),
                        name="import_line_once",
                    )
                ],
            },
        ),
    ]
