"""What changed since a person was last here."""

from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine
from django.db import OperationalError
from django.utils import timezone

from crewship_memory import changes
from memory.accounts import visits
from memory.models import LastVisit
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
