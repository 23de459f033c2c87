"""The pages of an agent and of a crew: what they say, to whom."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from memory.models import AgentKey, MemoryFile
from tests.episodic.test_questions import logged
from tests.world import World

HOSTILE = '<script>alert("x")</script>'


def _text(response: Any) -> str:
    return str(response.content.decode())


def agent_page(world: World, person: str, slug: str = "ada") -> str:
    response = world.page(person).get(f"/workspace/agents/{world.agents[slug].pk}/")
    assert response.status_code == 200
    return _text(response)


def crew_page(world: World, person: str, query: str = "") -> str:
    crew = world.crews["support"]
    response = world.page(person).get(f"/workspace/crews/{crew.pk}/{query}")
    assert response.status_code == 200
    return _text(response)


# ── Who may ──────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("person", "status"),
    [("owner", 200), ("operator", 200), ("compliance", 200), ("viewer", 200),
     ("stranger", 404), ("nobody", 302)],
)  # fmt: skip
def test_people_of_the_workspace_read(world: World, person: str, status: int) -> None:
    client = world.page(person)
    for path in (
        f"/workspace/agents/{world.agents['ada'].pk}/",
        f"/workspace/crews/{world.crews['support'].pk}/",
    ):
        assert client.get(path).status_code == status, path


def test_acts_are_for_admins(world: World) -> None:
    admin, viewer = agent_page(world, "owner"), agent_page(world, "viewer")
    for control in ("Issue a key", "Change ada", "Revoke the key"):
        assert control in admin
        assert control not in viewer
    key = AgentKey.objects.filter(agent=world.agents["ada"]).first()
    assert key is not None
    assert key.prefix in admin
    assert key.prefix not in viewer


def test_held_texts_are_for_reviewers(world: World) -> None:
    world.held()
    queue = f"/quarantine/?state=held&amp;agent_id={world.agents['ada'].pk}"
    for person, is_shown in (("operator", True), ("viewer", False)):
        assert (queue in agent_page(world, person)) is is_shown
        assert ("1 text" in crew_page(world, person)) is is_shown


# ── What the pages say ───────────────────────────────────────────────────────
def test_the_headline_is_the_finding(world: World) -> None:
    MemoryFile.objects.filter(pk=world.file().pk).update(bytes=5_000)
    assert "and is over its cap in 1 file</h1>" in agent_page(world, "viewer")
    assert "support: 1 of 2 agents is over a cap</h1>" in crew_page(world, "viewer")
    AgentKey.objects.filter(agent=world.agents["bob"]).delete()
    page = agent_page(world, "viewer", "bob")
    assert "bob was never seen and has no key that works</h1>" in page


def test_an_agent_s_memory_and_acts(world: World) -> None:
    row = world.indexed("Refunds end at $200")
    other = world.indexed("Bills are due", by="bob")
    world.record()
    page = agent_page(world, "viewer")
    assert f"/journal/{row.id}/" in page
    assert f"/journal/{other.id}/" not in page
    assert "1 current" in page
    assert "Not recorded: the recall log is off." in page
    assert "Not recorded: no entry of the type llm.call" in page
    assert f"/records/?agent_id={world.agents['ada'].pk}" in page


def test_what_was_asked_and_not_answered(world: World) -> None:
    logged(world, "Who parked the submarine?", unanswered=True)
    page = agent_page(world, "viewer")
    assert "Who parked the submarine?" in page
    assert "submarine" not in agent_page(world, "viewer", "bob")


def test_the_cost_of_a_day(world: World) -> None:
    payload = {"cost_usd": 1.25, "tokens": 40}
    world.entry("Called", entry_type="llm.call", payload=payload)
    page = agent_page(world, "viewer")
    assert "$1.25" in page
    assert "1 call, 40 tokens" in page


def test_a_crew_lists_its_agents_and_its_lead(world: World) -> None:
    page = crew_page(world, "viewer")
    for slug, is_listed in (("ada", True), ("lena", True), ("bob", False)):
        link = f'href="/workspace/agents/{world.agents[slug].pk}/"'
        assert (link in page) is is_listed
    assert "Led by" in page
    lead_only = crew_page(world, "viewer", "?show=lead")
    assert '<h2 id="h-list">1 agent</h2>' in lead_only


def test_a_crew_adds_up_what_its_agents_cost_and_did_not_find(world: World) -> None:
    page = crew_page(world, "viewer")
    assert "Not recorded: the recall log is off." in page
    assert "Not recorded: no entry of the type llm.call" in page
    for by, dollars in (("ada", 1.25), ("lena", 2), ("bob", 40)):
        payload = {"cost_usd": dollars, "tokens": 40}
        world.entry("Called", by=by, entry_type="llm.call", payload=payload)
    for by in ("ada", "ada", "lena", "bob"):
        logged(world, "Who parked the submarine?", by=by, unanswered=True)
    logged(world, "Answered")
    page = crew_page(world, "viewer")
    assert "$3.25 in 24 hours" in page
    assert "2 calls, 80 tokens" in page
    assert "3 questions found nothing" in page
    lena, ada = (f">{name}</a></dt><dd>" for name in ("lena", "ada"))
    costs, asked = page.partition('id="h-cost"')[2], page.partition('id="h-asked"')[2]
    assert costs.index(f"{lena}$2.00") < costs.index(f"{ada}$1.25")
    assert asked.index(f"{ada}2 questions") < asked.index(f"{lena}1 question")


def test_hostile_text_is_text(world: World) -> None:
    world.indexed(HOSTILE)
    logged(world, HOSTILE, unanswered=True)
    for page in (agent_page(world, "owner"), crew_page(world, "owner")):
        assert HOSTILE not in page
        assert "&lt;script&gt;" in page


def test_restricted_entries_are_left_out(world: World) -> None:
    row = world.indexed("Maria called")
    type(row).objects.filter(pk=row.pk).update(restricted_at=row.ts)
    assert "Maria called" not in agent_page(world, "viewer")
    assert "Maria called" not in crew_page(world, "viewer")
    assert "Maria called" in agent_page(world, "compliance")


# ── Acts ─────────────────────────────────────────────────────────────────────
def test_a_key_is_revoked_on_the_page_of_its_agent(world: World) -> None:
    client, bob = world.page("owner"), world.agents["bob"]
    key = AgentKey.objects.get(agent=bob)
    elsewhere = f"/workspace/agents/{world.agents['ada'].pk}/keys/{key.pk}/revoke/"
    assert client.post(elsewhere).status_code == 404
    answer = client.post(f"/workspace/agents/{bob.pk}/keys/{key.pk}/revoke/")
    assert answer.headers["Location"] == f"/workspace/agents/{bob.pk}/"
    key.refresh_from_db()
    assert key.state == "revoked"


def test_the_form_of_the_page_issues_a_key(world: World) -> None:
    bob = world.agents["bob"]
    fields = {"agent": bob.pk, "scopes": ["read", "write"], "name": "nightly"}
    answer = world.page("owner").post("/workspace/keys/", fields)
    assert answer.status_code == 201
    assert AgentKey.objects.get(name="nightly").scopes == []
    page = agent_page(world, "owner", "bob")
    assert 'name="scopes" type="hidden" value="read"' in page
    assert f'name="agent" type="hidden" value="{bob.pk}"' in page


# ── The list ─────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "query", ["show=zeppelin", "sort=zeppelin", "crew_id=crew_0", "q=" + "x" * 101]
)
def test_an_unknown_filter_is_refused(world: World, query: str) -> None:
    response = world.page("viewer").get(f"/workspace/agents/?{query}")
    assert response.status_code == 422


def test_the_list_keeps_its_filters_from_page_to_page(world: World) -> None:
    page = _text(world.page("viewer").get("/workspace/agents/?show=unwritten&q=bo"))
    assert 'name="show" type="hidden" value="unwritten"' in page
    assert f"/workspace/agents/{world.agents['bob'].pk}/" in page
    assert f"/workspace/agents/{world.agents['ada'].pk}/" not in page


def test_pages_need_few_queries(
    world: World, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client = world.page("owner")
    # Twelve of each are the frame's.
    paths = {
        "/workspace/agents/": 17,
        f"/workspace/agents/{world.agents['ada'].pk}/": 33,
        f"/workspace/crews/{world.crews['support'].pk}/": 30,
    }
    for path, most in paths.items():
        client.get(path)
        with django_assert_max_num_queries(most):
            client.get(path)


def test_what_a_form_replaces_is_on_the_page(world: World) -> None:
    page = agent_page(world, "owner")
    targets = re.findall('hx-target="#([^"]+)"', page)
    assert all(f'id="{target}"' in page for target in targets)
