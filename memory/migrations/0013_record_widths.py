from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0012_records_scope"),
    ]

    operations = [
        migrations.AlterField(
            model_name="record",
            name="scope_agent",
            field=models.CharField(blank=True, max_length=256),
        ),
        migrations.AlterField(
            model_name="record",
            name="scope_namespace",
            field=models.CharField(blank=True, max_length=256),
        ),
        migrations.AlterField(
            model_name="record",
            name="scope_thread",
            field=models.CharField(blank=True, max_length=256),
        ),
        migrations.AlterField(
            model_name="record",
            name="scope_user",
            field=models.CharField(blank=True, max_length=256),
        ),
        migrations.AlterField(
            model_name="record",
            name="session_id",
            field=models.CharField(blank=True, max_length=256),
        ),
    ]
