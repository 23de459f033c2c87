import django.db.models.deletion
import django.utils.timezone
import memory.models.ids
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0017_agent_key_end_user"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="session_generation",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=memory.models.ids.invitation,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("email", models.EmailField(max_length=254)),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "viewer"),
                            ("operator", "operator"),
                            ("compliance", "compliance"),
                            ("admin", "admin"),
                        ],
                        max_length=12,
                    ),
                ),
                ("invited_by", models.CharField(max_length=254)),
                ("invited_by_id", models.CharField(max_length=128)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("digest", models.CharField(blank=True, max_length=64)),
                ("link_made_at", models.DateTimeField(blank=True, null=True)),
                ("mailed", models.BooleanField(default=False)),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to="memory.workspace",
                    ),
                ),
            ],
            options={
                "db_table": "invitations",
                "ordering": ("created_at",),
                "indexes": [
                    models.Index(fields=["email"], name="invitation_email"),
                    models.Index(fields=["digest"], name="invitation_digest"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "email"), name="one_invitation_per_address"
                    )
                ],
            },
        ),
    ]
