"""``manage.py scan``: what the scanner says about a text, or about many lines of it."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory import scanner
from memory.scanner import Verdict


def answer(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as the command prints it."""
    return {
        "verdict": verdict.verdict,
        "score": verdict.score,
        "findings": [
            {
                "rule": found.rule,
                "family": found.family,
                "severity": found.severity,
                "start": found.start,
                "end": found.end,
            }
            for found in verdict.findings
        ],
    }


def judge_lines(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Judge ``{"id", "text"}`` lines; a line that is none ends with CommandError."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            told = json.loads(line)
            name, text = told["id"], told["text"]
        except (ValueError, KeyError, TypeError):
            raise CommandError(f'Line {number} is not {{"id", "text"}}.') from None
        if not isinstance(text, str):
            raise CommandError(f"Line {number}: text is not a string.")
        yield {"id": name, **answer(scanner.scan(text))}


class Command(BaseCommand):
    """Print verdicts; no database is asked and nothing is kept."""

    help = "Judge a text (FILE or standard input), or JSON lines with --jsonl."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what to read and how to print."""
        parser.add_argument("file", nargs="?", default="-", metavar="FILE|-")
        parser.add_argument("--jsonl", action="store_true", dest="is_jsonl")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(
        self, *, file: str, is_jsonl: bool, as_json: bool, **_options: Any
    ) -> None:
        """Read, judge, print."""
        if is_jsonl:
            for told in judge_lines(_lines(file)):
                self.stdout.write(json.dumps(told))
            return
        verdict = scanner.scan("".join(_lines(file)))
        if as_json:
            self.stdout.write(json.dumps(answer(verdict)))
            return
        self.stdout.write(f"{verdict.verdict}, score {verdict.score:.2f}")
        for found in verdict.findings:
            place = f"{found.start}–{found.end}"
            self.stdout.write(f"  {found.rule} {place}: {found.why}")


def _lines(file: str) -> Iterator[str]:
    """Return the lines of a file or of standard input, whatever bytes they hold."""
    if file == "-":
        stream = sys.stdin
        if hasattr(stream, "buffer"):
            for line in stream.buffer:
                yield line.decode("utf-8", "replace")
            return
        yield from stream
        return
    try:
        with Path(file).open("rb") as opened:
            for line in opened:
                yield line.decode("utf-8", "replace")
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}") from None
