"""``manage.py compact``: move old entries to the archive now."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django_rich.management import RichCommand

from memory.journal import compaction
from memory.management import workspaces
from memory.models import Workspace


class Command(RichCommand):
    """Run the nightly compaction now."""

    help = (
        "Move old entries of five frequent types to the archive and leave a summary"
        " of each day. Warnings, errors and marked entries stay. Exit 1 when a"
        " safety check stopped it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--workspace", metavar="SLUG")
        parser.add_argument("--days", type=int, default=compaction.DAYS)
        parser.add_argument("--dry-run", action="store_true", help="only count")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *, as_json: bool, dry_run: bool, **options: Any) -> None:
        if options["days"] < 1:
            raise CommandError("--days is 1 or more.")
        totals: dict[str, Any] = {
            "buckets": 0, "archived": 0, "bytes": 0, "refused": [], "dry_run": dry_run,
        }  # fmt: skip
        for workspace in workspaces.with_slug_or_all(options["workspace"]):
            (_count if dry_run else _compact)(workspace, options["days"], totals)
        self.stdout.write(json.dumps(totals) if as_json else _sentence(totals))
        if totals["refused"]:
            raise CommandError(f"A safety check stopped it: {totals['refused'][0]}")


def _count(workspace: Workspace, days: int, totals: dict[str, Any]) -> None:
    buckets = compaction.plan(workspace.id, days=days)
    totals["buckets"] += len(buckets)
    totals["archived"] += sum(bucket.count for bucket in buckets)


def _compact(workspace: Workspace, days: int, totals: dict[str, Any]) -> None:
    report = compaction.run(workspace.id, days=days)
    totals["buckets"] += report.buckets
    totals["archived"] += report.archived
    totals["bytes"] += report.bytes
    totals["refused"] += report.refused


def _sentence(totals: dict[str, Any]) -> str:
    verb = "would go" if totals["dry_run"] else "went"
    return (
        f"{totals['archived']:,} entries {verb} to the archive"
        f" in {totals['buckets']:,} buckets."
    )
