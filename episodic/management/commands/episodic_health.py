"""``manage.py episodic_health``: measure memory health now, keep it, tell it."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from episodic.health import bands, causes
from episodic.health import snapshots as health
from episodic.health.metrics import table as metrics
from episodic.models import HealthSnapshot
from memory.models import Crew, Workspace


def _told(row: HealthSnapshot) -> dict[str, Any]:
    return {
        "workspace_id": row.workspace_id,
        "crew_id": row.crew_id or None,
        "date": row.date.isoformat(),
        "score": row.score,
        "band": bands.band(row.score).value,
        "metrics": metrics.values(row),
        "details": row.details,
        "causes": [
            {"metric": one.metric, "points": one.points, "text": one.title}
            for one in causes.of(row)
        ],
    }


class Command(BaseCommand):
    """The nightly measurement by hand."""

    help = "Measure memory health now and keep today's snapshots."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare whose health, and the output."""
        parser.add_argument("--workspace", metavar="SLUG", help="default: all of them")
        parser.add_argument("--crew", metavar="SLUG", help="default: all of them")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *, as_json: bool, **options: Any) -> None:
        """Measure, keep, tell."""
        kept: list[HealthSnapshot] = []
        for shop in self._workspaces(options["workspace"]):
            crew_ids = self._crews(shop, options["crew"])
            if options["crew"] and not crew_ids:
                continue
            kept += health.take(shop.id, crew_ids, whole=not options["crew"])
        if options["crew"] and not kept:
            raise CommandError(f"There is no crew {options['crew']!r}.")
        told = [_told(row) for row in kept]
        if as_json:
            self.stdout.write(json.dumps({"snapshots": told}))
            return
        for one in told:
            who = one["crew_id"] or one["workspace_id"]
            score = "no data" if one["score"] is None else one["score"]
            self.stdout.write(f"{who}: {score} ({one['band']})")
            for cause in one["causes"][:3]:
                self.stdout.write(f"  -{cause['points']} {cause['text']}")

    def _workspaces(self, slug: str | None) -> list[Workspace]:
        if slug is None:
            return list(Workspace.objects.all())
        found = list(Workspace.objects.filter(slug=slug))
        if not found:
            raise CommandError(f"There is no workspace {slug!r}.")
        return found

    def _crews(self, shop: Workspace, slug: str | None) -> list[str] | None:
        if slug is None:
            return None
        rows = Crew.objects.filter(workspace=shop, slug=slug)
        return list(rows.values_list("id", flat=True))
