"""``manage.py consolidate``: draw rules from what happened, now."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from episodic.consolidation import run as consolidation
from episodic.consolidation.run import Done
from memory.models import Crew, Workspace
from memory.rules.permissions import system


def _told(done: Done) -> str:
    if done.error:
        return f"{done.crew}: {done.error}"
    if done.skipped:
        return f"{done.crew}: waits, {done.skipped}; {done.pins} pins written"
    return (
        f"{done.crew}: {done.considered} entries considered, {len(done.proposed)}"
        f" rules proposed, {done.known} known, {done.held} held by the scanner,"
        f" {done.refused} refused, {done.pins} pins written"
    )


class Command(BaseCommand):
    """The clock's job by hand; rules wait for a person all the same."""

    help = "Propose rules from each crew's new entries. Exit 1 when a crew failed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare for whom."""
        parser.add_argument("--workspace", metavar="SLUG", help="default: all of them")
        parser.add_argument("--crew", metavar="SLUG", help="default: all of them")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *, as_json: bool, **options: Any) -> None:
        """Run, sum up per workspace and crew."""
        report = {
            shop.slug: self._of(shop, options["crew"])
            for shop in self._workspaces(options["workspace"])
        }
        found = [done for crews in report.values() for done in crews]
        if options["crew"] and not found:
            raise CommandError(f"There is no crew {options['crew']!r}.")
        if as_json:
            told = {k: [asdict(done) for done in v] for k, v in report.items()}
            self.stdout.write(json.dumps({"workspaces": told}))
        else:
            for slug, crews in report.items():
                for done in crews:
                    self.stdout.write(f"{slug}/{_told(done)}")
        failed = [done.crew for done in found if done.error]
        if failed:
            raise CommandError(f"Not consolidated: {', '.join(failed)}.")

    def _workspaces(self, slug: str | None) -> list[Workspace]:
        if slug is None:
            return list(Workspace.objects.all())
        found = list(Workspace.objects.filter(slug=slug))
        if not found:
            raise CommandError(f"There is no workspace {slug!r}.")
        return found

    def _of(self, shop: Workspace, crew_slug: str | None) -> list[Done]:
        by = system(shop.id, "consolidate")
        if crew_slug is None:
            return consolidation.of_workspace(by=by)
        crew = Crew.objects.filter(workspace=shop, slug=crew_slug).first()
        return consolidation.of_workspace(by=by, crew_id=crew.id) if crew else []
