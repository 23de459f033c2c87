from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0013_record_widths"),
    ]

    operations = [
        migrations.AddField(
            model_name="archivedentry",
            name="restricted_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
