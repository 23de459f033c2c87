"""What the scanner holds of labelled texts, how fast, beside a list of phrases."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from memory import scanner
from memory.review.measured import Share
from memory.rules.tiers import Tier

LABELS: Final = ("attack", "benign")
# The best-known wordings, searched for as they stand: what is easily done by hand.
PHRASES: Final = (
    "disregard previous", "do anything now", "do not tell the user", "developer mode",
    "forget your instructions", "forget all previous", "from now on you are",
    "ignore all previous", "ignore previous instructions", "ignore the above",
    "ignore your instructions", "jailbreak", "new instructions:", "override your",
    "reveal your system prompt", "repeat the words above", "system prompt",
    "you are now", "your instructions are", "without restrictions",
)  # fmt: skip


class RowError(ValueError):
    """A line that is no labelled text."""


class Row(NamedTuple):
    """A labelled text."""

    name: str
    text: str
    is_attack: bool
    source: str
    family: str


class Result(NamedTuple):
    """What became of a row, and the processor time that its scan took."""

    row: Row
    is_held: bool
    has_phrase: bool
    seconds: float


def read(paths: Iterable[Path]) -> Iterator[Row]:
    """The rows of JSON lines with ``id``, ``text``, ``label``; RowError for others.

    ``source``, and ``family`` or ``tier``, may be left out.
    """
    for path in paths:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield _row(line, path, number)


def _row(line: str, path: Path, number: int) -> Row:
    fields = ("id", "text", "label")
    try:
        row = json.loads(line)
        name, text, label = (row[field] for field in fields)
        family = row.get("family") or row.get("tier") or "all"
        source = row.get("source") or path.stem
    except (ValueError, KeyError, TypeError, AttributeError):
        message = f'{path}, line {number} is not {{"id", "text", "label"}}.'
        raise RowError(message) from None
    if not isinstance(text, str) or label not in LABELS:
        message = f"{path}, line {number}: text is no string, or label is none of"
        raise RowError(f"{message} {', '.join(LABELS)}.")
    return Row(str(name), text, label == "attack", str(source), str(family))


def _judge(row: Row) -> Result:
    """Scan as a write by an agent into its own tier, as ``scan --jsonl`` does."""
    start = time.process_time()
    is_held = scanner.scan(row.text, tier=Tier.AGENT.value).is_held
    seconds = time.process_time() - start
    folded = row.text.casefold()
    return Result(row, is_held, any(phrase in folded for phrase in PHRASES), seconds)


def _share(count: int, texts: int) -> dict[str, Any]:
    share = Share(count, texts)
    interval = [round(value, 2) for value in share.interval]
    percent = round(share.percent, 2)
    return {"held": count, "texts": texts, "percent": percent, "interval": interval}


def _shares(results: Sequence[Result]) -> dict[str, Any]:
    """Held attacks and held honest texts, of each that there are."""
    shares: dict[str, Any] = {}
    for name, is_attack in (("attacks", True), ("honest", False)):
        rows = [result for result in results if result.row.is_attack == is_attack]
        if rows:
            shares[name] = _share(sum(row.is_held for row in rows), len(rows))
            shares[name]["phrases"] = _share(
                sum(row.has_phrase for row in rows), len(rows)
            )
    return shares


def _grouped(
    results: Iterable[Result], key: Callable[[Row], str]
) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        groups[key(result.row)].append(result)
    return {name: _shares(group) for name, group in sorted(groups.items())}


def _speed(results: Sequence[Result]) -> dict[str, Any]:
    """Processor time, so that what else runs on the machine counts little."""
    times = sorted(result.seconds for result in results)
    size = sum(len(result.row.text.encode(errors="replace")) for result in results)
    worst = max(results, key=lambda result: result.seconds)
    return {
        "megabytes_per_second": round(size / 1e6 / max(sum(times), 1e-9), 2),
        "p50_ms": round(1000 * times[len(times) // 2], 3),
        "p95_ms": round(1000 * times[len(times) * 95 // 100], 3),
        "worst": {
            "id": worst.row.name,
            "source": worst.row.source,
            "ms": round(1000 * worst.seconds, 1),
            "characters": len(worst.row.text),
        },
    }


def measure(rows: Sequence[Row]) -> dict[str, Any]:
    """Scan every row. ``phrases`` is what a plain search for PHRASES would hold."""
    # The tables of the scanner are made at its first texts.
    for row in rows[:1]:
        _judge(row)
    results = [_judge(row) for row in rows]
    return {
        "rules": scanner.VERSION,
        "total": _shares(results),
        "by_source": _grouped(results, lambda row: row.source),
        "by_family": _grouped(results, lambda row: row.family),
        "speed": _speed(results),
        "peer": f"phrases: {len(PHRASES)} well-known wordings, searched for as such",
    }
