"""``manage.py memory_import``: a bundle into memory files, planned first."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory.files import bundle_format, import_export
from memory.files.import_export import Item
from memory.management import workspaces
from memory.rules import errors
from memory.rules.permissions import system


class Command(BaseCommand):
    """Show the plan of an import, or apply it."""

    help = "Plan an import of memory files; carry it out with --apply."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("source", metavar="DIR|FILE")
        parser.add_argument("--workspace", required=True, metavar="SLUG")
        parser.add_argument("--crew", default="", metavar="SLUG")
        parser.add_argument("--agent", default="", metavar="SLUG")
        parser.add_argument("--apply", action="store_true", help="write the files")
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *, source: str, workspace: str, **options: Any) -> None:
        """Plan, apply with ``--apply``; exit 1 if a document was not written."""
        workspace_row = workspaces.with_slug(workspace)
        by = system(workspace_row.id, "import")
        try:
            into = import_export.scope(workspace_row, options["crew"], options["agent"])
            items = import_export.plan(bundle_format.load(Path(source)), into, by=by)
            if options["apply"]:
                items = import_export.apply(items, by=by)
        except errors.AppError as error:
            raise CommandError(error.detail) from None
        self._report(items, applied=options["apply"], as_json=options["json"])
        bad = {"rejected", "failed", "held"} & set(import_export.tally(items))
        if options["apply"] and bad:
            raise CommandError("Some documents were not written; see above.")

    def _report(self, items: Sequence[Item], *, applied: bool, as_json: bool) -> None:
        counts = import_export.tally(items)
        if as_json:
            documents = [item.as_dict() for item in items]
            document = {"applied": applied, "counts": counts, "documents": documents}
            self.stdout.write(json.dumps(document, indent=2))
            return
        for item in items:
            reason = f"  ({item.reason})" if item.reason else ""
            self.stdout.write(f"{item.outcome or item.action:10} {item.target}{reason}")
        total = ", ".join(f"{n} {name}" for name, n in counts.items()) or "nothing"
        self.stdout.write(f"{total}{'' if applied else '; --apply writes them'}")
