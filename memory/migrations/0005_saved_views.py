import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Saved filters of the quarantine become saved views of any list.

    Beside it, an index that counts embeddable entries which no recall may use.
    """

    dependencies = [("memory", "0004_job_progress")]

    operations = [
        migrations.AddIndex(
            model_name="journalentry",
            index=models.Index(
                condition=models.Q(
                    ("embeddable", True),
                    models.Q(
                        ("retired_at__isnull", False),
                        ("restricted_at__isnull", False),
                        ("erased_at__isnull", False),
                        _connector="OR",
                    ),
                ),
                fields=["workspace", "seq"],
                name="journal_unusable",
            ),
        ),
        migrations.RemoveConstraint(model_name="savedfilter", name="saved_filter_once"),
        migrations.RenameModel(old_name="SavedFilter", new_name="SavedView"),
        migrations.AlterModelTable(name="savedview", table="saved_views"),
        migrations.AddField(
            model_name="savedview",
            name="page",
            field=models.CharField(
                choices=[
                    ("quarantine", "Quarantine"),
                    ("journal", "Journal"),
                    ("records", "Records"),
                    ("agents", "Agents"),
                ],
                default="quarantine",
                max_length=20,
            ),
            preserve_default=False,
        ),
        migrations.AlterField(
            model_name="savedview",
            name="query",
            field=models.CharField(blank=True, max_length=500),
        ),
        migrations.AlterField(
            model_name="savedview",
            name="user",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="saved_views",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddConstraint(
            model_name="savedview",
            constraint=models.UniqueConstraint(
                fields=("workspace", "user", "page", "name"), name="saved_view_once"
            ),
        ),
    ]
