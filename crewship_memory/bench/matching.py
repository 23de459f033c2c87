"""How many rows of known truth a plan takes as sure, proposes, or misses."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from crewship_memory.bench import name_rows
from gdpr.data_map import registry
from gdpr.matching.matcher import Name, Sign

ROWS: Final = 2_000
_LABELS: Final = {Sign.SURE: "sure", Sign.UNSURE: "proposed", Sign.NONE: "left"}


def counts(row_count: int) -> dict[str, dict[str, int]]:
    """Return, per kind of row, how many are sure, proposed or left.

    Rows that mean the person are counted as ``hers``, all others as ``others``. Each
    row is judged for each person.
    """
    names = [
        Name(str(n), "name", person.name) for n, person in enumerate(name_rows.PEOPLE)
    ]
    rows = name_rows.rows(row_count)
    result: dict[str, Counter[str]] = {}
    for number, name in enumerate(names):
        other_items = [other for other in names if other is not name]
        matcher = registry.matcher_of([name], other_items)
        for row in rows:
            owners = "hers" if row.meant == number else "others"
            label = f"{owners}_{_LABELS[matcher.sign(row.text)]}"
            result.setdefault(row.kind, Counter())[label] += 1
    return {kind: dict(sorted(count.items())) for kind, count in result.items()}


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def measure(row_count: int = ROWS) -> dict[str, Any]:
    """Return precision and recall of sure and of proposed rows, and the counts."""
    by_kind = counts(row_count)
    total: Counter[str] = Counter()
    for count in by_kind.values():
        total.update(count)
    her_rows = sum(n for label, n in total.items() if label.startswith("hers"))
    sure, proposed = total["hers_sure"], total["hers_proposed"]
    return {
        "rows": row_count,
        "people": len(name_rows.PEOPLE),
        "sure": {
            "precision": _share(sure, sure + total["others_sure"]),
            "recall": _share(sure, her_rows),
        },
        "proposed": {
            "precision": _share(proposed, proposed + total["others_proposed"]),
            "recall_with_sure": _share(sure + proposed, her_rows),
        },
        "by_kind": by_kind,
    }
