"""The health page and its panels on the first page."""

from __future__ import annotations

import html
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from crewship_memory.templatetags import charts
from episodic.consolidation import run as consolidation
from episodic.health import accepted, causes
from episodic.health import snapshots as health
from episodic.index import sweep as index
from episodic.models import AcceptedCause, HealthSnapshot, MemoryRelation
from episodic.summarisers.base import Rule
from memory.accounts import workspaces
from tests import factories
from tests.world import World


def _text(response: object) -> str:
    return html.unescape(response.content.decode())  # type: ignore[attr-defined]


def fill(world: World) -> None:
    """Give the workspace a memory and measure it with its past."""
    for n in range(8):
        world.entry(f"Refund {n} of an order", ts=factories.ago(n))
    index.sweep()
    health.begin()


def test_before_the_first_the_page_says_so_and_offers_to_measure(world: World) -> None:
    page = _text(world.page("operator").get("/health/"))
    assert "The health of this memory has not been measured yet</h1>" in page
    assert "Measure now" in page
    assert "Measure now" not in _text(world.page("viewer").get("/health/"))


def test_the_five_metrics_and_their_causes(world: World) -> None:
    fill(world)
    page = _text(world.page("operator").get("/health/"))
    for name in ("Freshness", "Coverage", "Coherence", "Efficiency", "Reachability"):
        assert f'<h2 class="name">{name}</h2>' in page
    assert "The workspace is " in page
    assert "median age 3.5 days" in page
    assert "8 of 8 embeddable" in page
    assert "computed afterwards" in page
    assert 'role="img"' in page
    assert " style=" not in page


def test_a_crew_has_its_own_page(world: World) -> None:
    fill(world)
    crew = world.crews["support"]
    page = _text(world.page("viewer").get("/health/", {"crew_id": crew.id}))
    assert "<h1>support is " in page
    foreign = world.crews["other/support"].id
    answer = world.page("viewer").get("/health/", {"crew_id": foreign})
    assert answer.status_code == 404


def test_a_crew_without_memory_is_no_data(world: World) -> None:
    fill(world)
    crew = world.crews["billing"].id
    page = _text(world.page("viewer").get("/health/", {"crew_id": crew}))
    assert "billing holds no memory that could be measured yet" in page
    assert "There is nothing to measure yet." in page
    assert "No data" in page


def test_odd_questions_get_the_usual_page(world: World) -> None:
    fill(world)
    query = {"days": "nine", "metric": "<b>"}
    page = _text(world.page("viewer").get("/health/", query))
    assert "Score, 30 days" in page
    query = {"days": "7", "metric": "coverage"}
    page = _text(world.page("viewer").get("/health/", query))
    assert "Coverage, 7 days" in page


def test_a_fix_says_what_it_changed(world: World) -> None:
    fill(world)
    world.entry("waits")
    index.discover(world.acme.id)
    client = world.page("operator")
    health.take(world.acme.id)
    assert "Index now" in _text(client.get("/health/"))
    answer = client.post("/health/fix/index/")
    assert answer.headers["Location"] == "/health/"
    assert "1 indexed. Coverage 88.9 → 100.0" in _text(client.get("/health/"))


@pytest.mark.parametrize(
    ("person", "kind", "status"),
    [("viewer", "recompute", 403), ("compliance", "index", 403),
     ("operator", "magic", 404), ("nobody", "recompute", 302)],
)  # fmt: skip
def test_fixes_are_for_operators(
    world: World, person: str, kind: str, status: int
) -> None:
    answer = world.page(person).post(f"/health/fix/{kind}/")
    assert answer.status_code == status
    assert world.page("operator").get(f"/health/fix/{kind}/").status_code == 405


def test_a_crews_fix_leads_back_to_the_crew(world: World) -> None:
    fill(world)
    crew = world.crews["support"].id
    answer = world.page("operator").post(f"/health/fix/recompute/?crew_id={crew}")
    assert answer.headers["Location"] == f"/health/?crew_id={crew}"


def test_a_viewer_reads_causes_and_gets_no_buttons(world: World) -> None:
    fill(world)
    page = _text(world.page("viewer").get("/health/"))
    assert "Repairs</h2>" in page
    assert "that no repair above cures" in page
    for address in ("/health/fix/", "/health/accept"):
        assert address not in page


def test_a_falling_line_is_told_first(world: World) -> None:
    fill(world)
    today = timezone.now().date()
    HealthSnapshot.objects.filter(crew_id="").delete()
    for back in range(8):
        HealthSnapshot.objects.create(
            workspace=world.acme, date=today - timedelta(days=back), score=77 + back,
            computed_at=timezone.now(), details={},
        )  # fmt: skip
    page = _text(world.page("viewer").get("/health/"))
    assert "The score falls below 75 in about 2 days" in page


# ── Repairs and accepted causes ──────────────────────────────────────────────
def waiting_rule(world: World) -> None:
    """Measure different entries, two of them the evidence of a proposed rule."""
    rows = [
        world.indexed(text)
        for text in ("amber bridge canoe delta", "harbour iris jungle kettle")
    ]
    evidence = tuple(row.id for row in rows)
    rule = Rule("Bridges close early", "Ask first.", 0.9, evidence)
    consolidation.propose(world.crews["support"], rule, "test")
    health.take(world.acme.id)


def test_waiting_proposals_are_a_repair_that_leads_to_them(world: World) -> None:
    waiting_rule(world)
    page = _text(world.page("operator").get("/health/"))
    assert "Review 1 proposal</h3>" in page
    assert 'href="/proposals/">Review' in page
    assert "points expected" in page
    assert "/health/fix/consolidate/" not in page


def test_what_a_repair_brought_stays_on_the_page(world: World) -> None:
    fill(world)
    MemoryRelation.objects.all().delete()
    health.take(world.acme.id)
    client = world.page("operator")
    assert client.post("/health/fix/link/").status_code == 302
    page = _text(world.page("viewer").get("/health/"))
    assert "What the last runs brought" in page
    assert " measured</strong>" in page
    assert "was expected" in page


def accepted_cause(world: World, reason: str) -> dict[str, str]:
    """Return the form that accepts a cause that nothing here cures."""
    waiting_rule(world)
    row = health.latest(world.actor("operator"))
    cause = next(c for c in causes.of(row) if c.can_be_accepted)
    return {"metric": cause.metric, "key": cause.key, "reason": reason}


def test_a_cause_is_accepted_with_a_reason_and_listed_again(world: World) -> None:
    form = accepted_cause(world, "<b>Seasonal</b>")
    client = world.page("operator")
    assert client.post("/health/accept/", form).headers["Location"] == "/health/"
    raw = client.get("/health/").content.decode()
    assert "1 accepted cause<" in raw
    assert "&lt;b&gt;Seasonal" in raw
    assert "<b>Seasonal" not in raw
    item = AcceptedCause.objects.get()
    address = f"/health/accepted/{item.id}/reopen/"
    assert address not in _text(world.page("viewer").get("/health/"))
    assert client.post(address).headers["Location"] == "/health/"
    assert "accepted cause<" not in _text(client.get("/health/"))


def test_without_a_reason_the_page_says_what_is_missing(world: World) -> None:
    form = accepted_cause(world, " ")
    client = world.page("operator")
    client.post("/health/accept/", form)
    assert "Accepting a cause needs a reason." in _text(client.get("/health/"))


@pytest.mark.parametrize(
    ("person", "status"),
    [("viewer", 403), ("compliance", 403), ("stranger", 404), ("nobody", 302)],
)
def test_accepting_is_for_operators(world: World, person: str, status: int) -> None:
    form = accepted_cause(world, "why")
    accepted.accept(
        world.actor("operator"), None, form["metric"], form["key"], "before"
    )
    item = AcceptedCause.objects.get()
    client = world.page(person)
    assert client.post("/health/accept/", form).status_code == status
    answer = client.post(f"/health/accepted/{item.id}/reopen/")
    assert answer.status_code == status
    assert AcceptedCause.objects.get().reason == "before"


# ── The first page ───────────────────────────────────────────────────────────
def test_the_first_page_shows_crews_and_scores(world: World) -> None:
    world.entry("Refund denied")
    assert "Health has not been measured yet." in _text(world.page("viewer").get("/"))
    fill(world)
    page = _text(world.page("viewer").get("/"))
    assert "Health by crew" in page
    assert "Score over 30 days: support from" in page
    assert f"/health/?crew_id={world.crews['support'].id}" in page


def test_many_crews_ask_no_more_questions(
    world: World, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(8):
        crew, _ = workspaces.ensure_crew(f"crew-{number}", by=world.actor("owner"))
        workspaces.ensure_agent(f"agent-{number}", crew, by=world.actor("owner"))
    fill(world)
    client = world.page("viewer")
    with django_assert_max_num_queries(40):
        assert client.get("/").status_code == 200
    with django_assert_max_num_queries(40):
        assert client.get("/health/").status_code == 200


# ── Shapes ───────────────────────────────────────────────────────────────────
def test_a_day_without_data_is_a_gap() -> None:
    start = timezone.now().date()
    points = [
        (start + timedelta(days=n), value)
        for n, value in enumerate((0.0, 50.0, None, 100.0))
    ]
    svg = charts.band_spark(points, "Line")
    assert 'd="M0.0 32.0L40.0 16.0M120.0 0.0"' in svg
    assert 'd="M120.0 0.0h.01"' in svg


def test_nothing_is_no_chart() -> None:
    assert charts.band_chart([], "Score") == ""
    assert charts.band_spark([(timezone.now().date(), None)]) == ""


def test_names_in_a_chart_are_text() -> None:
    line = [(timezone.now().date(), 5.0)]
    svg = charts.band_chart([("<b>", line)], "Score", [timezone.now().date()])
    assert "<b>" not in svg
    assert "&lt;b&gt; from 5 to 5" in svg


@pytest.mark.parametrize(
    ("value", "text"), [(None, ""), (0.04, "±0.0"), (2.9, "+2.9"), (-5.9, "−5.9")]
)
def test_changes_carry_their_sign(value: float | None, text: str) -> None:
    assert charts.signed(value) == text
