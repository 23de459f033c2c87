"""``manage.py gdpr_replay``: after a restore, repeat erasures it lacks."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gdpr.erasure import replay
from gdpr.erasure.tombstones import Damaged


class Command(BaseCommand):
    """Compare the database with the erasures file, and repeat what is missing."""

    help = "Carry out again the erasures that a restored database knows nothing of."

    def handle(self, **_options: Any) -> None:
        try:
            runs = replay.run(self.stdout.write)
        except Damaged as error:
            raise CommandError(str(error)) from None
        for run in runs:
            for line in (*run.remaining, *run.todo):
                self.stderr.write(f"{run.case_id}: {line}")
        self.stdout.write(f"{len(runs)} runs were carried out again.")
        incomplete = sum(bool(run.remaining or run.todo) for run in runs)
        if incomplete:
            message = f"Something is left of {incomplete} of them."
            raise CommandError(message)
