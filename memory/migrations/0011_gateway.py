import django.db.models.deletion
import django.utils.timezone
import memory.models.gateway
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0010_erasing"),
    ]

    operations = [
        migrations.CreateModel(
            name="GatewayKey",
            fields=[
                ("name", models.CharField(max_length=120)),
                ("prefix", models.CharField(max_length=16)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("scopes", models.JSONField(blank=True, default=list)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("created_by", models.CharField(max_length=254)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "id",
                    models.CharField(
                        default=memory.models.gateway.gateway_key_id,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("user_id", models.CharField(max_length=128)),
                ("app_id", models.CharField(blank=True, max_length=128)),
                ("project_id", models.CharField(blank=True, max_length=128)),
            ],
            options={
                "db_table": "gateway_keys",
                "ordering": ("-created_at",),
            },
        ),
        migrations.CreateModel(
            name="GatewayPending",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("digest", models.CharField(max_length=64)),
                ("since", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "verbose_name_plural": "gateway pending",
                "db_table": "gateway_pending",
            },
        ),
        migrations.CreateModel(
            name="GatewaySetup",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=memory.models.gateway.setup_id,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("mode", models.CharField(max_length=16)),
                ("base_url", models.CharField(blank=True, max_length=500)),
                ("user_id", models.CharField(blank=True, max_length=128)),
                ("sealed_key", models.TextField(blank=True)),
                ("app_id", models.CharField(blank=True, max_length=128)),
                ("project_id", models.CharField(blank=True, max_length=128)),
                ("scope", models.JSONField(default=memory.models.gateway.no_scopes)),
                ("top_k", models.PositiveSmallIntegerField(default=8)),
                ("timeout_seconds", models.FloatField(default=10.0)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("updated_by", models.CharField(max_length=254)),
            ],
            options={
                "db_table": "gateway_setups",
                "ordering": ("workspace", "agent"),
            },
        ),
        migrations.AddField(
            model_name="gatewaykey",
            name="agent",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="gateway_keys",
                to="memory.agent",
            ),
        ),
        migrations.AddField(
            model_name="gatewaykey",
            name="workspace",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="gateway_keys",
                to="memory.workspace",
            ),
        ),
        migrations.AddField(
            model_name="gatewaypending",
            name="workspace",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                to="memory.workspace",
            ),
        ),
        migrations.AddField(
            model_name="gatewaysetup",
            name="agent",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="gateway_setups",
                to="memory.agent",
            ),
        ),
        migrations.AddField(
            model_name="gatewaysetup",
            name="workspace",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="gateway_setups",
                to="memory.workspace",
            ),
        ),
        migrations.AddIndex(
            model_name="gatewaykey",
            index=models.Index(
                fields=["workspace", "user_id"], name="gateway_key_user"
            ),
        ),
        migrations.AddConstraint(
            model_name="gatewaypending",
            constraint=models.UniqueConstraint(
                fields=("workspace", "digest"), name="gateway_pending_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="gatewaysetup",
            constraint=models.UniqueConstraint(
                condition=models.Q(("agent__isnull", False)),
                fields=("workspace", "agent"),
                name="gateway_setup_of_agent",
            ),
        ),
        migrations.AddConstraint(
            model_name="gatewaysetup",
            constraint=models.UniqueConstraint(
                condition=models.Q(("agent__isnull", True)),
                fields=("workspace",),
                name="gateway_setup_of_workspace",
            ),
        ),
    ]
