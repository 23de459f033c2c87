"""``manage.py consolidate``: propose rules from what happened, now."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from episodic.consolidation import run as consolidation
from episodic.consolidation.run import CrewReport
from memory.management import workspaces
from memory.models import Crew, Workspace
from memory.rules.permissions import system


def _sentence(crew: CrewReport) -> str:
    if crew.error:
        return f"{crew.crew}: {crew.error}"
    if crew.skipped:
        return f"{crew.crew}: waits, {crew.skipped}; {crew.pins} pins written"
    return (
        f"{crew.crew}: {crew.considered} entries considered, {len(crew.proposed)}"
        f" rules proposed, {crew.known} known, {crew.held} held by the scanner,"
        f" {crew.refused} refused, {crew.pins} pins written"
    )


class Command(BaseCommand):
    """Run the scheduled consolidation now; rules still wait for approval."""

    help = "Propose rules from each crew's new entries. Exit 1 when a crew failed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--workspace", metavar="SLUG", help="default: all of them")
        parser.add_argument("--crew", metavar="SLUG", help="default: all of them")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *, as_json: bool, **options: Any) -> None:
        """Run, sum up per workspace and crew."""
        report = {
            workspace.slug: self._of(workspace, options["crew"])
            for workspace in workspaces.with_slug_or_all(options["workspace"])
        }
        rows = [row for crews in report.values() for row in crews]
        if options["crew"] and not rows:
            raise CommandError(f"There is no crew {options['crew']!r}.")
        if as_json:
            payload = {k: [asdict(row) for row in v] for k, v in report.items()}
            self.stdout.write(json.dumps({"workspaces": payload}))
        else:
            for slug, crews in report.items():
                for row in crews:
                    self.stdout.write(f"{slug}/{_sentence(row)}")
        failed = [row.crew for row in rows if row.error]
        if failed:
            raise CommandError(f"Not consolidated: {', '.join(failed)}.")

    def _of(self, workspace: Workspace, crew_slug: str | None) -> list[CrewReport]:
        by = system(workspace.id, "consolidate")
        if crew_slug is None:
            return consolidation.of_workspace(by=by)
        crew = Crew.objects.filter(workspace=workspace, slug=crew_slug).first()
        return consolidation.of_workspace(by=by, crew_id=crew.id) if crew else []
