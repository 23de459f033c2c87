"""``manage.py restore``: a backup into an empty installation."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandError
from django.db import OperationalError
from django_rich.management import RichCommand
from rich.console import Console

from crewship_memory.backup import check, envelope, restore
from crewship_memory.backup.child_process import DAMAGED, PROBLEMS
from crewship_memory.backup.finish import Report
from crewship_memory.management import progress_bar
from memory.rules import errors

STREAM: Final = Path("-")
NEXT: Final = (
    "It is served from now on: start the servers. Erasures that were carried out later"
    " than those on record are not known here."
)


class Command(RichCommand):
    """Load, migrate, erase again, verify; serve only then."""

    help = (
        "Restore a backup into an empty database and data folder, SQLite or PostgreSQL,"
        " whichever it was made of. Run again after an interruption; without FILE it"
        " ends a restore that has loaded everything. Exit 2: the file or the key is not"
        " right; 3: something does not verify, and nothing is served."
    )
    # They look at keys and tables that are not there yet.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, nargs="?", metavar="FILE|-")
        parser.add_argument(
            "--key-file", type=Path, metavar="FILE", help="or CREWSHIP_BACKUP_KEY"
        )
        parser.add_argument(
            "--erasures",
            type=Path,
            metavar="FOLDER",
            help="the folder erasures of the lost, or still running, machine",
        )
        parser.add_argument(
            "--accept",
            action="store_true",
            help="serve it although something does not verify",
        )
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *, as_json: bool, **options: Any) -> None:
        try:
            report = self._restore(as_json=as_json, **options)
        except (envelope.BadKey, envelope.BadBackup) as error:
            raise CommandError(error.detail, returncode=DAMAGED) from None
        except errors.AppError as error:
            raise CommandError(error.detail) from None
        except OperationalError:
            raise CommandError("The database does not answer, or is locked.") from None
        content = report.as_json()
        self.stdout.write(json.dumps(content) if as_json else check.sentence(content))
        if not report.is_served:
            message = "Not served: run it with --accept to serve it all the same."
            raise CommandError(message, returncode=PROBLEMS)
        if not as_json:
            self.stdout.write(NEXT)

    def _restore(
        self,
        *,
        file: Path | None,
        key_file: Path | None,
        erasures: Path | None,
        accept: bool,
        as_json: bool,
        **_options: Any,
    ) -> Report:
        console = Console(stderr=True)
        show = console.is_terminal and not as_json
        with ExitStack() as stack:
            watch = stack.enter_context(progress_bar.shown(console, show=show))
            source, secret = None, b""
            if file is not None:
                secret = envelope.key_from(key_file, settings.BACKUP_KEY)
                source = (
                    sys.stdin.buffer
                    if file == STREAM
                    else stack.enter_context(restore.open_backup(file))
                )
            return restore.restore(
                source, secret, watch, erasures=erasures, accept=accept
            )
