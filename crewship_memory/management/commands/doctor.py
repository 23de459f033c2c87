"""``manage.py doctor``: check the installation and say what to do."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from crewship_memory import doctor
from crewship_memory.doctor import Finding, Level


class Command(BaseCommand):
    """Check the installation; change nothing."""

    help = "Examine configuration, database, embedder and chain. Exit 1 on a fault."
    # This command runs them itself and reports them like other findings.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *, as_json: bool, **_options: Any) -> None:
        """Print the findings; exit with 1 when there is a fault."""
        findings = doctor.run()
        faults = sum(finding.level is Level.FAIL for finding in findings)
        if as_json:
            report = {
                "ok": not faults,
                "checks": [asdict(finding) for finding in findings],
            }
            self.stdout.write(json.dumps(report))
        else:
            for finding in findings:
                self._print(finding)
        if faults:
            raise CommandError(f"{faults} faults.")

    def _print(self, finding: Finding) -> None:
        style = {
            Level.OK: self.style.SUCCESS,
            Level.WARN: self.style.WARNING,
            Level.FAIL: self.style.ERROR,
        }[finding.level]
        mark = style(f"{finding.level.value:4}")
        self.stdout.write(f"{mark}  {finding.check:13} {finding.message}")
        if finding.hint:
            self.stdout.write(f"{'':20}→ {finding.hint}")
