"""``manage.py reseal_keys``: another CREWSHIP_SECRET_KEY for the sealed keys."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory import secret_change
from memory.installation import identity as installation
from memory.installation import sealed_keys
from memory.rules import errors


class Command(BaseCommand):
    """Seal the keys in the database under the CREWSHIP_SECRET_KEY of now."""

    help = (
        "Set the new CREWSHIP_SECRET_KEY, stop every server, and run this with a file"
        " that has the former one. Everybody signs in again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("former", metavar="FILE", help="the former key, alone")

    def handle(self, *, former: str, **_options: Any) -> None:
        try:
            text = Path(former).read_text(encoding="utf-8").strip()
            count = secret_change.change_secret(text)
        except sealed_keys.Broken:
            message = "The keys are not sealed under that one; nothing was changed."
            raise CommandError(message) from None
        except (OSError, ValueError, errors.AppError) as error:
            raise CommandError(str(error)) from None
        if (reason := installation.problem()) is not None:
            raise CommandError(f"Sealed again, and still not ready: {reason}")
        self.stdout.write(f"{count} keys are sealed under the new one.")
