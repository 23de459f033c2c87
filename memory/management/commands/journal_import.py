"""``manage.py journal_import``: JSON lines into the journal."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

from django.core.management.base import CommandError
from django_rich.management import RichCommand
from rich.progress import Progress

from memory import journal_import
from memory.accounts import workspaces
from memory.journal_import import Line
from memory.models import Workspace
from memory.rules import errors
from memory.rules.permissions import system

STDIN: Final = "-"


@contextmanager
def opened(name: str) -> Iterator[tuple[BinaryIO, int | None]]:
    """Yield a file or standard input, and its size in bytes if it is known."""
    if name == STDIN:
        yield sys.stdin.buffer, None
        return
    try:
        file = Path(name).open("rb")  # noqa: SIM115  (closed below)
    except OSError as error:
        raise CommandError(f"Cannot read {name}: {error.strerror}.") from None
    with file:
        yield file, Path(name).stat().st_size or None


class Command(RichCommand):
    """Append entries from JSON lines; report the bad ones and go on."""

    help = "Import journal entries, one JSON object a line. Exit 1 if any was refused."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE|-")
        parser.add_argument("--workspace", metavar="SLUG")
        parser.add_argument(
            "--create", action="store_true", help="make workspace, crews and agents"
        )

    def handle(self, *, file: str, create: bool, **options: Any) -> None:
        if not options["workspace"]:
            raise CommandError("--workspace is missing.")
        workspace = self._workspace(options["workspace"], create=create)
        with opened(file) as (source, size):
            report = journal_import.append(
                journal_import.read_lines(source),
                by=system(workspace.id, "import"),
                on_refusal=self._report_line,
                create=create,
                watch=lambda lines: self._with_progress(lines, size),
            )
        self.stdout.write(f"{report.appended} entries imported into {workspace.slug}")
        if report.refused:
            raise CommandError(f"{report.refused} lines were refused.")

    def _workspace(self, slug: str, *, create: bool) -> Workspace:
        workspace = Workspace.objects.filter(slug=slug).first()
        if workspace is None and create:
            try:
                workspace, _is_new = workspaces.ensure_workspace(slug)
            except errors.AppError as error:
                raise CommandError(error.detail) from None
        if workspace is None:
            raise CommandError(f"There is no workspace {slug!r}; --create makes it.")
        return workspace

    def _report_line(self, number: int, reason: str) -> None:
        self.stderr.write(f"line {number}: {reason}")

    def _with_progress(self, lines: Iterable[Line], size: int | None) -> Iterable[Line]:
        if not self.console.is_terminal:
            yield from lines
            return
        with Progress(console=self.console, transient=True) as progress:
            bar = progress.add_task("importing", total=size)
            for line in lines:
                yield line
                progress.advance(bar, line.size)
