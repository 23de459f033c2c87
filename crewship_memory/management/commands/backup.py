"""``manage.py backup``: the whole installation as one encrypted file."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, BinaryIO, Final

from django.conf import settings
from django.core.management.base import CommandError
from django.db import OperationalError
from django_rich.management import RichCommand
from rich.console import Console

from crewship_memory.backup import check, envelope, make, restore
from crewship_memory.backup.child_process import DAMAGED, PROBLEMS
from crewship_memory.backup.make import Made
from crewship_memory.management import progress_bar
from memory.rules import errors

STREAM: Final = Path("-")


class Command(RichCommand):
    """Make a backup, or verify one."""

    help = (
        "Write an encrypted backup of the installation to FILE, - for the output, while"
        " it is running; or verify one. Exit 2: the file or the key is not right; 3: it"
        " can be restored, but something in it does not verify."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE|-")
        parser.add_argument(
            "--key-file", type=Path, metavar="FILE", help="or CREWSHIP_BACKUP_KEY"
        )
        parser.add_argument(
            "--without-keys",
            action="store_true",
            help="leave out the keys of the installation: you keep its folder keys",
        )
        parser.add_argument(
            "--verify",
            action="store_true",
            help="restore FILE into a folder that is deleted afterwards, and verify it",
        )
        parser.add_argument(
            "--scratch",
            type=Path,
            metavar="FOLDER",
            help="with --verify: where to restore it; default: a temporary folder",
        )
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *, file: Path, as_json: bool, **options: Any) -> None:
        try:
            secret = envelope.key_from(options["key_file"], settings.BACKUP_KEY)
            if options["verify"]:
                self._verify(file, secret, options["scratch"], as_json=as_json)
            else:
                with_keys = not options["without_keys"]
                self._make(file, secret, as_json=as_json, with_keys=with_keys)
        except (envelope.BadKey, envelope.BadBackup) as error:
            raise CommandError(error.detail, returncode=DAMAGED) from None
        except errors.AppError as error:
            raise CommandError(error.detail) from None
        except OperationalError:
            raise CommandError("The database does not answer, or is locked.") from None
        except OSError as error:
            message = f"Cannot write {file}: {error.strerror}."
            raise CommandError(message) from None

    def _make(
        self, file: Path, secret: bytes, *, as_json: bool, with_keys: bool
    ) -> None:
        is_stream = file == STREAM
        target: Path | BinaryIO = sys.stdout.buffer if is_stream else file
        if is_stream and sys.stdout.isatty():
            raise CommandError("A backup is not written to a terminal: name a file.")
        console = Console(stderr=True)
        show = console.is_terminal and not as_json
        with progress_bar.shown(console, show=show) as watch:
            made = make.make(target, secret, watch, with_keys=with_keys)
        out = self.stderr if is_stream else self.stdout
        out.write(json.dumps(made.as_json()) if as_json else _sentence(made))

    def _verify(
        self, file: Path, secret: bytes, scratch: Path | None, *, as_json: bool
    ) -> None:
        with restore.open_backup(file):
            report = check.check(file, secret, scratch)
        self.stdout.write(json.dumps(report) if as_json else check.sentence(report))
        if report["problems"]:
            message = f"{len(report['problems'])} problems: {report['problems'][0]}"
            raise CommandError(message, returncode=PROBLEMS)


def _sentence(made: Made) -> str:
    facts = made.as_json()
    size = f"{facts['bytes']} bytes in {facts['seconds']} s"
    lines = [
        f"Backup {made.backup_id}: {facts['entries']} entries, {facts['rows']} rows.",
        f"{facts['bodies']} bodies; {size}.",
        f"SHA-256 {made.sha256}",
    ]
    if made.bodies.missing:
        lines.append(f"{made.bodies.missing} bodies were erased meanwhile, or damaged.")
    if not made.has_keys:
        lines.append("It has no keys: without the folder keys it cannot be restored.")
    if not made.is_journaled:
        lines.append("It could not be noted in the journal: see the log.")
    return "\n".join(lines)
