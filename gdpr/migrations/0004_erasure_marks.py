"""Add the mark of how much of the erasures file the database knows."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("gdpr", "0002_safe_defaults"),
        ("memory", "0001_schema"),
    ]

    operations = [
        migrations.CreateModel(
            name="ErasureMark",
            fields=[
                (
                    "workspace",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="erasure_mark",
                        serialize=False,
                        to="memory.workspace",
                    ),
                ),
                ("end", models.CharField(blank=True, max_length=64)),
                ("restore", models.CharField(blank=True, max_length=16)),
            ],
            options={"db_table": "gdpr_erasure_marks"},
        ),
    ]
