"""The calendar of deadlines: what it holds, whom it serves, when it ends."""

from __future__ import annotations

import hashlib
import re
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client, override_settings
from icalendar import Calendar

from crewship_memory import log_redaction, throttle
from gdpr.cases import actions
from gdpr.models import CalendarFeed, Case
from gdpr.reports import calendar_feed
from memory.models import Membership, User
from memory.rules import errors
from memory.rules.permissions import Role
from tests.gdpr import requests as make
from tests.world import World


def path(world: World, person: str = "compliance") -> str:
    """Return the path of a fresh address, as its page shows it once."""
    html = world.page(person).post("/privacy/calendar/").content.decode()
    [address] = re.findall(
        r'<output class="code" id="link">http://[^/]+(/[^<]+)<', html
    )
    return str(address)


def read(address: str) -> Any:
    return Client().get(address)


def events(address: str) -> list[Any]:
    answer = read(address)
    assert answer.status_code == 200, answer
    assert answer["Content-Type"] == "text/calendar; charset=utf-8"
    return list(Calendar.from_ical(answer.content).walk("VEVENT"))


def test_the_open_cases_are_days_with_a_link_and_no_person(world: World) -> None:
    make.settings(world, time_zone="Pacific/Auckland")
    case = make.opened(world, reason="Maria left", requester="Maria", ticket="Keller")
    closed = make.opened(world)
    actions.refuse(closed, "no", by=world.actor("owner"))
    extended = actions.extend(make.opened(world), 2, "many", by=world.actor("owner"))
    address = path(world)
    days = {str(event["url"]): event["dtstart"].dt for event in events(address)}
    assert days == {
        f"http://testserver/privacy/cases/{row.pk}/": until.astimezone(
            ZoneInfo("Pacific/Auckland")
        ).date()
        for row, until in (
            (case, case.due_at),
            (extended, make.fresh(extended).extended_until),
        )
        if until is not None
    }
    body = read(address).content.decode()
    assert not re.search("Maria|Keller|left", body)
    assert case.subject_ref not in body


def test_a_token_is_shown_once_and_stored_as_its_digest(world: World) -> None:
    address = path(world)
    token = address.rpartition("/")[2].removesuffix(".ics")
    [row] = CalendarFeed.objects.all()
    assert row.token_hash == hashlib.sha256(token.encode()).hexdigest()
    assert (
        token not in world.page("compliance").get("/privacy/calendar/").content.decode()
    )
    entries = make.entries(world, "gdpr.calendar_made")
    assert token not in str([(entry.payload, entry.summary) for entry in entries])


def test_a_new_address_ends_the_earlier_one(world: World) -> None:
    first, second = path(world), path(world)
    assert read(first).status_code == 404
    assert read(second).status_code == 200
    assert read(path(world, "owner")).status_code == 200
    assert read(second).status_code == 200


def _revoked(world: World) -> None:
    world.page("compliance").post("/privacy/calendar/", {"revoke": "1"})


def _member(world: World) -> Any:
    person = world.people["compliance"]
    return Membership.objects.filter(workspace=world.acme, user=person)


def _switched_off(world: World) -> None:
    User.objects.filter(pk=world.people["compliance"].pk).update(is_active=False)


@pytest.mark.parametrize(
    "ended",
    [
        _revoked,
        _switched_off,
        lambda world: _member(world).update(role=Role.OPERATOR),
        lambda world: _member(world).delete(),
        lambda world: world.people["compliance"].delete(),
    ],
    ids=["revoked", "switched off", "role lost", "left", "account gone"],
)
def test_an_address_ends_with_what_it_stands_on(world: World, ended: Any) -> None:
    make.opened(world)
    address = path(world)
    assert len(events(address)) == 1
    ended(world)
    assert read(address).status_code == 404


@pytest.mark.parametrize("token", ["x", "a" * 43, "a" * 2000, "ä" * 43])
def test_an_unknown_token_is_not_found(world: World, token: str) -> None:
    assert read(f"/privacy/calendar/{token}.ics").status_code == 404


def test_another_workspaces_cases_are_in_no_calendar_of_ours(world: World) -> None:
    make.opened(world)
    assert events(path(world, "stranger")) == []


def test_who_may_have_an_address(world: World) -> None:
    with pytest.raises(errors.Forbidden):
        calendar_feed.renew(world.actor("operator"))
    with pytest.raises(errors.Conflict):
        calendar_feed.renew(world.system())


def test_no_log_line_holds_a_token(world: World, capfd: Any, caplog: Any) -> None:
    address = path(world)
    token = address.rpartition("/")[2].removesuffix(".ics")
    read(address)
    read(address.replace(token, "b" + token[1:]))
    out, err = capfd.readouterr()
    assert token[5:] not in out + err + caplog.text
    assert token not in log_redaction.clean(f"GET {address} HTTP/1.1 failed")


def test_guesses_are_counted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    del world
    monkeypatch.setattr(throttle, "anonymous", throttle.AddressThrottle("4/m"))
    codes = [read(f"/privacy/calendar/{n:043}.ics").status_code for n in range(6)]
    assert codes[0] == 404
    assert codes[-1] == 429


@override_settings(PUBLIC_URL="https://memory.acme.example")
def test_links_lead_to_the_public_address(world: World) -> None:
    case: Case = make.opened(world)
    token = calendar_feed.renew(world.actor("owner"))
    [event] = events(f"/privacy/calendar/{token}.ics")
    assert event["url"] == f"https://memory.acme.example/privacy/cases/{case.pk}/"


def test_a_calendar_speaks_its_owners_language(world: World) -> None:
    make.opened(world)
    address = path(world)
    User.objects.filter(pk=world.people["compliance"].pk).update(language="de")
    [event] = events(address)
    assert str(event["summary"]).startswith("Löschung")
