"""Run the parity suite on a provider: ``manage.py provider_parity NAME [--json]``."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory.providers import parity_harness, parity_runs
from memory.providers.parity import suite as parity
from memory.providers.parity.suite import Outcome, Report

SIGNS = {parity.PASSED: "ok", parity.FAILED: "FAILED", parity.NOT_APPLICABLE: "n/a"}


class Command(BaseCommand):
    """Run the parity suite on one of our providers."""

    help = "Run the parity suite on a provider, in a workspace that is removed after."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", choices=parity_runs.TESTED_PROVIDERS)
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002
        print_line = None if options["json"] else self._line
        with parity_harness.open_harness(options["name"]) as harness:
            report = parity.run(harness, print_line)
        if options["json"]:
            self.stdout.write(json.dumps(_document(report), ensure_ascii=False))
        else:
            self.stdout.write(_total(report))
        if not report.is_green:
            raise CommandError(f"{report.provider} does not follow the contract.")

    def _line(self, outcome: Outcome) -> None:
        note = f"  ({outcome.note})" if outcome.note else ""
        self.stdout.write(
            f"{outcome.id:4} {SIGNS[outcome.state]:7} {outcome.text}{note}"
        )


def _total(report: Report) -> str:
    counts = [report.count(state) for state in SIGNS]
    return (
        f"{report.provider}: {counts[0]} passed, {counts[1]} failed, "
        f"{counts[2]} not applicable, {report.seconds} s"
    )


def _document(report: Report) -> dict[str, Any]:
    return {
        "provider": report.provider,
        "ok": report.is_green,
        "passed": report.count(parity.PASSED),
        "failed": report.count(parity.FAILED),
        "not_applicable": report.count(parity.NOT_APPLICABLE),
        "seconds": report.seconds,
        "checks": [asdict(outcome) for outcome in report.outcomes],
    }
