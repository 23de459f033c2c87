from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0009_webhooks"),
    ]

    operations = [
        migrations.AddField(
            model_name="journalentry",
            name="redacted_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="journalentry",
            name="restricted_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="journalentry",
            name="retired_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="journalentry",
            name="seal",
            field=models.CharField(blank=True, max_length=64, null=True),
        ),
    ]
