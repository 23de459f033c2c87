"""``manage.py gdpr_audit_verify``: check a sealed file of the audit log."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from gdpr.certificates import keys as signing_keys
from gdpr.management.commands.gdpr_verify import trusted
from gdpr.reports import seal


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file; one that is too long comes in parts, and fails."""
    while line := file.readline(seal.MAX_LINE + 2):
        yield line


def _verdict(name: str, keys: dict[str, str]) -> seal.Verdict:
    try:
        if name == "-":
            return seal.verify(_lines(sys.stdin.buffer), keys)
        with Path(name).open("rb") as file:
            return seal.verify(_lines(file), keys)
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}.") from None


class Command(BaseCommand):
    """Check a file of the audit log; exit 1 when anything speaks against it."""

    help = "Check a sealed file of the audit log. Exit 1 when it is not as it was made."
    # With --public-key it runs from a bare checkout, without a database.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="an exported file, - for standard input")
        parser.add_argument(
            "--public-key", action="append", default=[], metavar="KEY|FILE",
            help="trust this key, and ask no database",
        )  # fmt: skip
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(
        self, *, file: str, public_key: list[str], as_json: bool, **_: Any
    ) -> None:
        try:
            keys = trusted(public_key) if public_key else signing_keys.trusted()
        except (OSError, ValueError) as error:
            raise CommandError(f"--public-key: {type(error).__name__}.") from None
        except DatabaseError:
            raise CommandError("There is no database; give a --public-key.") from None
        verdict = _verdict(file, keys)
        if as_json:
            self.stdout.write(json.dumps(self._report(verdict)))
        else:
            self._print(verdict)
        if not verdict.valid:
            raise CommandError("Something speaks against this file.")

    def _report(self, verdict: seal.Verdict) -> dict[str, Any]:
        return {
            "valid": verdict.valid,
            "lines": verdict.lines,
            "key_id": verdict.key_id,
            "reasons": [code for code, _ in verdict.reasons],
            "explanations": verdict.sentences,
            "manifest": verdict.manifest,
        }

    def _print(self, verdict: seal.Verdict) -> None:
        for sentence in verdict.sentences:
            self.stdout.write(f"  ✗ {sentence}")
        content = verdict.manifest or {}
        if verdict.valid:
            self.stdout.write(
                f"  ✓ {verdict.lines} lines, from {content.get('since')} to"
                f" {content.get('until')}, signed with {verdict.key_id}."
            )
