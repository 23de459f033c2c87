import django.db.models.deletion
import django.utils.timezone
import memory.models.installation
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0014_archive_rests"),
    ]

    operations = [
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
    ]
