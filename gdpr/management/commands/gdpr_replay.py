"""``manage.py gdpr_replay``: after a restore, repeat erasures it lacks."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gdpr.erasure import catch_up
from gdpr.erasure.tombstones import Damaged


class Command(BaseCommand):
    """Compare the database with the erasures file, and repeat what is missing."""

    help = (
        "Carry out again the erasures that a restored database knows nothing of. The"
        " server and the worker do so themselves; this says what is left."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--accept",
            action="store_true",
            help="serve the workspace although something is left of a person",
        )

    def handle(self, *, accept: bool, **_options: Any) -> None:
        try:
            runs = catch_up.by_hand(self.stdout.write, accept=accept)
        except Damaged as error:
            raise CommandError(str(error)) from None
        for run in runs:
            for line in (*run.remaining, *run.todo):
                self.stderr.write(f"{run.case_id}: {line}")
        self.stdout.write(f"{len(runs)} runs were carried out again.")
        if runs:
            self.stdout.write(catch_up.summary(runs))
        incomplete = sum(bool(run.remaining or run.todo) for run in runs)
        if incomplete:
            message = f"Something is left of {incomplete} of them."
            raise CommandError(message)
