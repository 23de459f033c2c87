"""The pages of agents, keys and members: permissions, secrets once, errors."""

from __future__ import annotations

import html
import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from memory.accounts import api_keys, workspaces
from memory.models import (
    Agent,
    AgentKey,
    Crew,
    Invitation,
    Membership,
    OperatorKey,
)
from memory.rules.permissions import KeyScope, Role, system
from tests.world import World

HTMX = {"HX-Request": "true"}
PAGES = ("/workspace/agents/", "/workspace/keys/", "/workspace/members/")


def _text(response: Any) -> str:
    return str(response.content.decode())


# ── Who may ──────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("user", "statuses"),
    [
        ("owner", (200, 200, 200)),
        ("operator", (200, 403, 200)),
        ("compliance", (200, 403, 200)),
        ("viewer", (200, 403, 200)),
        ("nobody", (302, 302, 302)),
    ],
)
def test_people_read_and_admins_read_keys(
    world: World, user: str, statuses: tuple[int, ...]
) -> None:
    client = world.page(user)
    assert tuple(client.get(page).status_code for page in PAGES) == statuses


@pytest.mark.parametrize("user", ["operator", "compliance", "viewer"])
def test_only_admins_write(world: World, user: str) -> None:
    client, ada = world.page(user), world.agents["ada"]
    key = AgentKey.objects.filter(agent=ada, revoked_at=None).first()
    member = Membership.objects.get(user=world.people["viewer"])
    assert key is not None
    posts = {
        "/workspace/agents/": {"slug": "x"},
        "/workspace/agents/crew/": {"slug": "x"},
        f"/workspace/agents/{ada.pk}/": {"role": "LEAD", "walk_depth": "1"},
        f"/workspace/agents/{ada.pk}/keys/{key.pk}/revoke/": {},
        "/workspace/keys/": {},
        "/workspace/keys/person/": {},
        f"/workspace/keys/{key.pk}/revoke/": {},
        "/workspace/members/": {"email": "x@y.example", "role": "admin"},
        f"/workspace/members/{member.pk}/": {"role": "admin"},
        f"/workspace/members/{member.pk}/link/": {},
        f"/workspace/members/{member.pk}/remove/": {},
        "/workspace/members/invited/inv_0/link/": {},
        "/workspace/members/invited/inv_0/withdraw/": {},
    }
    for path, data in posts.items():
        assert client.post(path, data).status_code == 403, path
    key.refresh_from_db()
    member.refresh_from_db()
    assert (key.state, member.role) == ("active", "viewer")
    assert not Invitation.objects.filter(email="x@y.example").exists()


def test_a_refused_reader_sees_no_controls(world: World) -> None:
    page = _text(world.page("viewer").get("/workspace/agents/"))
    assert "Add the agent" not in page
    assert 'popovertarget="change-' not in page
    assert "Invite" not in _text(world.page("viewer").get("/workspace/members/"))


def test_what_belongs_to_others_is_not_there(world: World) -> None:
    client = world.page("owner")
    olga = world.agents["olga"]
    foreign_key = AgentKey.objects.get(agent=olga)
    stranger = Membership.objects.get(user=world.people["stranger"])
    change = {"role": "LEAD", "walk_depth": "1"}
    assert client.post(f"/workspace/agents/{olga.pk}/", change).status_code == 404
    assert client.post(f"/workspace/keys/{foreign_key.pk}/revoke/").status_code == 404
    for act in ("", "link/", "remove/"):
        path = f"/workspace/members/{stranger.pk}/{act}"
        assert client.post(path, {"role": "viewer"}).status_code == 404, path
    for page in PAGES:
        assert "olga" not in _text(client.get(page))
        assert "stranger" not in _text(client.get(page))


# ── Agents ───────────────────────────────────────────────────────────────────
def test_an_admin_adds_a_crew_and_an_agent(world: World) -> None:
    client = world.page("owner")
    added = client.post("/workspace/agents/crew/", {"slug": "web", "name": "Web shop"})
    assert added.headers["Location"] == "/workspace/agents/"
    crew = Crew.objects.get(workspace=world.acme, slug="web")
    form_data = {"crew": crew.pk, "slug": "milo", "role": "LEAD", "walk_depth": "1"}
    page = client.post("/workspace/agents/", form_data, follow=True)
    assert "milo joined web" in _text(page)
    milo = Agent.objects.get(crew=crew)
    assert (milo.role, milo.memory_walk_depth) == ("LEAD", 1)


@pytest.mark.parametrize(
    ("path", "data", "status", "fault"),
    [
        ("agents/crew/", {"slug": "Not A Slug"}, 422, "Use lower-case letters"),
        ("agents/crew/", {"slug": "support"}, 409, "There is a crew of this name."),
        ("agents/", {"slug": "zed"}, 422, "This field is required."),
        ("agents/", {"crew": "{crew}", "slug": "ada", "role": "AGENT",
                     "walk_depth": "0"}, 409, "support has an agent of this name."),
    ],
)  # fmt: skip
@pytest.mark.parametrize("headers", [{}, HTMX])
def test_a_faulty_form_comes_back_with_its_input(
    world: World, path: str, data: dict[str, str], status: int, fault: str,
    headers: dict[str, str],
) -> None:  # fmt: skip
    crew = world.crews["support"].pk
    form_data = {name: value.format(crew=crew) for name, value in data.items()}
    answer = world.page("owner").post(f"/workspace/{path}", form_data, headers=headers)
    page = _text(answer)
    assert answer.status_code == status
    assert fault in page
    assert f'value="{form_data["slug"]}"' in page
    assert 'aria-invalid="true"' in page
    assert ("<html" in page) is not bool(headers)


def test_an_agent_changes(world: World) -> None:
    ada = world.agents["ada"]
    client = world.page("owner")
    path = f"/workspace/agents/{ada.pk}/"
    assert client.post(path, {"role": "LEAD", "walk_depth": "1"}).status_code == 302
    ada.refresh_from_db()
    assert (ada.role, ada.memory_walk_depth) == ("LEAD", 1)
    assert client.post(path, {"role": "BOSS", "walk_depth": "7"}).status_code == 422


def test_agents_show_working_keys_and_their_newest_entry(world: World) -> None:
    world.entry(by="bob")
    page = _text(world.page("viewer").get("/workspace/agents/"))
    row = page[page.index(">bob<") :].split("</tr>")[0]
    assert '<td class="number" data-label="Keys">1</td>' in row
    assert "never" not in row
    assert f'href="/workspace/agents/{world.agents["bob"].pk}/"' in page


def test_agents_ask_the_same_number_of_questions_for_many(
    world: World, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    crew = world.crews["support"]
    for number in range(20):
        workspaces.ensure_agent(f"agent-{number}", crew, by=world.actor("owner"))
    client = world.page("owner")
    for page in PAGES:
        with django_assert_max_num_queries(20):
            client.get(page)


# ── Keys ─────────────────────────────────────────────────────────────────────
def _token(page: str) -> str:
    match = re.search(r'id="token">(cmk_[\w-]+)<', page)
    assert match is not None
    return match.group(1)


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_an_agent_key_is_shown_once_and_works(
    world: World, headers: dict[str, str]
) -> None:
    client = world.page("owner")
    day = (timezone.now() + timedelta(days=30)).date()
    form_data = {
        "agent": world.agents["ada"].pk,
        "name": "nightly",
        "scopes": ["read"],
        "expires_on": day.isoformat(),
    }
    answer = client.post("/workspace/keys/", form_data, headers=headers)
    assert answer.status_code == 201
    assert "no-store" in answer.headers["Cache-Control"]
    token = _token(_text(answer))
    actor = api_keys.authenticate(token)
    assert actor is not None
    assert (actor.label, actor.scopes) == ("ada", frozenset({KeyScope.READ}))
    key = AgentKey.objects.get(name="nightly")
    assert key.expires_at is not None
    assert key.expires_at.date() == day
    later = _text(client.get("/workspace/keys/"))
    assert token not in later
    assert key.digest not in later
    assert f"{key.prefix}…" in later


def test_a_fresh_agent_key_comes_with_the_configuration(world: World) -> None:
    form_data = {"agent": world.agents["ada"].pk, "scopes": ["read", "write"]}
    client = world.page("owner")
    page = _text(client.post("/workspace/keys/", form_data, headers=HTMX))
    assert re.search(r'hx-swap-oob="true">\d+ keys open the API</h1>', page)
    snippet = re.search(r'<pre class="code" id="connect"[^>]*>(.*?)</pre>', page, re.S)
    assert snippet is not None
    server = json.loads(html.unescape(snippet.group(1)))["mcpServers"][
        "crewship-memory"
    ]
    assert server["url"] == "http://testserver/mcp"
    assert server["headers"]["Authorization"] == f"Bearer {_token(page)}"
    assert 'id="connect"' not in _text(client.get("/workspace/keys/"))


def test_a_key_for_a_person_has_a_role(world: World) -> None:
    member = Membership.objects.get(user=world.people["operator"])
    form_data = {"member": member.pk, "role": "operator", "scopes": ["read", "write"]}
    answer = world.page("owner").post("/workspace/keys/person/", form_data)
    actor = api_keys.authenticate(_token(_text(answer)))
    assert actor is not None
    assert (actor.role, actor.scopes) == (Role.OPERATOR, frozenset())


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("", {"agent": "{ada}", "scopes": ["read"], "expires_on": "2020-01-01"}),
        ("", {"agent": "{ada}", "scopes": []}),
        ("", {"agent": "{olga}", "scopes": ["read"]}),
        ("person/", {"member": "m_0", "role": "admin", "scopes": ["read"]}),
        ("person/", {"member": "m_0", "role": "agent", "scopes": ["fly"]}),
    ],
)
def test_a_faulty_key_form_issues_nothing(
    world: World, path: str, data: dict[str, Any]
) -> None:
    before = AgentKey.objects.count() + OperatorKey.objects.count()
    if "agent" in data:
        ids = {name: agent.pk for name, agent in world.agents.items()}
        data = {**data, "agent": data["agent"].format(**ids)}
    answer = world.page("owner").post(f"/workspace/keys/{path}", data)
    assert answer.status_code == 422
    assert 'class="fault"' in _text(answer)
    assert AgentKey.objects.count() + OperatorKey.objects.count() == before


def test_a_revoked_key_is_refused_at_once(world: World) -> None:
    assert api_keys.authenticate(world.tokens["bob"]) is not None
    key = AgentKey.objects.get(agent=world.agents["bob"])
    client = world.page("owner")
    page = client.post(f"/workspace/keys/{key.pk}/revoke/", follow=True)
    assert f"Key {key.prefix}… of bob revoked" in _text(page)
    assert api_keys.authenticate(world.tokens["bob"]) is None
    response = client.post(f"/workspace/keys/{key.pk}/revoke/")
    assert response.status_code == 302


def test_every_state_of_a_key_is_a_word(world: World) -> None:
    page = _text(world.page("owner").get("/workspace/keys/"))
    for word in ("active", "expired", "revoked", "read only"):
        assert word in page


@pytest.mark.parametrize("path", ["agents/crew/", "keys/person/"])
def test_reloading_the_address_of_a_form_leads_back(world: World, path: str) -> None:
    answer = world.page("owner").get(f"/workspace/{path}")
    assert answer.headers["Location"] == f"/workspace/{path.split('/')[0]}/"


# ── Members ──────────────────────────────────────────────────────────────────
def test_a_role_changes_and_a_member_leaves(world: World) -> None:
    client = world.page("owner")
    member = Membership.objects.get(user=world.people["viewer"])
    path = f"/workspace/members/{member.pk}/"
    page = client.post(path, {"role": "operator"}, follow=True)
    assert "viewer@acme.example is operator now" in _text(page)
    assert client.post(path, {"role": "owner"}).status_code == 422
    page = client.post(f"{path}remove/", follow=True)
    assert "viewer@acme.example removed" in _text(page)
    assert api_keys.authenticate(world.tokens["viewer"]) is None


def test_the_last_admin_stays(world: World) -> None:
    client = world.page("owner")
    member = Membership.objects.get(user=world.people["owner"])
    path = f"/workspace/members/{member.pk}/"
    assert "last admin" in _text(client.post(path, {"role": "viewer"}, follow=True))
    assert "last admin" in _text(client.post(f"{path}remove/", follow=True))
    member.refresh_from_db()
    assert member.role == "admin"


def test_two_admins_may_part(world: World) -> None:
    workspaces.set_member(
        world.people["operator"], Role.ADMIN, by=system(world.acme.pk)
    )
    member = Membership.objects.get(user=world.people["owner"])
    client = world.page("operator")
    assert client.post(f"/workspace/members/{member.pk}/remove/").status_code == 302
    assert not Membership.objects.filter(pk=member.pk).exists()


def test_after_success_htmx_gets_the_fragment_with_the_news(world: World) -> None:
    client = world.page("owner")
    page = client.post(
        "/workspace/agents/crew/", {"slug": "web"}, headers=HTMX, follow=True
    )
    html = _text(client.get("/workspace/agents/", headers=HTMX))
    assert "Crew web created" in _text(page)
    assert html.lstrip().startswith('<div class="page-body" id="body">')
