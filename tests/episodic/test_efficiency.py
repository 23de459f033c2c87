"""Efficiency by real questions, where the recall log has enough of them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from episodic.health import causes
from episodic.health import snapshots as health
from episodic.health.metrics import efficiency
from episodic.index import engine
from episodic.models import HealthSnapshot, LoggedHit, LoggedQuestion
from tests.world import World

MIN_REAL = efficiency.REAL_LEAST


def measure(world: World, crew: str = "") -> HealthSnapshot:
    crew_id = world.crews[crew].id if crew else ""
    return next(row for row in health.take(world.acme.id) if row.crew_id == crew_id)


def log(
    world: World,
    count: int = MIN_REAL,
    cosines: tuple[float | None, ...] = (0.6, 0.2),
    *,
    by: str = "ada",
    start: int = 0,
    **fields: Any,
) -> None:
    """Store questions that were answered with entries at some cosines."""
    agent = world.agents[by]
    for number in range(start, start + count):
        values: dict[str, Any] = {
            "question": f"q{number}", "question_key": f"key {number}",
            "agent_id": agent.id, "crew_id": agent.crew_id, "scope": "own",
            "mode": "hybrid", "fusion": "rrf", "k": 5,
            "model": engine.embedder().model, **fields,
        }  # fmt: skip
        row = LoggedQuestion.objects.create(workspace_id=agent.workspace_id, **values)
        for rank, cosine in enumerate(cosines, 1):
            LoggedHit.objects.create(
                workspace_id=row.workspace_id, question=row, rank=rank,
                entry_id=f"j_{number:016x}", score=0.1, cosine=cosine, via="both",
            )  # fmt: skip


@pytest.fixture
def filled(world: World) -> World:
    for number in range(3):
        world.indexed(f"Refund number {number}")
    return world


def details(world: World, crew: str = "") -> dict[str, Any]:
    return dict(measure(world, crew).details["efficiency"])


def test_enough_real_questions_replace_the_replays(filled: World) -> None:
    log(filled, MIN_REAL - 1)
    assert details(filled)["from"] == "newest entries, each asked in its crew"
    log(filled, 1, (0.0, 0.2), start=MIN_REAL)
    snapshot = measure(filled)
    numbers = snapshot.details["efficiency"]
    assert (numbers["questions"], numbers["from"]) == (MIN_REAL, efficiency.REAL)
    mean = ((MIN_REAL - 1) * 0.4 + 0.1) / MIN_REAL
    assert numbers["mean_cosine"] == pytest.approx(mean, abs=1e-4)
    assert snapshot.efficiency == pytest.approx(100 * mean / 0.8, abs=0.05)
    assert numbers["poor"]["count"] == 1
    assert numbers["rest"][0]["agent_id"] == filled.agents["ada"].id


@pytest.mark.parametrize(
    "fields",
    [
        {"asked_at": timezone.now() - timedelta(days=7, minutes=1)},
        {"asked_at": timezone.now() + timedelta(hours=1)},
        {"model": "another"},
        {"degraded": "words only"},
        {"mode": "sparse"},
        {"question_key": "all the same"},
        {"cosines": (None, None)},
        {"by": "olga"},
    ],
)
def test_questions_that_say_nothing_about_it_do_not_count(
    filled: World, fields: dict[str, Any]
) -> None:
    log(filled, MIN_REAL, **fields)
    assert details(filled)["from"] != efficiency.REAL


def test_an_empty_answer_counts_as_nothing_near(filled: World) -> None:
    log(filled, MIN_REAL, ())
    numbers = details(filled)
    assert (numbers["mean_cosine"], numbers["poor"]["count"]) == (0.0, MIN_REAL)


def test_the_first_five_of_the_rankings_count_and_no_neighbour(filled: World) -> None:
    log(filled, MIN_REAL, (0.5, 0.5, 0.5, 0.5, 0.5, 0.9))
    LoggedHit.objects.filter(rank=1).update(via="similar", cosine=0.0)
    # The neighbour left out, the sixth moves up.
    assert details(filled)["mean_cosine"] == pytest.approx(0.58)


def test_what_only_the_context_found_was_ranked(filled: World) -> None:
    log(filled, MIN_REAL, (0.2, 0.6))
    LoggedHit.objects.filter(rank=1).update(via="context")
    assert details(filled)["mean_cosine"] == pytest.approx(0.4)


def test_a_crew_has_the_questions_of_its_own(filled: World) -> None:
    for number in range(2):
        filled.indexed(f"Invoice {number}", by="bob")
    log(filled, MIN_REAL, by="bob")
    assert details(filled, "billing")["from"] == efficiency.REAL
    assert details(filled, "support")["from"] != efficiency.REAL


def test_no_vectors_are_no_data_whatever_was_asked(world: World) -> None:
    log(world, MIN_REAL)
    assert measure(world).efficiency is None


def test_page_and_api_say_which_was_used(filled: World) -> None:
    log(filled, MIN_REAL, (0.1,))
    measure(filled)
    page = filled.page("viewer").get("/health/").content.decode()
    assert f"of {MIN_REAL} real questions of the last 7 days" in page
    answer = filled.api("viewer").get("/memory/health").data
    assert answer["details"]["efficiency"]["from"] == efficiency.REAL
    titles = [
        cause.title for cause in causes.of(HealthSnapshot.objects.get(crew_id=""))
    ]
    assert f"{MIN_REAL} of {MIN_REAL} real questions find nothing near" in titles
    HealthSnapshot.objects.all().delete()
    LoggedQuestion.objects.all().delete()
    measure(filled)
    page = filled.page("viewer").get("/health/").content.decode()
    assert "of 3 newest entries, each asked in its crew" in page
