from django.db import migrations, models


class Migration(migrations.Migration):
    """The processes that take tasks from queues, and the clock."""

    dependencies = [("memory", "0010_words_by_workspace")]

    operations = [
        migrations.CreateModel(
            name="WorkerProcess",
            fields=[
                (
                    "name",
                    models.CharField(max_length=60, primary_key=True, serialize=False),
                ),
                ("host", models.CharField(max_length=16)),
                ("queues", models.JSONField(default=list)),
                ("is_clock", models.BooleanField(default=False)),
                ("seen_at", models.DateTimeField()),
            ],
            options={"db_table": "worker_processes"},
        ),
    ]
