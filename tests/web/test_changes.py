"""What changed since a person was last here."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
import time_machine
from django.db import OperationalError
from django.utils import timezone

from crewship_memory import changes
from episodic.agents import facts
from episodic.consolidation import approval
from episodic.consolidation import run as consolidation
from episodic.models import HealthSnapshot
from episodic.summarisers.base import Rule
from gdpr.models import Certificate
from memory.accounts import visits
from memory.jobs import registry as jobs
from memory.journal import append
from memory.models import JobRun, LastVisit, RunState
from memory.review import decide
from memory.review.decide import Decision
from memory.rules.entries import NewEntry
from tests.gdpr import requests as make
from tests.world import World

pytestmark = pytest.mark.django_db


def _texts(world: World, person: str) -> list[str]:
    hour_ago = timezone.now() - timedelta(hours=1)
    return [line.text for line in changes.since(world.actor(person), hour_ago).lines]


def test_a_visit_begins_after_half_an_hour_away(world: World) -> None:
    actor, start = world.actor("viewer"), timezone.now()
    with time_machine.travel(start, tick=False) as clock:
        assert visits.arrive(actor) is None
        clock.shift(timedelta(minutes=29))
        assert visits.arrive(actor) is None
        last = timezone.now()
        clock.shift(timedelta(minutes=30))
        assert visits.arrive(actor) == last
        clock.shift(timedelta(minutes=5))
        assert visits.arrive(actor) == last


def test_a_visit_is_of_one_person_in_one_workspace(world: World) -> None:
    for person in ("viewer", "owner", "stranger", "viewer"):
        visits.arrive(world.actor(person))
    assert LastVisit.objects.count() == 3


def test_a_full_disk_does_not_keep_home_from_being_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object, **_options: object) -> None:
        raise OperationalError("database or disk is full")

    monkeypatch.setattr(LastVisit, "save", fail)
    assert world.page("owner").get("/").status_code == 200


def test_changes_are_those_the_role_may_read(world: World) -> None:
    world.entry("Refund denied")
    world.held()
    make.opened(world)
    assert "1 text newly held" in _texts(world, "operator")
    assert "1 case opened" not in _texts(world, "operator")
    assert "1 case opened" in _texts(world, "compliance")
    assert "1 text newly held" not in _texts(world, "compliance")
    assert _texts(world, "stranger") == []


def test_what_is_older_than_the_visit_is_no_change(world: World) -> None:
    world.held()
    make.opened(world)
    later = timezone.now() + timedelta(minutes=1)
    assert changes.since(world.actor("owner"), later).lines == ()
    assert changes.since(world.actor("owner"), None).lines == ()


def test_counting_ends_at_the_limit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "COUNT_LIMIT", 2)
    for number in range(4):
        world.entry(f"Refund {number}")
    assert "2 and more new entries by agents" in _texts(world, "viewer")


def test_home_shows_the_changes_and_each_opens_its_list(world: World) -> None:
    client, start = world.page("owner"), timezone.now()
    with time_machine.travel(start, tick=False) as clock:
        page = client.get("/").content.decode()
        assert "Since you were last here" not in page
        clock.shift(timedelta(hours=2))
        entry = world.entry("Refund denied")
        world.held()
        page = client.get("/").content.decode()
        assert "Since you were last here" in page
        for line in changes.since(world.actor("owner"), start).lines:
            assert client.get(line.url).status_code == 200, line
        journal = changes.since(world.actor("viewer"), start).lines[0].url
        assert entry.pk in client.get(journal).content.decode()


def _score(world: World, score: float, *, at: datetime) -> None:
    HealthSnapshot.objects.create(
        workspace=world.acme, score=score, date=at.date(), computed_at=at
    )


def test_the_score_shows_with_the_day_of_the_one_before(world: World) -> None:
    now = timezone.now()
    before = now - timedelta(days=2)
    _score(world, 31.9, at=before)
    assert not any("health" in text for text in _texts(world, "viewer"))
    _score(world, 38.0, at=now)
    text = f"health 38.0, it was 31.9 on {before.day} {before:%b}"
    assert text in _texts(world, "viewer")
    assert _texts(world, "stranger") == []
    HealthSnapshot.objects.update(score=31.94)
    assert not any("health" in text for text in _texts(world, "viewer"))


def test_decisions_of_others_are_changes_and_own_ones_are_not(world: World) -> None:
    case = world.held()
    decide.decide(
        case, Decision.DISCARD, version=case.version, reason="Attack",
        by=world.actor("operator"),
    )  # fmt: skip
    text = "1 decision by others on held texts"
    assert text in _texts(world, "owner")
    assert text not in _texts(world, "operator")
    assert text not in _texts(world, "viewer")


def test_decisions_on_proposals_are_those_of_people(world: World) -> None:
    texts = [world.indexed(text).id for text in ("Bridge closed", "Bridge shut")]
    rule = Rule("Bridges close early", "Ask first.", 0.9, tuple(texts))
    proposal = consolidation.propose(world.crews["support"], rule, "test")
    # A run that finds no rule, and an agent's entry, are of the same type.
    for person, refs in (
        ("operator", {"proposal_ids": ""}),
        ("ada", {"proposal_id": "p"}),
    ):
        row = NewEntry(entry_type="memory.consolidated", summary="Done", refs=refs)
        append.write([row], by=world.actor(person))
    assert not any("on proposals" in text for text in _texts(world, "owner"))
    approval.reject(
        proposal, version=proposal.version, reason="Wrong", by=world.actor("operator")
    )
    assert "1 decision by others on proposals" in _texts(world, "owner")
    assert not any("on proposals" in text for text in _texts(world, "operator"))
    lines = changes.since(world.actor("owner"), timezone.now() - timedelta(hours=1))
    [url] = [line.url for line in lines.lines if "on proposals" in line.text]
    page = world.page("owner").get(url).content.decode()
    assert "Bridges close early" in page


def test_an_agent_that_fell_silent_meanwhile_is_a_change(world: World) -> None:
    now = timezone.now()
    world.entry(ts=now - facts.SILENT_AFTER - timedelta(minutes=30))
    world.entry(by="bob", ts=now - facts.SILENT_AFTER - timedelta(hours=2))
    world.entry(by="lena", ts=now - facts.SILENT_AFTER + timedelta(minutes=30))
    assert "1 agent fell silent" in _texts(world, "viewer")


def test_a_certificate_is_a_change_for_who_may_read_it(world: World) -> None:
    case = make.opened(world)
    Certificate.objects.create(
        workspace=world.acme, case=case, run=1, result="complete", document="{}",
        key_id="k",
    )  # fmt: skip
    assert "1 certificate issued" in _texts(world, "compliance")
    assert "1 certificate issued" not in _texts(world, "operator")


def test_runs_that_failed_are_a_change_for_who_may_run_jobs(world: World) -> None:
    job, now = jobs.registered()[0], timezone.now()
    ends = {"new": now, "old": now - timedelta(hours=2)}
    for slot, ended_at in ends.items():
        JobRun.objects.create(
            name=job.name, slot=slot, workspace=world.acme, state=RunState.FAILED,
            ended_at=ended_at,
        )  # fmt: skip
    assert "1 run of a job failed" in _texts(world, "operator")
    assert "1 run of a job failed" not in _texts(world, "viewer")
    assert _texts(world, "stranger") == []
