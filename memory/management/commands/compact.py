"""``manage.py compact``: send old noise to the archive, now."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django_rich.management import RichCommand

from memory.journal import compaction
from memory.models import Workspace


class Command(RichCommand):
    """Compact by hand: the night's job, without waiting for it."""

    help = (
        "Send old entries of five chatty types to the archive and leave a summary"
        " of each day. Warnings, errors and marked entries stay. Exit 1 when a"
        " fence held."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare whose, how old, and whether to look only."""
        parser.add_argument("--workspace", metavar="SLUG")
        parser.add_argument("--days", type=int, default=compaction.DAYS)
        parser.add_argument("--dry-run", action="store_true", help="only count")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *, as_json: bool, dry_run: bool, **options: Any) -> None:
        """Run, or count, and tell."""
        if options["days"] < 1:
            raise CommandError("--days is 1 or more.")
        shops = list(Workspace.objects.order_by("slug"))
        if options["workspace"]:
            shops = [shop for shop in shops if shop.slug == options["workspace"]]
            if not shops:
                raise CommandError(f"There is no workspace {options['workspace']!r}.")
        told: dict[str, Any] = {"buckets": 0, "archived": 0, "bytes": 0, "refused": []}
        told["dry_run"] = dry_run
        for shop in shops:
            (_count if dry_run else _compact)(shop, options["days"], told)
        self.stdout.write(json.dumps(told) if as_json else _sentence(told))
        if told["refused"]:
            raise CommandError(f"A fence held: {told['refused'][0]}")


def _count(shop: Workspace, days: int, told: dict[str, Any]) -> None:
    buckets = compaction.plan(shop.id, days=days)
    told["buckets"] += len(buckets)
    told["archived"] += sum(bucket.count for bucket in buckets)


def _compact(shop: Workspace, days: int, told: dict[str, Any]) -> None:
    report = compaction.run(shop.id, days=days)
    told["buckets"] += report.buckets
    told["archived"] += report.archived
    told["bytes"] += report.bytes
    told["refused"] += report.refused


def _sentence(told: dict[str, Any]) -> str:
    verb = "would go" if told["dry_run"] else "went"
    return (
        f"{told['archived']:,} entries {verb} to the archive"
        f" in {told['buckets']:,} buckets."
    )
