"""The first run of a workspace: its first agent, key and entry, on home."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from crewship_memory import first_run
from memory.accounts import api_keys, workspaces
from memory.journal import append
from memory.models import Agent, AgentKey, Crew, JournalEntry
from memory.rules.entries import NewEntry
from memory.rules.permissions import Actor
from tests import factories
from tests.gdpr import requests as make
from tests.world import World

pytestmark = pytest.mark.django_db

POLL = {"HX-Request": "true", "HX-Target": "arrival"}
AGENT = {"crew": "mining", "agent": "copper"}


def _text(response: Any) -> str:
    return str(response.content.decode())


def _admin(world: World) -> Actor:
    workspace = world.new_workspace()
    return workspaces.person(world.people["new owner"], "admin", workspace.id)


def _agent(world: World) -> tuple[Actor, Agent]:
    admin = _admin(world)
    return admin, first_run.add_agent("mining", "copper", by=admin)


def _first_entry(world: World, summary: str) -> JournalEntry:
    """Return the first entry of a new workspace."""
    admin, agent = _agent(world)
    copper = api_keys.authenticate(first_run.issue_key(agent.id, by=admin).token)
    assert copper is not None
    return factories.append(copper, summary=summary)


def _token(page: str) -> str:
    match = re.search(r'id="token">(cmk_[\w-]+)<', page)
    assert match, page
    return match[1]


# ── The three steps ──────────────────────────────────────────────────────────
def test_an_admin_goes_from_nothing_to_a_first_entry(world: World) -> None:
    world.new_workspace()
    client = world.page("new owner")
    page = _text(client.get("/"))
    assert "No agent has written here yet</h1>" in page
    assert 'name="crew"' in page
    assert client.post("/first/agent/", AGENT).headers["Location"] == "/"
    agent = Agent.objects.get(slug="copper")
    assert agent.crew.slug == "mining"
    assert "Issue the key for copper" in _text(client.get("/"))
    answer = client.post("/first/key/", {"agent": agent.id})
    assert answer.status_code == 201
    assert "no-store" in answer.headers["Cache-Control"]
    token = _token(_text(answer))
    assert client.get("/", headers=POLL).status_code == 204
    copper = api_keys.authenticate(token)
    assert copper is not None
    entry = factories.append(copper, summary="Ore is sorted by hand")
    arrived = client.get("/", headers=POLL)
    assert arrived.status_code == 286
    assert "wrote its first entry" in _text(arrived)
    assert f"/journal/{entry.pk}/" in _text(arrived)
    assert "No agent has written" not in _text(client.get("/"))


def test_the_key_is_shown_once_and_stands_in_every_program(world: World) -> None:
    _, agent = _agent(world)
    client = world.page("new owner")
    page = _text(client.post("/first/key/", {"agent": agent.id}))
    token = _token(page)
    programs = re.findall(r"<pre.*?</pre>", page, re.DOTALL)
    assert len(programs) == 6
    for program in programs:
        assert token in program
        assert "http://testserver/" in program
    later = _text(client.get("/"))
    assert "cmk_" not in later
    assert "$CREWSHIP_KEY" in later


def test_the_key_comes_as_a_part_of_the_page_too(world: World) -> None:
    _, agent = _agent(world)
    headers = {"HX-Request": "true", "HX-Target": "first-run"}
    client = world.page("new owner")
    page = _text(client.post("/first/key/", {"agent": agent.id}, headers=headers))
    assert _token(page)
    assert "<html" not in page
    assert "hx-swap-oob" not in page


def test_a_first_agent_may_join_a_crew_that_exists(world: World) -> None:
    admin = _admin(world)
    workspaces.ensure_crew("mining", by=admin)
    world.page("new owner").post("/first/agent/", AGENT)
    assert Crew.objects.filter(workspace_id=admin.workspace_id).count() == 1
    assert Agent.objects.filter(workspace_id=admin.workspace_id).count() == 1


def test_a_bad_name_keeps_what_was_typed_and_adds_nothing(world: World) -> None:
    workspace = world.new_workspace()
    data = {"crew": "mining", "agent": "<b>Copper"}
    answer = world.page("new owner").post("/first/agent/", data)
    assert answer.status_code == 422
    assert 'value="mining"' in _text(answer)
    assert "<b>Copper" not in _text(answer)
    assert not Crew.objects.filter(workspace=workspace).exists()


def test_a_hostile_first_entry_stays_text(world: World) -> None:
    _first_entry(world, "<img src=x onerror=alert(1)>")
    for headers in ({}, POLL):
        page = _text(world.page("new viewer").get("/", headers=headers))
        assert "&lt;img src=x" in page
        assert "<img src=x" not in page


# ── Who may ──────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("person", ["operator", "compliance", "viewer"])
def test_others_read_who_goes_on(world: World, person: str) -> None:
    _, agent = _agent(world)
    client = world.page(f"new {person}")
    page = _text(client.get("/"))
    assert "An admin goes on from here: <bdi>owner@new.example</bdi>." in page
    assert "Issue the key" not in page
    assert client.post("/first/agent/", AGENT).status_code == 403
    assert client.post("/first/key/", {"agent": agent.id}).status_code == 403
    assert not AgentKey.objects.filter(agent=agent).exists()


def test_no_key_is_issued_for_an_agent_of_another_workspace(world: World) -> None:
    _agent(world)
    before = AgentKey.objects.count()
    for agent_id in (world.agents["ada"].pk, "agent_0", ""):
        answer = world.page("new owner").post("/first/key/", {"agent": agent_id})
        assert answer.status_code == 404, agent_id
    assert AgentKey.objects.count() == before


def test_another_workspaces_first_entry_does_not_arrive(world: World) -> None:
    _first_entry(world, "Ore is sorted by hand")
    assert world.page("stranger").get("/", headers=POLL).status_code == 204


def test_the_addresses_of_the_acts_lead_home(world: World) -> None:
    for path in ("/first/agent/", "/first/key/"):
        assert world.page("owner").get(path).headers["Location"] == "/"


# ── What comes next ──────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("person", "acts"),
    [
        ("owner", {"Recall it", "Write a memory file", "Invite a colleague"}),
        ("operator", {"Recall it", "Write a memory file"}),
        ("compliance", {"Recall it"}),
        ("viewer", {"Recall it"}),
    ],
)
def test_what_comes_next_opens_for_whom_it_is_offered(
    world: World, person: str, acts: set[str]
) -> None:
    _first_entry(world, "Ore is sorted by hand")
    client = world.page(f"new {person}")
    section = _text(client.get("/")).partition('class="ways-on"')[2].partition("</ul>")
    links = dict(re.findall(r'href="([^"]+)">([^<]+)</a>', section[0]))
    assert set(links.values()) == acts
    for url in links:
        path = url.replace("&amp;", "&").partition("#")[0]
        assert client.get(path).status_code == 200, path


def test_the_introduction_ends_a_day_after_the_first_entry(world: World) -> None:
    _first_entry(world, "Ore is sorted by hand")
    client = world.page("new viewer")
    assert "The first agent is connected" in _text(client.get("/"))
    with time_machine.travel(timezone.now() + timedelta(hours=25)):
        client = world.page("new viewer")
        assert "The first agent is connected" not in _text(client.get("/"))


def test_an_erased_first_entry_is_no_entry_that_was_never_written(
    world: World,
) -> None:
    entry = _first_entry(world, "Ore is sorted by hand")
    JournalEntry.objects.filter(pk=entry.pk).update(erased_at=timezone.now())
    client = world.page("new owner")
    page = _text(client.get("/"))
    assert "No agent has written here yet" not in page
    assert "Ore is sorted" not in page
    assert client.get("/", headers=POLL).status_code == 204


def test_a_long_journal_is_no_first_run(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin, agent = _agent(world)
    monkeypatch.setattr(first_run, "WELL_BEGUN", 1)
    key = first_run.issue_key(agent.id, by=admin).key
    AgentKey.objects.filter(pk=key.pk).update(last_used_at=timezone.now())
    client = world.page("new owner")
    assert "No agent has written here yet" not in _text(client.get("/"))
    answer = client.post("/first/key/", {"agent": agent.id})
    assert answer.status_code == 409
    assert "The first steps are over here" in _text(answer)
    assert AgentKey.objects.filter(agent=agent).count() == 1


def test_a_journal_of_people_alone_ends_no_first_run(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin, agent = _agent(world)
    monkeypatch.setattr(first_run, "WELL_BEGUN", 1)
    client = world.page("new owner")
    assert "Issue the key for copper" in _text(client.get("/"))
    assert client.post("/first/key/", {"agent": agent.id}).status_code == 201
    # What an import brings along was written by agents, without a key of ours.
    row = NewEntry(
        entry_type="peer.escalation", summary="Ore", agent_id=agent.id, as_agent=True
    )
    append.write([row], by=admin)
    assert "No agent has written here yet" not in _text(client.get("/"))


# ── Personal data ────────────────────────────────────────────────────────────
def test_a_compliance_officer_is_led_to_the_first_subject_and_case(
    world: World,
) -> None:
    world.new_workspace()
    client = world.page("new compliance")
    page = _text(client.get("/"))
    assert "Answer the first request" in page
    for path in ("/privacy/subjects/", "/privacy/cases/new/"):
        assert f'href="{path}' in page
        assert client.get(path).status_code == 200
    assert "Answer the first request" not in _text(world.page("new viewer").get("/"))


def test_with_a_subject_or_a_case_the_first_request_is_no_news(world: World) -> None:
    compliance = world.actor("compliance")
    assert first_run.lacks_subjects(compliance, 1)
    make.opened(world)
    assert not first_run.lacks_subjects(compliance, 1)
