"""``manage.py episodic_health``: measure memory health now, store it, print it."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from episodic.health import bands, causes
from episodic.health import snapshots as health
from episodic.health.metrics import table as metrics
from episodic.models import HealthSnapshot
from memory.management import workspaces
from memory.models import Crew, Workspace


def _payload(row: HealthSnapshot) -> dict[str, Any]:
    return {
        "workspace_id": row.workspace_id,
        "crew_id": row.crew_id or None,
        "date": row.date.isoformat(),
        "score": row.score,
        "band": bands.band(row.score).value,
        "metrics": metrics.values(row),
        "details": row.details,
        "causes": [
            {"metric": cause.metric, "points": cause.points, "text": cause.title}
            for cause in causes.of(row)
        ],
    }


class Command(BaseCommand):
    """Run the nightly measurement now."""

    help = "Measure memory health now and keep today's snapshots."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--workspace", metavar="SLUG", help="default: all of them")
        parser.add_argument("--crew", metavar="SLUG", help="default: all of them")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *, as_json: bool, **options: Any) -> None:
        """Measure, store and print."""
        rows: list[HealthSnapshot] = []
        for workspace in workspaces.with_slug_or_all(options["workspace"]):
            crew_ids = self._crews(workspace, options["crew"])
            if options["crew"] and not crew_ids:
                continue
            rows += health.take(
                workspace.id, crew_ids, include_workspace=not options["crew"]
            )
        if options["crew"] and not rows:
            raise CommandError(f"There is no crew {options['crew']!r}.")
        payloads = [_payload(row) for row in rows]
        if as_json:
            self.stdout.write(json.dumps({"snapshots": payloads}))
            return
        for payload in payloads:
            owner = payload["crew_id"] or payload["workspace_id"]
            score = "no data" if payload["score"] is None else payload["score"]
            self.stdout.write(f"{owner}: {score} ({payload['band']})")
            for cause in payload["causes"][:3]:
                self.stdout.write(f"  -{cause['points']} {cause['text']}")

    def _crews(self, workspace: Workspace, slug: str | None) -> list[str] | None:
        if slug is None:
            return None
        rows = Crew.objects.filter(workspace=workspace, slug=slug)
        return list(rows.values_list("id", flat=True))
