"""``manage.py scan``: the scanner's verdict on a text, or on many JSON lines."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from memory import scanner
from memory.records import Provenance
from memory.rules.tiers import Tier
from memory.scanner import Verdict
from memory.scanner.provenance import Origin, Writer

# Faults that are named one by one.
MOST_FAULTS: Final = 20
# What may be said of a text beside its words, with the values that are known.
CHOICES: Final[Mapping[str, Sequence[str]]] = {
    # Exported labels name the provenance of a record as its origin.
    "origin": [*(name for name in Origin if name != Origin.PROMPT), *Provenance],
    "tier": [*(tier.value for tier in Tier), "records"],
    # An agent that writes is meant to write its own.
    "writer": ["agent", *Writer],
}
FINDING_FIELDS: Final = ("rule", "family", "severity", "start", "end")


def answer(verdict: Verdict, *, has_context: bool = True) -> dict[str, Any]:
    """Return a verdict as a program reads it, with what the text was judged as."""
    document = {
        "verdict": verdict.verdict,
        "score": verdict.score,
        "findings": [
            {name: getattr(finding, name) for name in FINDING_FIELDS}
            for finding in verdict.findings
        ],
    }
    if has_context:
        document["context"] = verdict.context.as_map()
    return document


def _choice(fields: Mapping[str, Any], name: str) -> str | None:
    """Return an optional field; CommandError for a value that is not known."""
    value = fields.get(name)
    if value is not None and (not isinstance(value, str) or value not in CHOICES[name]):
        raise CommandError(f"{name} is not one of {', '.join(CHOICES[name])}.")
    return value


def judge(fields: Mapping[str, Any], text: str) -> Verdict:
    """Scan as a write by somebody into a tier; by itself by an agent into its own.

    A writer who is an operator makes the text an operator's, unless an origin is named.
    """
    origin, writer = _choice(fields, "origin"), _choice(fields, "writer")
    tier = _choice(fields, "tier") or Tier.AGENT.value
    if writer == Writer.OPERATOR:
        origin = origin or Origin.OPERATOR
    return scanner.scan(
        text,
        source=origin,
        tier=tier,
        writer=Writer.OWN if writer == "agent" else writer,
    )


def judge_line(line: str) -> dict[str, Any]:
    """Scan ``{"id", "text", "origin"?, "tier"?, "writer"?}``, or raise CommandError.

    The context is answered where the line names one.
    """
    try:
        row = json.loads(line)
        name, text = row["id"], row["text"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise CommandError('is not {"id", "text"}.') from None
    if not isinstance(text, str):
        raise CommandError("text is not a string.")
    has_context = any(row.get(field) is not None for field in CHOICES)
    return {"id": name, **answer(judge(row, text), has_context=has_context)}


def judge_lines(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Scan every line; CommandError at the end names those that could not be."""
    faults = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield judge_line(line)
        except CommandError as error:
            faults.append(f"Line {number}: {error}")
    if faults:
        listing = "\n".join(faults[:MOST_FAULTS])
        count = len(faults)
        raise CommandError(f"{listing}\n{count} not scanned, every other line is.")


class Command(BaseCommand):
    """Print verdicts; no database is used and nothing is stored."""

    help = "Scan a text (FILE or standard input), or JSON lines with --jsonl."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", default="-", metavar="FILE|-")
        parser.add_argument("--jsonl", action="store_true", dest="is_jsonl")
        parser.add_argument("--json", action="store_true", dest="as_json")
        for name, values in CHOICES.items():
            parser.add_argument(
                f"--{name}", help=f"of one text: {', '.join(values)}", metavar="NAME"
            )

    def handle(
        self, *, file: str, is_jsonl: bool, as_json: bool, **options: Any
    ) -> None:
        if is_jsonl:
            for document in judge_lines(_lines(file)):
                self.stdout.write(json.dumps(document))
            return
        verdict = judge(options, "".join(_lines(file)))
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
