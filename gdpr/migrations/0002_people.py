import django.db.models.deletion
import gdpr.models.subjects
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("gdpr", "0001_initial"),
        ("memory", "0012_records_scope"),
    ]

    operations = [
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
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "digest", "place", "row_id"),
                        name="unknown_name_once",
                    )
                ],
            },
        ),
    ]
