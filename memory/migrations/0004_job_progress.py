from django.db import migrations, models


class Migration(migrations.Migration):
    """How far a run of a job is, what was asked for and what came of it."""

    dependencies = [("memory", "0003_last_visits")]

    operations = [
        migrations.AddField("jobrun", "done", models.PositiveIntegerField(default=0)),
        migrations.AddField(
            "jobrun", "items", models.JSONField(blank=True, default=list)
        ),
        migrations.AddField(
            "jobrun", "params", models.JSONField(blank=True, default=dict)
        ),
        migrations.AddField(
            "jobrun", "total", models.PositiveIntegerField(blank=True, null=True)
        ),
        migrations.AddField(
            "jobrun", "unit", models.CharField(blank=True, max_length=20)
        ),
    ]
