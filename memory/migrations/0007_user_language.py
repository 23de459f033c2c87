from django.db import migrations, models


class Migration(migrations.Migration):
    """The language a person chose for pages and mails."""

    dependencies = [("memory", "0006_held_by_day")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="language",
            field=models.CharField(blank=True, default="", max_length=8),
            preserve_default=False,
        ),
    ]
