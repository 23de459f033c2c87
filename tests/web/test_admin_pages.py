"""The admin: opens for staff, shows no secret, acts only through services."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.test import Client

from memory.admin import rows
from memory.models import AgentKey, JournalEntry, PriorityChange, User
from tests.gdpr import requests as gdpr_requests
from tests.world import World

TABLES = sorted(
    model._meta.label_lower.replace(".", "/")
    for model in admin.site._registry
    if model._meta.app_label in ("memory", "episodic", "gdpr")
)


def _text(response: Any) -> str:
    return str(response.content.decode())


@pytest.fixture
def staff(world: World) -> Client:
    """Return a client of the owner, who is staff."""
    User.objects.filter(pk=world.people["owner"].pk).update(
        is_staff=True, is_superuser=True
    )
    return world.page("owner")


def test_people_who_are_not_staff_stay_outside(world: World) -> None:
    assert world.page("operator").get("/admin/").status_code in (302, 403)
    assert "Django admin" not in _text(world.page("operator").get("/"))


@pytest.mark.parametrize("table", TABLES)
def test_every_table_opens_and_its_rows_open(
    world: World, staff: Client, table: str
) -> None:
    world.indexed(entry_type="peer.escalation")
    response = staff.get(f"/admin/{table}/", {"q": "x"})
    assert response.status_code == 200
    model = next(
        model
        for model in admin.site._registry
        if model._meta.label_lower.replace(".", "/") == table
    )
    row = model._default_manager.first()
    if row is not None:
        assert staff.get(f"/admin/{table}/{quote(row.pk)}/change/").status_code == 200
    assert staff.get(f"/admin/{table}/add/").status_code == 403


def test_links_escape_the_underscore_of_an_id(world: World, staff: Client) -> None:
    """The admin reads "_24" as a dollar sign, and one id in 256 begins so."""
    assert "/j_5F24b1/change/" in rows.entry_link("j_24b1")
    case = gdpr_requests.opened(world)
    link = re.search(r'href="(/admin[^"]+)"', rows.link(case))
    assert link is not None
    assert staff.get(link[1]).status_code == 200


def test_neither_digest_nor_vector_is_shown(world: World, staff: Client) -> None:
    row = world.indexed(entry_type="peer.escalation")
    key = AgentKey.objects.filter(agent=world.agents["ada"]).first()
    assert key is not None
    page = _text(staff.get(f"/admin/memory/agentkey/{quote(key.pk)}/change/"))
    assert key.digest not in page
    assert key.digest[:12] in page
    page = _text(staff.get(f"/admin/episodic/embedding/{quote(row.pk)}/change/"))
    assert "× float32" in page
    entry = _text(staff.get(f"/admin/memory/journalentry/{quote(row.pk)}/change/"))
    assert row.entry_hash not in entry
    assert f"/journal/{row.pk}/" in entry


def test_keys_are_revoked_through_the_service(world: World, staff: Client) -> None:
    key = AgentKey.objects.get(agent=world.agents["bob"])
    foreign_key = AgentKey.objects.get(agent=world.agents["olga"])
    form_data = {"action": "revoke", "_selected_action": [key.pk, foreign_key.pk]}
    page = _text(staff.post("/admin/memory/agentkey/", form_data, follow=True))
    key.refresh_from_db()
    foreign_key.refresh_from_db()
    assert (key.state, foreign_key.state) == ("revoked", "active")
    assert "You are no member of this workspace" in page
    assert JournalEntry.objects.filter(entry_type="key.revoked").latest("seq")


def test_a_priority_is_set_through_the_journal(world: World, staff: Client) -> None:
    row = world.entry()
    form_data = {"action": "make_pin", "_selected_action": [row.pk]}
    staff.post("/admin/memory/journalentry/", form_data)
    row.refresh_from_db()
    change = PriorityChange.objects.get(entry=row)
    assert (row.priority, change.set_by) == ("pin", "owner@acme.example")


def test_rows_cannot_be_changed_by_hand(world: World, staff: Client) -> None:
    row = world.entry("As it was")
    path = f"/admin/memory/journalentry/{quote(row.pk)}/"
    assert staff.post(f"{path}change/", {"summary": "Forged"}).status_code == 403
    assert staff.post(f"{path}delete/", {"post": "yes"}).status_code == 403
    row.refresh_from_db()
    assert row.summary == "As it was"


def test_staff_may_set_a_password(world: World, staff: Client) -> None:
    user = world.people["viewer"]
    path = f"/admin/memory/user/{quote(user.pk)}/password/"
    assert staff.get(path).status_code == 200
    new = "a rather long new phrase"
    form_data = {"password1": new, "password2": new, "usable_password": "true"}
    assert staff.post(path, form_data).status_code == 302
    user.refresh_from_db()
    assert user.check_password(new)
