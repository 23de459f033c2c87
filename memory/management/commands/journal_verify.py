"""``manage.py journal_verify``: walk a workspace's hash chain."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError
from django_rich.management import RichCommand
from rich.progress import track

from memory.journal import append as journal
from memory.journal import verify
from memory.journal.verify import Report
from memory.models import JournalEntry, Workspace
from memory.rules.permissions import system


def _answer(report: Report) -> dict[str, Any]:
    """Return a report the way GET /journal/verify tells it."""
    return {
        "ok": report.ok,
        "count": report.count,
        "checked_at": journal.stamp(report.checked_at),
        "breaks": [asdict(one) for one in report.breaks],
        "break_count": report.break_count,
        "erased": report.erased,
        "checkpoints": report.checkpoints,
        "unproved": report.unproved,
    }


class Command(RichCommand):
    """Verify a journal; exit 1 when anything in it was tampered with."""

    help = "Walk a workspace's hash chain from end to end. Exit 1 when it is broken."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare whose chain."""
        parser.add_argument("--workspace", metavar="SLUG")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *, as_json: bool, **options: Any) -> None:
        """Walk and tell."""
        workspace = Workspace.objects.filter(slug=options["workspace"] or "").first()
        if workspace is None:
            raise CommandError(f"There is no workspace {options['workspace']!r}.")
        by = system(workspace.id, "journal_verify")
        show = self._watched if self.console.is_terminal and not as_json else _plain
        report = verify.verify(workspace.id, by=by, watch=show)
        if as_json:
            self.stdout.write(json.dumps(_answer(report)))
        else:
            self._tell(report)
        if not report.ok:
            raise CommandError(f"The chain is broken in {report.break_count} places.")

    def _watched(
        self, rows: Iterable[JournalEntry], total: int
    ) -> Iterable[JournalEntry]:
        return track(
            rows, "verifying", total=total, console=self.console, transient=True
        )

    def _tell(self, report: Report) -> None:
        for one in report.breaks:
            self.stdout.write(f"{one.kind} at {one.seq} {one.entry_id}: {one.reason}")
        verdict = "holds" if report.ok else "is broken"
        self.stdout.write(
            f"The chain {verdict}: {report.count} entries, {report.erased} erased."
        )
        if report.unproved:
            self.stdout.write(
                f"{report.unproved} entries were chained with a key that was lost: they"
                " are unchanged since then, and what they were before is unproved."
            )


def _plain(rows: Iterable[JournalEntry], _total: int) -> Iterable[JournalEntry]:
    return rows
