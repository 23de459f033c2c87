"""The page of settings: one form each, without scripts, for admins."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.test import Client

from memory import workspace_settings
from memory.models import WorkspaceSetting
from memory.workspace_settings import Kind, declarations
from tests.memory.test_workspace_settings import GOOD, KEY
from tests.world import World

PAGE = "/workspace/settings/"
EDITED = [n for n in GOOD if workspace_settings.by_name(n).kind is not Kind.TABLE]


@pytest.fixture(autouse=True)
def nothing_set(world: World) -> None:
    """Begin with a workspace in which nobody changed a setting."""
    WorkspaceSetting.objects.all().delete()


def _text(response: Any) -> str:
    return html.unescape(response.content.decode())


def _version(client: Client) -> str:
    match = re.search(r'name="version" value="(\d+)"', _text(client.get(PAGE)))
    assert match is not None
    return match[1]


def _posted(value: Any) -> str:
    return (
        {True: "on", False: "off"}.get(value, str(value))
        if isinstance(value, bool)
        else str(value)
    )


@pytest.mark.parametrize(
    ("user", "status"),
    [("owner", 200), ("operator", 403), ("compliance", 403), ("viewer", 403),
     ("nobody", 302)],
)  # fmt: skip
def test_who_may(world: World, user: str, status: int) -> None:
    client = world.page(user)
    assert client.get(PAGE).status_code == status
    home = _text(client.get("/workspace/members/", follow=True))
    assert (f'href="{PAGE}"' in home) == (status == 200)
    if status == 200:
        return
    for path in ("fusion/", "fusion/reset/", "remote-provider/test/"):
        data = {"value": "convex", "version": "0"}
        assert client.post(PAGE + path, data).status_code == status, path
    assert not WorkspaceSetting.objects.exists()


def test_the_page_shows_every_setting_and_its_default(world: World) -> None:
    text = _text(world.page("owner").get(PAGE))
    for setting in workspace_settings.declared():
        for part in (setting.label, setting.help, setting.name, setting.readers):
            assert part in text
    assert "Every setting has its default" in text
    assert text.count("never</span>") == len(GOOD)
    assert "CREWSHIP_EMBEDDER" in text and "environment" in text


@pytest.mark.parametrize("name", EDITED)
def test_a_setting_is_kept_and_put_back(world: World, name: str) -> None:
    client, setting = world.page("owner"), workspace_settings.by_name(name)
    data = {"value": _posted(GOOD[name]), "version": _version(client)}
    response = client.post(f"{PAGE}{name}/", data, follow=True)
    assert response.redirect_chain == [(PAGE, 302)]
    text = _text(response)
    assert f"Saved: {setting.label}" in text
    assert f"1 of {len(GOOD)} settings is set here" in text
    assert "owner@acme.example" in text
    if setting.is_secret:
        assert KEY not in text and "A key is set." in text
        assert workspace_settings.secret(world.acme.id, declarations.REMOTE_KEY) == KEY
    else:
        assert workspace_settings.value(world.acme.id, setting) == GOOD[name]
    response = client.post(
        f"{PAGE}{name}/reset/", {"version": _version(client)}, follow=True
    )
    assert "reset to the default" in _text(response)
    assert not WorkspaceSetting.objects.get(name=name).is_set


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fusion", "sum"),
        ("versions_retention_days", "4000"),
        ("cost_limit_usd_per_day", "much"),
        ("remote_provider_url", "http://127.0.0.1:9/"),
        ("remote_provider_key", "a b"),
        ("time_zone", "Mars/Base"),
        ("two_person", "maybe"),
    ],
)
def test_a_bad_value_keeps_the_form(world: World, name: str, value: str) -> None:
    client = world.page("owner")
    data = {"value": value, "version": _version(client)}
    reply = client.post(f"{PAGE}{name}/", data)
    assert reply.status_code == 422
    assert 'class="fault"' in _text(reply)
    assert not WorkspaceSetting.objects.exists()


def test_a_page_that_is_old_is_told(world: World) -> None:
    client = world.page("owner")
    version = _version(client)
    world.set(digest=False)
    data = {"value": "convex", "version": version}
    reply = client.post(f"{PAGE}fusion/", data)
    assert reply.status_code == 409
    assert "Somebody changed the settings meanwhile" in _text(reply)
    # The page with the error is up to date.
    assert client.post(f"{PAGE}fusion/", data | {"version": _version(client)})
    data = {"version": version}
    response = client.post(f"{PAGE}digest/reset/", data, follow=True)
    assert "meanwhile" in _text(response)
    assert not workspace_settings.settings_page(world.actor("owner"))["digest"].value


def test_what_is_no_setting_is_nowhere(world: World) -> None:
    client = world.page("owner")
    for path in ("nothing/", "nothing/reset/", "scanner_rules/"):
        assert client.post(PAGE + path, {"value": "x"}).status_code == 404
    for path in ("fusion/", "scanner_rules/"):
        assert client.get(PAGE + path).status_code == 302


def test_a_table_is_shown_and_put_back(world: World) -> None:
    world.set(scanner_rules={"override.instructions": "off"})
    client = world.page("owner")
    assert "override.instructions: off" in _text(client.get(PAGE))
    client.post(f"{PAGE}scanner_rules/reset/", {"version": _version(client)})
    assert workspace_settings.value(world.acme.id, declarations.SCANNER_RULES) == {}


def test_the_connection_is_tested_from_the_page(world: World) -> None:
    response = world.page("owner").post(f"{PAGE}remote-provider/test/", follow=True)
    assert "no address or no key" in _text(response)


def test_the_table_of_rows_shows_no_seal(world: World) -> None:
    world.set(remote_provider_key=KEY)
    row = WorkspaceSetting.objects.get(name="remote_provider_key")
    person = world.people["owner"]
    person.is_staff = person.is_superuser = True
    person.save()
    client = world.page("owner")
    for path in ("", f"{row.pk}/change/"):
        reply = client.get(f"/admin/memory/workspacesetting/{path}")
        assert reply.status_code == 200
        assert row.sealed not in _text(reply)
