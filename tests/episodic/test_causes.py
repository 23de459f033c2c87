"""Causes name what costs points; fixes do what they say and tell what changed."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from episodic.embedders.none import NoEmbedder
from episodic.health import causes, fixes, trends
from episodic.health import snapshots as health
from episodic.health.metrics import table as metrics
from episodic.index import engine
from episodic.index import sweep as index
from episodic.models import Embedding, HealthSnapshot, MemoryRelation
from memory.models import JournalEntry
from memory.rules import errors
from tests import factories
from tests.episodic import doubles
from tests.world import World


def measured(world: World, crew: str = "") -> HealthSnapshot:
    """Measure acme and return the snapshot of a crew, or of the whole."""
    crew_id = world.crews[crew].id if crew else ""
    return next(
        snapshot
        for snapshot in health.take(world.acme.id)
        if snapshot.crew_id == crew_id
    )


def of(snapshot: HealthSnapshot, metric: str) -> list[causes.Cause]:
    return [cause for cause in causes.of(snapshot) if cause.metric == metric]


def fill(world: World, count: int = 6) -> None:
    """Append and embed entries that are all alike."""
    for n in range(count):
        world.entry("Parcel lost by the courier", ts=factories.ago(n))
    index.sweep()


def test_what_the_embedder_refused_is_named_with_the_reason(world: World) -> None:
    fill(world)
    engine.use(doubles.Down())
    for _ in range(2):
        world.entry("refused")
    index.sweep()
    (cause,) = of(measured(world), "coverage")
    assert cause.title == (
        "2 peer.escalation are not indexed because the embedder failed (unreachable)"
    )
    assert cause.action.kind == "index"
    assert cause.action.method == "POST"
    # Coverage is 75: a quarter of its weight of 0.25, in points.
    assert cause.points == pytest.approx(25 * 0.25, abs=0.1)


def test_what_waits_is_no_failure(world: World) -> None:
    world.entry("unread")
    index.discover(world.acme.id)
    world.entry("not even read")
    titles = {cause.title for cause in of(measured(world), "coverage")}
    waits = "waits for the sweep"
    assert titles == {f"1 peer.escalation {waits}", f"1 entry {waits}"}


def test_without_an_embedder_nothing_offers_to_index(world: World) -> None:
    world.entry("waits")
    engine.use(NoEmbedder())
    (cause,) = of(measured(world), "coverage")
    assert (cause.title, cause.action.method) == ("No embedder is configured", "GET")


def test_an_agent_that_fell_silent_is_named(world: World) -> None:
    world.indexed("Old refund", ts=factories.ago(12))
    world.indexed("New invoice", by="bob")
    first = of(measured(world), "freshness")[0]
    assert first.title == "ada’s newest indexed entry is 12 days old"
    assert world.agents["ada"].id in first.action.url


def test_the_points_of_causes_are_what_the_metric_costs(world: World) -> None:
    for n, person in enumerate(("ada", "lena", "bob")):
        world.entry(f"Topic {n}", by=person, ts=factories.ago(10 * n + 5))
    index.sweep()
    snapshot = measured(world)
    points = sum(cause.points for cause in of(snapshot, "freshness"))
    assert points == pytest.approx(metrics.points_lost(snapshot)["freshness"], abs=0.2)


def test_there_are_three_a_metric_at_most_costliest_first(world: World) -> None:
    fill(world)
    found_causes = causes.of(measured(world))
    points = [cause.points for cause in found_causes]
    assert points == sorted(points, reverse=True)
    for metric in {cause.metric for cause in found_causes}:
        assert sum(cause.metric == metric for cause in found_causes) <= 3


def test_words_of_what_stands_apart_are_read_anew(world: World) -> None:
    fill(world, 8)
    lonely = [
        world.indexed(f"card {text}", entry_type="summary.generated")
        for text in (
            "amber bridge canoe delta ember falcon glacier",
            "harbour iris jungle kettle lantern meadow nectar",
            "opal prairie quartz river saddle timber umbrella",
        )
    ]
    snapshot = measured(world)
    titles = " ".join(cause.title for cause in of(snapshot, "coherence"))
    assert "“card”" in titles
    JournalEntry.objects.filter(pk__in=[cause.pk for cause in lonely]).update(
        erased_at=timezone.now()
    )
    assert "“" not in " ".join(cause.title for cause in of(snapshot, "coherence"))


def test_lists_of_many_scopes_ask_nothing(
    world: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    fill(world)
    snapshot = measured(world)
    with django_assert_num_queries(0):
        assert causes.of(snapshot, {})


def test_no_data_has_no_causes(world: World) -> None:
    assert causes.of(measured(world)) == []


# ── Fixes ────────────────────────────────────────────────────────────────────
def test_linking_reaches_what_was_indexed_in_the_wrong_order(world: World) -> None:
    fill(world)
    MemoryRelation.objects.all().delete()
    snapshot = measured(world)
    assert snapshot.reachability == 0
    link = of(snapshot, "reachability")[0]
    assert link.action.kind == "link"
    assert "can be linked now" in link.text
    result = fixes.fix("link", world.actor("operator"))
    assert "Reachability 0.0 → 100.0" in result.text
    assert result.text.startswith("12 relations written")


def test_indexing_says_what_it_changed_in_the_crew_and_the_whole(world: World) -> None:
    fill(world)
    world.entry("waits")
    world.entry("elsewhere", by="bob")
    index.discover(world.acme.id)
    support = world.crews["support"].id
    health.take(world.acme.id)
    result = fixes.fix("index", world.actor("operator"), support)
    assert result.text.startswith("1 indexed. Coverage 85.7 → 100.0, score ")
    assert result.complete
    assert Embedding.objects.exclude(state="indexed").count() == 1
    assert health.latest(world.actor("viewer")).coverage == 87.5


def test_a_search_for_rules_promises_no_gain(world: World) -> None:
    for text in ("amber bridge canoe delta", "harbour iris jungle kettle"):
        world.indexed(text)
    (cause,) = of(measured(world), "reachability")
    assert (cause.action.kind, cause.repair) == ("open", "rules")
    result = fixes.fix("consolidate", world.actor("operator"))
    assert result.text.startswith("No new rule in 0 entries read. Reachability 0.0")


def test_a_fix_that_fails_says_so(world: World) -> None:
    world.entry("waits")
    engine.use(doubles.Down())
    result = fixes.fix("index", world.actor("operator"))
    assert not result.complete
    assert "1 failed" in result.text


def test_measuring_for_the_first_time_compares_with_no_data(world: World) -> None:
    fill(world)
    result = fixes.fix("recompute", world.actor("operator"))
    assert result.text.startswith("Measured again. Score no data → ")


def test_fixes_are_for_operators_and_known(world: World) -> None:
    for person in ("viewer", "compliance", "ada"):
        with pytest.raises(errors.Forbidden):
            fixes.fix("recompute", world.actor(person))
    with pytest.raises(errors.NotFound):
        fixes.fix("magic", world.actor("operator"))


# ── Trends ───────────────────────────────────────────────────────────────────
def line(world: World, *scores: float) -> list[HealthSnapshot]:
    """Return unsaved snapshots, one a day."""
    return [
        HealthSnapshot(date=date(2026, 11, 1) + timedelta(days=n), score=score)
        for n, score in enumerate(scores)
    ]


def test_a_forecast_is_worded_with_its_uncertainty(world: World) -> None:
    (forecast,) = trends.forecasts(line(world, 84, 81.5, 82.5, 80, 81, 78.5))
    assert (forecast.metric, forecast.band) == ("score", "yellow")
    assert "The score falls below 75 in about 4 days (between" in forecast.text
    assert "if the last 6 snapshots go on as they did" in forecast.text


def test_a_rise_is_forecast_too_and_a_flat_line_is_not(world: World) -> None:
    (forecast,) = trends.forecasts(line(world, 60, 62, 64, 66, 68))
    assert (forecast.band, "reaches 75" in forecast.text) == ("green", True)
    assert trends.forecasts(line(world, *[60.0] * 9)) == []


def test_days_of_refusals_come_from_the_snapshots(world: World) -> None:
    rows = line(world, 1, 2)
    groups = [{"reason": "unreachable", "count": 1}]
    rows[1].details = {"coverage": {"missing": groups}}
    assert trends.failing_days(rows) == [rows[1].date]


def test_events_come_from_the_journal_by_day(world: World) -> None:
    fill(world)
    fixes.fix("index", world.actor("operator"))
    fixes.fix("index", world.actor("operator"))
    (event,) = trends.events(world.actor("viewer"), 30, "")
    assert (event.kind, event.count, event.text) == ("Index run by hand", 2, "2 times")
    assert trends.events(world.actor("stranger"), 30, "") == []
