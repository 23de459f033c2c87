import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """When members were last here."""

    dependencies = [("memory", "0002_word_lists")]

    operations = [
        migrations.CreateModel(
            name="LastVisit",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("seen_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("since", models.DateTimeField(blank=True, null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="visits",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="memory.workspace",
                    ),
                ),
            ],
            options={"db_table": "last_visits"},
        ),
        migrations.AddConstraint(
            model_name="lastvisit",
            constraint=models.UniqueConstraint(
                fields=("workspace", "user"), name="visit_once"
            ),
        ),
    ]
