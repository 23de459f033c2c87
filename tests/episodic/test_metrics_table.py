"""One table declares the metrics of health; everything else is derived from it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from episodic.health import causes, fixes, trends
from episodic.health import snapshots as health
from episodic.health.metrics import table as metrics
from episodic.health.metrics.base import (
    Action,
    Details,
    Explanation,
    Finding,
    Measurement,
    Metric,
    Scope,
)
from memory.models import JournalEntry
from tests.world import World

ROOT = Path(__file__).parents[2]
# Where a metric may be named: in its module and the table, and as a stored column.
NAMING = ("episodic/health/metrics/", "episodic/models/health.py", "/migrations/")
# A benchmark of the same name measures how soon an entry can be recalled.
OTHER_MEANINGS = ("crewship_memory/management/commands/bench.py",)


def _measure(scope: Scope) -> Measurement:
    rows = JournalEntry.objects.filter(workspace_id=scope.workspace_id, embeddable=True)
    return Measurement(40.0, {"entries": rows.count()})


def _explain(case: Explanation, details: Details) -> list[Finding]:
    action = Action("open", "Show entries", case.journal_url())
    return [Finding(1.0, f"Only {details['entries']} entries", "", action)]


VARIETY = Metric(
    name="variety",
    title="Variety",
    explanation="How many things memory is about.",
    weight=0.25,
    inputs="{entries} entries",
    measure=_measure,
    explain=_explain,
    fixes=("recompute",),
)


@pytest.fixture
def six(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add a sixth metric to the table."""
    monkeypatch.setattr(metrics, "METRICS", (*metrics.METRICS, VARIETY))


@pytest.mark.usefixtures("six")
def test_a_sixth_metric_counts_is_stored_and_explained(world: World) -> None:
    for number in range(6):
        world.indexed(f"Refund {number}")
    (first, *_) = health.take(world.acme.id)
    row = health.latest(world.actor("viewer"))
    assert row.pk == first.pk
    assert metrics.value(row, "variety") == 40.0
    five = {n: v for n, v in metrics.values(row).items() if n != "variety"}
    assert row.score is not None
    assert row.score < (metrics.score(five) or 0)
    (cause,) = [c for c in causes.of(row) if c.metric == "variety"]
    assert cause.title == "Only 6 entries"
    assert cause.points == pytest.approx(60 * 0.25 / 1.25, abs=0.1)
    result = fixes.fix("recompute", world.actor("operator"))
    assert "Variety 40.0 → 40.0, score" in result.text


@pytest.mark.usefixtures("six")
def test_a_sixth_metric_is_on_the_page_and_in_the_history(world: World) -> None:
    world.indexed("Refund")
    health.take(world.acme.id)
    page = world.page("viewer").get("/health/", {"metric": "variety"})
    text = page.content.decode()
    assert "Variety</h2>" in text
    assert "1 entries" in text
    assert VARIETY.explanation in text
    assert "Variety, 30 days" in text
    rows = health.by_scope(world.actor("viewer"))[""]
    assert [metrics.value(row, "variety") for row in rows] == [40.0]
    assert trends.failing_days(rows) == []


@pytest.mark.parametrize("metric", metrics.METRICS, ids=metrics.names())
def test_a_declaration_is_complete(metric: Metric) -> None:
    assert metrics.has_column(metric.name)
    assert (metric.measure is None) != (metric.measure_indexed is None)
    assert metric.explanation.endswith(".")
    assert set(metric.fixes) <= set(fixes.FIXES)


def test_the_weights_of_the_table_are_the_whole_score() -> None:
    assert sum(metric.weight for metric in metrics.METRICS) == pytest.approx(1)


def test_no_other_module_names_a_metric() -> None:
    word = re.compile(rf"[\"'.](?:{'|'.join(metrics.names())})[\"':]")
    packages = ("memory", "episodic", "gdpr", "crewship_memory", "templates")
    files = [
        path
        for package in packages
        for suffix in ("py", "html")
        for path in (ROOT / package).rglob(f"*.{suffix}")
        if not any(part in path.as_posix() for part in (*NAMING, *OTHER_MEANINGS))
    ]
    assert len(files) > 300
    naming = [
        path.relative_to(ROOT).as_posix()
        for path in files
        if word.search(path.read_text("utf-8"))
    ]
    assert naming == []
