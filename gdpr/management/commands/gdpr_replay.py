"""``manage.py gdpr_replay``: after a restore, carry out again what was erased since."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gdpr.erasure import replay
from gdpr.erasure.tombstones import Damaged


class Command(BaseCommand):
    """Compare the database with the erasures file, and make up for what is missing."""

    help = "Carry out again the erasures that a restored database knows nothing of."

    def handle(self, **_options: Any) -> None:
        """Replay, and fail when something is left."""
        try:
            done = replay.run(self.stdout.write)
        except Damaged as error:
            raise CommandError(str(error)) from None
        for one in done:
            for told in (*one.found, *one.todo):
                self.stderr.write(f"{one.case_id}: {told}")
        self.stdout.write(f"{len(done)} runs were carried out again.")
        left = sum(bool(one.found or one.todo) for one in done)
        if left:
            message = f"Something is left of {left} of them."
            raise CommandError(message)
