"""GET and PATCH /workspace/settings, and the test of the remote provider."""

from __future__ import annotations

from typing import Any

import pytest

from memory import workspace_settings
from memory.models import JournalEntry, WorkspaceSetting
from memory.workspace_settings import declarations
from tests.memory.test_workspace_settings import BAD, GOOD, KEY, URL
from tests.world import World

PATH = "/workspace/settings"


@pytest.fixture(autouse=True)
def nothing_set(world: World) -> None:
    """Begin with a workspace in which nobody changed a setting."""
    WorkspaceSetting.objects.all().delete()


def _patch(world: World, body: Any, caller: str = "owner") -> Any:
    return world.api(caller).send("patch", PATH, body)


def test_every_setting_with_value_default_who_and_when(world: World) -> None:
    reply = world.api("owner").get(PATH)
    assert reply.status == 200
    assert set(reply.data["settings"]) == set(GOOD)
    fusion = reply.data["settings"]["fusion"]
    assert (fusion["value"], fusion["default"], fusion["is_default"]) == (
        *("convex", "convex"),
        True,
    )
    assert (fusion["changed_by"], fusion["changed_at"]) == (None, None)
    assert fusion["choices"] == ["rrf", "convex"]
    limit = reply.data["settings"]["cost_limit_usd_per_day"]
    assert (limit["default"], limit["least"], limit["most"]) == (1.0, 0, 1_000_000)


def test_a_change_is_answered_with_all_of_it(world: World) -> None:
    version = world.api("owner").get(PATH).data["version"]
    reply = _patch(world, {**GOOD, "version": version})
    assert reply.status == 200, reply.body
    assert reply.data["version"] > version
    for name, value in GOOD.items():
        state = reply.data["settings"][name]
        assert state["value"] == ({"set": True} if value == KEY else value)
        assert state["changed_by"] == world.actor("owner").label
        assert state["changed_at"].endswith("Z")
    assert world.api("owner").get(PATH).data == reply.data
    assert KEY.encode() not in reply.body
    back = _patch(world, dict.fromkeys(GOOD)).data["settings"]
    assert all(state["is_default"] and state["changed_by"] for state in back.values())
    assert back["remote_provider_key"]["value"] == {"set": False}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"colour": "red"}, "colour"),
        *(({name: values[0]}, name) for name, values in BAD.items()),
        ({"version": -1}, "version"),
        ({"version": "1"}, "version"),
    ],
)
def test_what_is_wrong_is_422(world: World, body: Any, field: str) -> None:
    reply = _patch(world, {"fusion": "rrf", **body})
    assert reply.status == 422, reply.body
    assert field in reply.body.decode()
    assert not WorkspaceSetting.objects.exists()


def test_an_old_version_is_409(world: World) -> None:
    version = world.api("owner").get(PATH).data["version"]
    assert _patch(world, {"fusion": "rrf"}).status == 200
    reply = _patch(world, {"fusion": "convex", "version": version})
    assert (reply.status, reply.code) == (409, "settings_changed")
    assert reply.data["version"] == version + 1
    assert workspace_settings.value(world.acme.id, declarations.FUSION) == "rrf"


def test_nothing_to_change_is_no_change(world: World) -> None:
    before = JournalEntry.objects.count()
    assert _patch(world, {}).status == 200
    assert JournalEntry.objects.count() == before


def test_another_workspace_has_its_own(world: World) -> None:
    _patch(world, {"fusion": "rrf", "remote_provider_url": URL})
    foreign = world.api("stranger").get(PATH).data["settings"]
    assert foreign["fusion"]["value"] == "convex"
    assert URL not in str(foreign)


def test_the_settings_of_cases_are_the_same_ones(world: World) -> None:
    admin = world.api("owner")
    _patch(world, {"time_zone": "Europe/Berlin", "two_person": True})
    old = admin.get("/gdpr/settings").data
    assert (old["time_zone"], old["two_person"]) == ("Europe/Berlin", True)
    assert admin.send("patch", "/gdpr/settings", {"export_days": 7}).status == 200
    state = admin.get(PATH).data["settings"]["export_days"]
    assert (state["value"], state["is_default"]) == (7, False)
    assert admin.get(PATH).data["settings"]["backup_days"]["is_default"]


def test_the_connection_is_tested(world: World) -> None:
    reply = world.api("owner").post(f"{PATH}/remote_provider/test")
    assert (reply.status, reply.data["ok"]) == (200, False)
    assert "no address or no key" in reply.data["message"]
