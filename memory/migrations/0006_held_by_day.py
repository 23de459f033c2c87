from django.db import migrations, models


class Migration(migrations.Migration):
    """The newest held texts and the newest decisions, without reading the others."""

    dependencies = [("memory", "0005_saved_views")]

    operations = [
        migrations.AddIndex(
            model_name="heldfile",
            index=models.Index(
                fields=["workspace", "-received_at"], name="held_received"
            ),
        ),
        migrations.AddIndex(
            model_name="heldfile",
            index=models.Index(
                fields=["workspace", "-decided_at"], name="held_decided"
            ),
        ),
    ]
