"""``manage.py memory_export``: memory files into a zip or a folder."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory.files import bundle_format, import_export
from memory.management import workspaces
from memory.rules import errors
from memory.rules.permissions import system


class Command(BaseCommand):
    """Write a bundle; the same files make the same bytes."""

    help = "Export memory files as a zip (TARGET ends in .zip) or a folder."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("target", metavar="TARGET")
        parser.add_argument("--workspace", required=True, metavar="SLUG")
        parser.add_argument("--crew", default="", metavar="SLUG")
        parser.add_argument("--agent", default="", metavar="SLUG")

    def handle(self, *, target: str, workspace: str, **options: Any) -> None:
        workspace_row = workspaces.with_slug(workspace)
        by = system(workspace_row.id, "export")
        try:
            crew, agent = options["crew"], options["agent"]
            scope = import_export.scope(workspace_row, crew, agent)
            documents = import_export.export(scope, by=by)
        except errors.AppError as error:
            raise CommandError(error.detail) from None
        files = bundle_format.members(documents, workspace_row.slug)
        try:
            self._write(Path(target), files)
        except OSError as error:
            raise CommandError(f"Cannot write {target}: {error.strerror}.") from None
        self.stdout.write(f"{len(documents)} files of {workspace_row.slug} exported")

    def _write(self, target: Path, files: dict[str, bytes]) -> None:
        if target.suffix == ".zip":
            _write(target, bundle_format.pack(files))
            return
        if target.exists() and any(target.iterdir()):
            raise CommandError(f"{target} is not empty; name a new folder.")
        for name, data in files.items():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, data)


def _write(path: Path, data: bytes) -> None:
    """Write for this account alone, also over a file that others could read."""
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(data)
