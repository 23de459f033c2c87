"""``manage.py episodic_index``: embed what waits, now."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Final

from django.core.management.base import CommandError
from django_rich.management import RichCommand
from rich.progress import Progress

from episodic.index import status as index_status
from episodic.index import sweep as index
from episodic.index.sweep import Report, Watch
from memory.management import workspaces
from memory.models import Workspace
from memory.rules.permissions import Actor, system

SLICE: Final = 512


def _actor(workspace: Workspace) -> Actor:
    return system(workspace.id, "episodic_index")


def _pending(workspace: Workspace) -> int:
    return index_status.status(workspace.id, by=_actor(workspace)).pending


def index_all(limit: int | None, watch: Watch) -> Report:
    """Sweep until nothing waits that can be embedded now."""
    report = Report()
    while limit is None or report.indexed < limit:
        limit_left = SLICE if limit is None else min(SLICE, limit - report.indexed)
        batch = index.sweep(limit=limit_left, watch=watch)
        report.add(batch)
        if not batch.indexed:
            break
    return report


def of_workspace(workspace: Workspace, limit: int | None, watch: Watch) -> Report:
    """Embed what waits in one workspace, also what was set back for later."""
    report = Report()
    while _pending(workspace) and (limit is None or report.indexed < limit):
        batch_limit = SLICE if limit is None else min(SLICE, limit - report.indexed)
        batch = index_status.run(workspace.id, by=_actor(workspace), limit=batch_limit)
        report.add(batch)
        watch(batch.indexed)
        if not batch.indexed:
            break
    return report


class Command(RichCommand):
    """Run the scheduled indexing now."""

    help = "Embed every entry that waits. Exit 1 when some could not be embedded."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--workspace", metavar="SLUG", help="default: all of them")
        parser.add_argument("--limit", type=int, metavar="N", help="embed N at most")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *, limit: int | None, as_json: bool, **options: Any) -> None:
        """Embed, show progress on a terminal, sum up."""
        selected = workspaces.with_slug_or_all(options["workspace"])
        total = sum(_pending(workspace) for workspace in selected)
        show = self.console.is_terminal and not as_json
        with self._bar(min(total, limit or total), show=show) as watch:
            if options["workspace"]:
                report = of_workspace(selected[0], limit, watch)
            else:
                report = index_all(limit, watch)
        pending = sum(_pending(workspace) for workspace in selected)
        if as_json:
            self.stdout.write(json.dumps({**asdict(report), "pending": pending}))
        else:
            self.stdout.write(f"{report.indexed} embedded, {pending} left")
        if report.failed:
            raise CommandError(f"{report.failed} entries could not be embedded.")

    @contextmanager
    def _bar(self, total: int, *, show: bool) -> Iterator[Callable[[int], None]]:
        if not show:
            yield lambda _count: None
            return
        with Progress(console=self.console, transient=True) as progress:
            bar = progress.add_task("embedding", total=total)
            yield lambda count: progress.advance(bar, count)
