import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    """Bytes of files and sealed keys in the database; where the bytes are."""

    dependencies = [
        ("memory", "0008_import_lines"),
    ]

    operations = [
        migrations.AddField(
            model_name="installation",
            name="bodies",
            field=models.CharField(default="folder", max_length=8),
        ),
        migrations.CreateModel(
            name="SealedKey",
            fields=[
                (
                    "name",
                    models.CharField(max_length=80, primary_key=True, serialize=False),
                ),
                ("sealed", models.TextField()),
                ("sealed_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={"db_table": "sealed_keys"},
        ),
        migrations.CreateModel(
            name="StoredFile",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("tree", models.CharField(max_length=16)),
                ("path", models.CharField(max_length=600)),
                ("body", models.BinaryField()),
                ("size", models.PositiveBigIntegerField()),
                ("sha256", models.CharField(max_length=64)),
                ("written_at", models.DateTimeField(default=django.utils.timezone.now)),
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
                "db_table": "stored_files",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "tree", "path"), name="stored_file_once"
                    )
                ],
            },
        ),
    ]
