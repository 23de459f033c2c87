"""``manage.py scan``: the scanner's verdict on a text, or on many JSON lines."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from memory import scanner
from memory.rules.tiers import Tier
from memory.scanner import Verdict
from memory.workspace_settings import declarations

ORIGINS: Final = frozenset({"agent", *declarations.SOURCES})
TIERS: Final = frozenset(tier.value for tier in Tier)
WRITERS: Final = frozenset({"agent", "operator", "user"})
FINDING_FIELDS: Final = ("rule", "family", "severity", "start", "end")


def answer(verdict: Verdict) -> dict[str, Any]:
    return {
        "verdict": verdict.verdict,
        "score": verdict.score,
        "findings": [
            {name: getattr(finding, name) for name in FINDING_FIELDS}
            for finding in verdict.findings
        ],
    }


def _choice(row: Mapping[str, Any], name: str, known: Collection[str]) -> str | None:
    """Return an optional field; CommandError for a value that is not known."""
    value = row.get(name)
    if value is not None and value not in known:
        choices = ", ".join(sorted(known))
        raise CommandError(f"{name} is not one of {choices}.")
    return value


def _judge(row: Mapping[str, Any], text: str) -> Verdict:
    """Scan as a write by somebody into a tier; by itself by an agent into its own."""
    origin = _choice(row, "origin", ORIGINS)
    tier = _choice(row, "tier", TIERS) or Tier.AGENT.value
    if _choice(row, "writer", WRITERS) == "operator":
        origin = "operator"
    return scanner.scan(text, source=origin, tier=tier)


def judge_lines(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Scan ``{"id", "text", "origin"?, "tier"?, "writer"?}`` lines.

    CommandError for any other line.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            name, text = row["id"], row["text"]
        except (ValueError, KeyError, TypeError):
            raise CommandError(f'Line {number} is not {{"id", "text"}}.') from None
        if not isinstance(text, str):
            raise CommandError(f"Line {number}: text is not a string.")
        try:
            verdict = _judge(row, text)
        except CommandError as error:
            raise CommandError(f"Line {number}: {error}") from None
        yield {"id": name, **answer(verdict)}


class Command(BaseCommand):
    """Print verdicts; no database is used and nothing is stored."""

    help = "Scan a text (FILE or standard input), or JSON lines with --jsonl."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", default="-", metavar="FILE|-")
        parser.add_argument("--jsonl", action="store_true", dest="is_jsonl")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(
        self, *, file: str, is_jsonl: bool, as_json: bool, **_options: Any
    ) -> None:
        if is_jsonl:
            for document in judge_lines(_lines(file)):
                self.stdout.write(json.dumps(document))
            return
        verdict = scanner.scan("".join(_lines(file)))
        if as_json:
            self.stdout.write(json.dumps(answer(verdict)))
            return
        self.stdout.write(f"{verdict.verdict}, score {verdict.score:.2f}")
        for finding in verdict.findings:
            place = f"{finding.start}–{finding.end}"
            self.stdout.write(f"  {finding.rule} {place}: {finding.why}")


def _lines(file: str) -> Iterator[str]:
    """Return the lines of a file or of standard input, whatever bytes they hold."""
    if file == "-" and not hasattr(sys.stdin, "buffer"):
        yield from sys.stdin
        return
    try:
        with (
            nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb")
        ) as lines:
            for line in lines:
                yield line.decode("utf-8", "replace")
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}") from None
