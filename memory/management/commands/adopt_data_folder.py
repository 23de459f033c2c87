"""``manage.py adopt_data_folder``: continue after a folder or a key was lost."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory import data_folder_adoption
from memory.installation import identity as installation
from memory.rules import errors


class Command(BaseCommand):
    """Show what would be lost; with a reason, accept the loss."""

    help = (
        "Take over the data folder and the keys as they are. Without --reason it only"
        " says what would be lost for good. Stop every server before."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--reason", default="", help="why; it is journaled")

    def handle(self, *, reason: str, **_options: Any) -> None:
        problem = installation.problem()
        if problem is None and not data_folder_adoption.losses():
            self.stdout.write("Keys and data folder belong to this database already.")
            return
        if not reason.strip():
            self.stdout.write(f"What is wrong: {problem}")
            self._list("Going on as it is would cost:", data_folder_adoption.losses())
            self.stdout.write("Nothing was changed; --reason '…' does it.")
            return
        try:
            losses = data_folder_adoption.adopt(reason)
        except (errors.AppError, OSError) as error:
            raise CommandError(str(error)) from None
        self._list("Taken over. Given up for good:", losses)
        remaining = installation.problem()
        if remaining is not None:
            raise CommandError(f"Still not ready: {remaining}")
        self.stdout.write("Start the server again; every process has to.")

    def _list(self, title: str, lines: list[str]) -> None:
        self.stdout.write(title)
        for line in lines or ["nothing: everything is there and can be verified"]:
            self.stdout.write(f"  - {line}")
