"""``manage.py episodic_decay``: age and reinforce importance, now."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser
from typing import Any

from django_rich.management import RichCommand

from episodic.index import decay
from memory.management import workspaces


class Command(RichCommand):
    """Run the nightly recomputation of importance now."""

    help = "Recompute the importance of every embedding, in one workspace or in all."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--workspace", metavar="SLUG")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *, as_json: bool, **options: Any) -> None:
        """Recompute and report."""
        started, total = time.monotonic(), decay.Report()
        for workspace in workspaces.with_slug_or_all(options["workspace"]):
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
