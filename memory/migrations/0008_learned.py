from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0007_archive"),
    ]

    operations = [
        migrations.AlterField(
            model_name="memoryfile",
            name="tier",
            field=models.CharField(
                choices=[
                    ("AGENT", "AGENT"),
                    ("CREW", "CREW"),
                    ("PERSONA", "PERSONA"),
                    ("pins", "pins"),
                    ("daily", "daily"),
                    ("peers", "peers"),
                    ("lessons", "lessons"),
                    ("learned", "learned"),
                ],
                max_length=8,
            ),
        ),
    ]
