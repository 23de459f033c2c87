"""``manage.py journal_verify``: verify a workspace's hash chain."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandError
from django_rich.management import RichCommand
from rich.progress import track

from memory.api.journal_schemas import VerifyOut
from memory.journal import verify
from memory.journal.verify import Report
from memory.management import workspaces
from memory.models import JournalEntry
from memory.rules.permissions import system


class Command(RichCommand):
    """Verify a journal; exit 1 when anything in it was tampered with."""

    help = "Verify a workspace's hash chain from end to end. Exit 1 when it is broken."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--workspace", metavar="SLUG")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *, as_json: bool, **options: Any) -> None:
        workspace = workspaces.with_slug(options["workspace"])
        by = system(workspace.id, "journal_verify")
        show = (
            self._with_progress if self.console.is_terminal and not as_json else _plain
        )
        report = verify.verify(workspace.id, by=by, watch=show)
        if as_json:
            self.stdout.write(VerifyOut.from_orm(report).model_dump_json())
        else:
            self._print(report)
        if not report.ok:
            raise CommandError(f"The chain is broken in {report.break_count} places.")

    def _with_progress(
        self, rows: Iterable[JournalEntry], total: int
    ) -> Iterable[JournalEntry]:
        return track(
            rows, "verifying", total=total, console=self.console, transient=True
        )

    def _print(self, report: Report) -> None:
        for item in report.breaks:
            self.stdout.write(
                f"{item.kind} at {item.seq} {item.entry_id}: {item.reason}"
            )
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
