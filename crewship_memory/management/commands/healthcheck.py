"""``manage.py healthcheck``: whether a worker or the clock of this machine is alive."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from memory.jobs import pulses
from memory.jobs.queues import ALL


class Command(BaseCommand):
    """Exit 0 when it was seen within the last seconds, 1 otherwise."""

    help = "Say whether a worker, or the clock, of this machine gave a sign of life."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("process", choices=["worker", "clock"])
        parser.add_argument(
            "-Q", "--queues", metavar="NAMES", default="",
            help="a worker that serves these; several as after celery's own -Q",
        )  # fmt: skip

    def handle(self, *, process: str, queues: str, **_: Any) -> None:
        """Look for a row of this machine that is recent."""
        seconds = pulses.DEAD_AFTER.seconds
        names = [name.strip() for name in queues.split(",") if name.strip()]
        if unknown := set(names) - set(ALL):
            raise CommandError(f"There is no queue {', '.join(sorted(unknown))}.")
        try:
            is_alive = pulses.is_alive_here(process, names)
        except DatabaseError as error:
            message = f"The database does not answer: {type(error).__name__}."
            raise CommandError(message) from None
        if not is_alive:
            raise CommandError(f"No {process} was seen here for {seconds} seconds.")
        self.stdout.write(f"A {process} was seen here within {seconds} seconds.")
