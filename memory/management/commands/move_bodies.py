"""``manage.py move_bodies``: bytes and keys to where the settings want them."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from memory import bodies_move
from memory.installation import identity as installation
from memory.rules import errors


class Command(BaseCommand):
    """Count what is elsewhere; with ``--apply`` move it."""

    help = (
        "Move memory files, versions, bundles, records of erasures and keys to where"
        " CREWSHIP_BODIES says (database, or folder). Without --apply it only counts."
        " Stop every server before; again goes on where it was cut off."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--apply", action="store_true", help="move them")

    def handle(self, *, apply: bool, **_options: Any) -> None:
        installation.problem()
        self.stdout.write(f"To the {settings.BODIES}:")
        try:
            if not apply:
                for title, count in bodies_move.counts().items():
                    self.stdout.write(f"  {title}: {count:,}")
                self.stdout.write("Nothing was changed; --apply moves them.")
                return
            report = bodies_move.move(lambda line: self.stdout.write(f"  {line}"))
        except (errors.AppError, OSError) as error:
            raise CommandError(str(error)) from None
        for title, count in report.copied.items():
            self.stdout.write(f"  {title}: {count:,} copied and compared")
        installation.forget()
        if (reason := installation.problem()) is not None:
            raise CommandError(f"Moved, and still not ready: {reason}")
        self.stdout.write("All is there. Start the servers.")
