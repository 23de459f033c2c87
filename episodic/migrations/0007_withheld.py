from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("episodic", "0006_proposals"),
    ]

    operations = [
        migrations.AlterField(
            model_name="embedding",
            name="state",
            field=models.CharField(
                choices=[
                    ("pending", "Pending"),
                    ("indexed", "Indexed"),
                    ("failed", "Failed"),
                    ("withheld", "Withheld"),
                ],
                default="pending",
                max_length=8,
            ),
        ),
    ]
