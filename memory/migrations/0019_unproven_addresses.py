"""Forget addresses that a person gave themselves and nobody confirmed.

Only an account's own, verified address counts as proven from now on.
"""

from django.db import migrations
from django.db.models import F, Q


def forget(apps, _schema_editor):
    addresses = apps.get_model("account", "EmailAddress")
    addresses.objects.filter(Q(verified=False) | ~Q(email=F("user__email"))).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0018_invitations"),
        ("account", "0001_initial"),
    ]

    operations = [migrations.RunPython(forget, migrations.RunPython.noop)]
