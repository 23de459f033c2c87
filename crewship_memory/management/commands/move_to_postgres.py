"""``manage.py move_to_postgres``: an embedded installation over to PostgreSQL."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandError
from django.db import OperationalError
from django_rich.management import RichCommand
from rich.console import Console

from crewship_memory.backup import check, move
from crewship_memory.backup.child_process import DAMAGED, PROBLEMS
from crewship_memory.backup.envelope import BadBackup
from crewship_memory.management import progress_bar
from memory.installation import bodies
from memory.rules import errors

NEXT: Final = """\
Next: set DATABASE_URL to the new database, REDIS_URL to a Redis, {place}
Then start the servers.
{database} is as it was. No erasure from now on reaches it:
delete it, {others}once the new installation serves."""
OTHERS: Final = """the folders files, blobs and exports beside it, what in the
folder erasures does not end in .jsonl, and copies of all this, """
IN_FOLDER: Final = """and keep
CREWSHIP_DATA_DIR={folder}: keys and memory files are there."""
IN_DATABASE: Final = """and
CREWSHIP_SECRET_KEY to what is in {folder}/keys/secret.key:
memory files and bundles are in the database, and the other keys, sealed under it."""


class Command(RichCommand):
    """Copy, verify, say what is next."""

    help = (
        "Copy the embedded installation into an empty PostgreSQL database, while every"
        " server is stopped, and verify it there. Run again after an interruption. Exit"
        " 3: something does not verify, and the new database is not served."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--to", required=True, metavar="DATABASE_URL")
        parser.add_argument(
            "--accept",
            action="store_true",
            help="serve it although something does not verify",
        )
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *, to: str, accept: bool, as_json: bool, **_options: Any) -> None:
        console = Console(stderr=True)
        show = console.is_terminal and not as_json
        try:
            with progress_bar.shown(console, show=show) as watch:
                report = move.move(to, watch, accept=accept)
        except BadBackup as error:
            raise CommandError(error.detail, returncode=DAMAGED) from None
        except errors.AppError as error:
            raise CommandError(error.detail) from None
        except OperationalError:
            raise CommandError("The database does not answer, or is locked.") from None
        self.stdout.write(json.dumps(report) if as_json else check.sentence(report))
        if not report["served"]:
            message = "Not served: run it with --accept to serve it all the same."
            raise CommandError(message, returncode=PROBLEMS)
        if not as_json:
            self.stdout.write(_next(report["place"]))


def _next(place: str) -> str:
    """Return what is left to do, by where the new installation keeps its bodies."""
    is_folder = place == bodies.FOLDER
    text = IN_FOLDER if is_folder else IN_DATABASE
    return NEXT.format(
        place=text.format(folder=settings.DATA_DIR),
        database=settings.DATABASES["default"]["NAME"],
        others="and copies of it, " if is_folder else OTHERS,
    )
