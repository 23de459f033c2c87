"""``manage.py episodic_decay``: age and reinforce importance, now."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django_rich.management import RichCommand

from episodic.index import decay
from memory.models import Workspace


class Command(RichCommand):
    """Run the nightly recomputation of importance now."""

    help = "Recompute the importance of every embedding, in one workspace or in all."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--workspace", metavar="SLUG")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *, as_json: bool, **options: Any) -> None:
        """Recompute and report."""
        workspaces = list(Workspace.objects.order_by("slug"))
        if options["workspace"]:
            workspaces = [
                workspace
                for workspace in workspaces
                if workspace.slug == options["workspace"]
            ]
            if not workspaces:
                raise CommandError(f"There is no workspace {options['workspace']!r}.")
        started, total = time.monotonic(), decay.Report()
        for workspace in workspaces:
            report = decay.run(workspace.id)
            total.rows += report.rows
            total.updated += report.updated
        seconds = round(time.monotonic() - started, 3)
        if as_json:
            payload = {"rows": total.rows, "changed": total.updated, "seconds": seconds}
            self.stdout.write(json.dumps(payload))
            return
        self.stdout.write(
            f"{total.rows} rows, {total.updated} changed, in {seconds} s."
        )
