import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("gdpr", "0003_clean_from_the_start"),
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
    ]
