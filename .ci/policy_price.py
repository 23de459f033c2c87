"""Measure how many texts the scanner's policy holds: in the demo, and in a file.

    .venv/bin/python .ci/policy_price.py [JOURNAL.jsonl]

A line of the file has ``ts``, ``summary`` and perhaps ``payload``. The figures stand in
memory/scanner/policy_kinds.py.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from crewship_memory.demo import story  # noqa: E402
from memory.rules import entries  # noqa: E402
from memory.scanner import policy_kinds  # noqa: E402
from memory.scanner.policy_kinds import Price  # noqa: E402

NOW = datetime(2026, 11, 21, 23, 18, tzinfo=UTC)


def entry_text(summary: str, payload: dict[str, Any]) -> str:
    """Return an entry as an agent would note it: its summary and its texts."""
    return "\n".join([summary, *entries.leaves(payload)])


def demo_texts() -> Iterator[str]:
    """Yield what the demo's agents write, without what it holds for show."""
    for row in story.entries(NOW):
        yield entry_text(row.new.summary, row.new.payload)
    for file in story.document("held.toml", NOW.date())["file"]:
        yield file["text"]
    for record in story.document("records.toml", NOW.date())["record"]:
        yield record["text"]


def demo() -> Price:
    return policy_kinds.price(demo_texts(), -story.FIRST_DAY)


def journal(path: Path) -> Price:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    days = sorted(datetime.fromisoformat(row["ts"]).date() for row in rows)
    texts = (entry_text(row["summary"], row.get("payload") or {}) for row in rows)
    return policy_kinds.price(texts, (days[-1] - days[0]).days + 1)


def main() -> None:
    prices = {"demo": demo()} | {
        Path(name).name: journal(Path(name)) for name in sys.argv[1:]
    }
    for name, price in prices.items():
        kinds = {kind.value: count for kind, count in price.by_kind.items() if count}
        sys.stdout.write(
            f"{name}: {price.held} of {price.texts} texts in {price.days} days, "
            f"{price.per_thousand:.2f} of 1,000, {price.per_day:.3f} a day, {kinds}\n"
        )


if __name__ == "__main__":
    main()
