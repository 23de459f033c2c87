"""The gateway server: credentials, search, and isolation of users."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory import records
from memory.files.paths import Owner
from memory.integrations.gateway import server as gateway_server
from memory.integrations.gateway import users
from memory.integrations.gateway.users import Limits
from memory.journal import verify
from memory.models import GatewayKey, GatewayPending, HeldFile, JournalEntry, Record
from memory.records.drafts import Draft
from memory.rules import errors
from memory.rules.permissions import KeyScope
from memory.rules.scopes import Scope
from tests.integrations.gateway_client import GatewayClient, clock
from tests.world import ATTACK, World

ALL = ["current_chat", "resources", "all_user_memory"]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait: nothing embeds while a test runs."""
    monkeypatch.setattr(gateway_server, "SETTLE_SECONDS", 0.0)


@pytest.fixture
def issue(world: World) -> Any:
    """Return a function that issues a key for a user."""

    def issue_client(
        user: str = "mia", agent: str = "ada", **limits: Any
    ) -> GatewayClient:
        owner = world.actor("stranger" if agent == "olga" else "owner")
        key_limits = Limits(**limits)
        return GatewayClient(
            users.issue(world.agents[agent], user, key_limits, by=owner)
        )

    return issue_client


@pytest.fixture
def mia(issue: Any) -> GatewayClient:
    """Return a user of ada's memory."""
    client: GatewayClient = issue()
    return client


# ── Scopes ───────────────────────────────────────────────────────────────────
TEXTS = {
    "chat:c1": "The invoice lies in the blue folder",
    "chat:c2": "The invoice was paid on Monday",
    "resource:mia:r1": "Each invoice is due in thirty days",
}
SCOPE_CASES: list[tuple[list[str], dict[str, str]]] = [
    (["current_chat"], {"chat:c1": "current_chat"}),
    (["resources"], {"resource:mia:r1": "resources"}),
    (["all_user_memory"], dict.fromkeys(TEXTS, "all_user_memory")),
    (
        ["current_chat", "resources"],
        {"chat:c1": "current_chat", "resource:mia:r1": "resources"},
    ),
    (
        [*ALL, "current_chat"],
        {
            "chat:c1": "current_chat",
            "chat:c2": "all_user_memory",
            "resource:mia:r1": "resources",
        },
    ),
]


@pytest.fixture
def filled(mia: GatewayClient) -> GatewayClient:
    """Return a user with a memory in every scope."""
    for session, text in TEXTS.items():
        mia.add(text, session)
    return mia


@pytest.mark.parametrize(("scope", "expected"), SCOPE_CASES)
def test_each_scope_and_all_together(
    filled: GatewayClient, scope: list[str], expected: dict[str, str]
) -> None:
    hits = filled.search("where is the invoice", scope)
    assert {hit["session_id"]: hit["source_scope"] for hit in hits} == expected
    assert len(hits) == len(expected)
    scores = [hit["score"] for hit in hits]
    assert scores == sorted(scores, reverse=True)
    for hit in hits:
        assert hit["text"] == TEXTS[hit["session_id"]]
        is_resource = hit["session_id"].startswith("resource:")
        uri = "resource://mia/r1" if is_resource else None
        assert hit["resource_uri"] == uri
        assert set(hit["raw"]) == {"role", "timestamp"}


def test_without_a_conversation_the_current_chat_is_empty(
    filled: GatewayClient,
) -> None:
    for no_conversation in ({"conversation_id": None}, {"conversation_id": ""}):
        assert filled.search("invoice", ["current_chat"], **no_conversation) == []
    body = {**filled.who, "query": "invoice", "scope": ["current_chat", "resources"]}
    [hit] = filled.raw("search", body).json()["results"]
    assert hit["source_scope"] == "resources"


@pytest.mark.parametrize("top_k", [1, 2])
def test_top_k_cuts_the_union(filled: GatewayClient, top_k: int) -> None:
    hits = filled.search("invoice", ALL, top_k=top_k)
    assert len(hits) == top_k
    assert hits == filled.search("invoice", ALL)[:top_k]


def test_a_hundred_at_once(mia: GatewayClient) -> None:
    messages = [
        {
            "sender_id": "mia",
            "role": "user",
            "timestamp": next(clock),
            "content": f"Parcel number {n} is on its way",
        }
        for n in range(120)
    ]
    added = mia.call("add", session_id="chat:c1", messages=messages)
    assert added == {"status": "accumulated", "message_count": 120, "held": 0}
    assert len(mia.search("parcel", ["current_chat"], top_k=100)) == 100


# ── Isolation ────────────────────────────────────────────────────────────────
def test_nobody_finds_another_users_memory(issue: Any, filled: GatewayClient) -> None:
    for other in (issue("tom"), issue("mia", "bob"), issue("mia", "olga")):
        assert other.search("invoice", ALL) == []
        assert other.search("invoice", ALL, app_id="shop") == []
    second_key = issue("mia")
    assert len(second_key.search("invoice", ALL)) == 3


def test_apps_and_projects_are_apart(mia: GatewayClient) -> None:
    places = [
        {"app_id": app, "project_id": project}
        for app in ("default", "shop")
        for project in ("default", "desk")
    ]
    for number, place in enumerate(places):
        message_fields = {"sender_id": "mia", "role": "user", "timestamp": 1 + number}
        message = {**message_fields, "content": f"Invoice of place {number}"}
        mia.call("add", session_id="chat:c1", messages=[message], **place)
    for number, place in enumerate(places):
        texts = mia.texts("invoice", ALL, **place)
        assert texts == {f"Invoice of place {number}"}
    assert mia.texts("invoice", ALL) == {"Invoice of place 0"}


def test_other_records_of_the_agent_are_not_the_users(
    world: World, mia: GatewayClient
) -> None:
    for place in ({}, {"app_id": "default", "project_id": "default"}):
        for user in ("", "tom"):
            scope = Scope(user=user, extra=place)
            draft = Draft(
                content="The invoice of nobody",
                owner=Owner(world.crews["support"], world.agents["ada"]),
                scope=scope,
            )
            records.save(
                draft,
                provenance=records.Provenance.USER_REQUESTED,
                by=world.actor("ada"),
            )
    assert mia.search("invoice", ALL) == []


# ── Who comes in ─────────────────────────────────────────────────────────────
def test_unknown_and_wrong_are_one_answer(
    world: World, issue: Any, mia: GatewayClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    tom, revoked, late = issue("tom"), issue("gone"), issue("late")
    users.revoke(revoked.key, by=world.actor("owner"))
    past = timezone.now() - timedelta(seconds=1)
    GatewayKey.objects.filter(pk=late.key.pk).update(expires_at=past)
    pairs = [
        ("nobody", mia.token),
        ("mia", tom.token),
        ("mia", "uk_wrong"),
        ("nobody", "uk_wrong"),
        ("mia", world.tokens["ada"]),
        ("mia", mia.key.digest),
        ("gone", revoked.token),
        ("late", late.token),
        ("mia ", mia.token),
        ("MIA", mia.token),
    ]
    bodies = set()
    for user, key in pairs:
        for operation in ("search", "add", "flush"):
            body = {"user_id": user, "user_key": key, "query": "x", "scope": ALL}
            reply = mia.raw(operation, body)
            assert reply.status_code == 401, (user, operation)
            bodies.add((reply.content, str(sorted(reply.headers.items()))))
    assert len(bodies) == 1
    assert Record.objects.count() == 0
    assert [key for _, key in pairs if key in caplog.text] == []


def test_revoking_is_at_once(world: World, mia: GatewayClient) -> None:
    mia.add("One")
    users.revoke(mia.key, by=world.actor("owner"))
    body = {**mia.who, "query": "one", "scope": ALL}
    assert mia.raw("search", body).status_code == 401


def test_a_key_may_be_limited(issue: Any) -> None:
    narrow = issue(app_id="shop", project_id="desk")
    body = {"query": "x", "scope": ALL}
    places = [{}, {"app_id": "shop"}, {"app_id": "shop", "project_id": "other"}]
    for place in places:
        reply = narrow.raw("search", {**narrow.who, **body, **place})
        assert reply.status_code == 403
        assert "detail" in reply.json()
    at = {"app_id": "shop", "project_id": "desk"}
    assert narrow.search("x", ALL, **at) == []
    assert narrow.search("x", ALL, **at, agent_id="ada") == []
    assert narrow.search("x", ALL, **at, agent_id=narrow.key.agent_id) == []
    reply = narrow.raw("search", {**narrow.who, **body, **at, "agent_id": "bob"})
    assert reply.status_code == 403


def test_a_reading_key_adds_nothing(issue: Any) -> None:
    reader = issue(scopes=(KeyScope.READ,))
    assert reader.search("x", ALL) == []
    body = {**reader.who, "session_id": "chat:c1"}
    message = {"sender_id": "a", "role": "user", "timestamp": 1, "content": "x"}
    for operation, fields in (("add", {"messages": [message]}), ("flush", {})):
        assert reader.raw(operation, {**body, **fields}).status_code == 403
    writer = issue(scopes=(KeyScope.WRITE,))
    writer.add("Two")
    body = {**writer.who, "query": "two", "scope": ALL}
    assert writer.raw("search", body).status_code == 403


@pytest.mark.parametrize("role", ["operator", "compliance", "viewer", "ada", "looker"])
def test_only_an_admin_issues_and_revokes(
    world: World, mia: GatewayClient, role: str
) -> None:
    actor = world.actor(role)
    with pytest.raises(errors.Forbidden):
        users.issue(world.agents["ada"], "tom", by=actor)
    with pytest.raises(errors.Forbidden):
        users.revoke(mia.key, by=actor)
    stranger = world.actor("stranger")
    with pytest.raises(errors.NotFound):
        users.issue(world.agents["ada"], "tom", by=stranger)
    with pytest.raises(errors.NotFound):
        users.get(stranger, mia.key.id)
    assert users.list_keys(stranger) == []


@pytest.mark.parametrize("user", ["", " ", "a/b", "../x", "a:b", "ä", "x" * 129, "a b"])
def test_a_user_is_a_name(world: World, user: str) -> None:
    with pytest.raises(errors.Invalid):
        users.issue(world.agents["ada"], user, by=world.actor("owner"))


def test_issuing_is_in_the_journal_without_the_key(
    world: World, mia: GatewayClient
) -> None:
    users.revoke(mia.key, by=world.actor("owner"))
    users.revoke(mia.key, by=world.actor("owner"))
    rows = JournalEntry.objects.filter(entry_type__startswith="gateway_key.")
    assert sorted(row.entry_type for row in rows) == [
        "gateway_key.issued",
        "gateway_key.revoked",
    ]
    assert all(mia.token not in str(vars(row)) for row in rows)
    assert mia.token not in str(GatewayKey.objects.values())


# ── Add and flush ────────────────────────────────────────────────────────────
def test_what_was_added_is_found_when_flush_answers(mia: GatewayClient) -> None:
    assert mia.add("The parcel is in Graz")["status"] == "accumulated"
    assert mia.call("flush", session_id="chat:c1") == {"status": "extracted"}
    assert mia.texts("parcel", ["current_chat"]) == {"The parcel is in Graz"}
    for _ in range(2):
        second_flush = mia.call("flush", session_id="chat:c1")
        assert second_flush == {"status": "no_extraction"}
    assert mia.call("flush", session_id="chat:c9") == {"status": "no_extraction"}
    assert GatewayPending.objects.count() == 0
    assert len(mia.search("parcel", ALL)) == 1


def test_a_replay_is_stored_once(mia: GatewayClient) -> None:
    message = {"sender_id": "mia", "role": "user", "timestamp": 7, "content": "Twice"}
    entries = set()
    for _ in range(3):
        added = mia.call("add", session_id="chat:c1", messages=[message, message])
        assert added["message_count"] == 2
        entries.add(JournalEntry.objects.filter(entry_type="memory.recorded").count())
    assert entries == {1}
    assert len(mia.search("twice", ALL)) == 1
    for other in ({"timestamp": 8}, {"role": "assistant"}, {"content": "Twice!"}):
        mia.call("add", session_id="chat:c1", messages=[{**message, **other}])
    mia.call("add", session_id="chat:c2", messages=[message])
    assert len(mia.search("twice", ALL)) == 5


def test_a_memory_is_a_record_that_names_its_user(
    world: World, mia: GatewayClient
) -> None:
    mia.add("I moved to Graz", role="user")
    [row] = Record.objects.all()
    assert row.provenance == "agent_extracted"
    assert (row.scope_user, row.session_id, row.kind) == ("mia", "chat:c1", "episode")
    assert (row.agent_id, row.crew_id) == (
        world.agents["ada"].id,
        world.crews["support"].id,
    )
    entry = row.current_entry
    assert entry is not None
    assert {mention.alias for mention in entry.mentions.all()} == {"mia"}
    assert mia.token not in str(vars(entry)) + str(vars(row))


def test_held_text_is_not_found_and_keeps_nothing_else_back(mia: GatewayClient) -> None:
    message_fields = {"sender_id": "mia", "timestamp": 5}
    messages = [
        {**message_fields, "role": "user", "content": ATTACK},
        {**message_fields, "role": "assistant", "content": "I will not send any key."},
    ]
    added = mia.call("add", session_id="chat:c1", messages=messages)
    assert added == {"status": "accumulated", "message_count": 2, "held": 1}
    assert mia.texts("send key instructions", ALL) == {"I will not send any key."}
    assert HeldFile.objects.filter(tier="records").count() == 1


def test_what_looks_like_an_order_and_is_none_comes_back_as_data(
    mia: GatewayClient,
) -> None:
    text = 'He wrote: <b>always</b> press the "red" button & do not ask'
    mia.add(text)
    assert mia.texts("red button", ["current_chat"]) == {text}


# ── Shapes ───────────────────────────────────────────────────────────────────
GOOD: dict[str, Any] = {
    "search": {"query": "x", "scope": ALL, "conversation_id": "c1"},
    "add": {
        "session_id": "chat:c1",
        "messages": [
            {"sender_id": "m", "role": "user", "timestamp": 1, "content": "x"}
        ],
    },
    "flush": {"session_id": "chat:c1"},
}
no: list[str] = []
BAD: list[tuple[str, dict[str, Any]]] = [
    *[("search", {"query": bad}) for bad in ("", None, 7, ["x"])],
    *[("search", {"scope": bad}) for bad in (no, None, "resources", ["chat"], [1])],
    *[("search", {"top_k": bad}) for bad in (0, 101, -1, True, "8", 8.5, None)],
    *[("search", {"conversation_id": bad}) for bad in (7, "x" * 129)],
    *[("flush", {"app_id": bad}) for bad in ("", None, 7, "x" * 129)],
    *[("flush", {"session_id": bad}) for bad in ("", None, "c1", "chat:", "x:c1")],
    ("flush", {"session_id": "chat:" + "x" * 124}),
    ("flush", {"session_id": "resource:tom:r1"}),
    ("flush", {"session_id": "resource:mia:"}),
    ("flush", {"session_id": "memory_edit:tom"}),
    *[("add", {"messages": bad}) for bad in (no, None, "x", [1], [{"a": 1}])],
    ("add", {"messages": GOOD["add"]["messages"] * 501}),
    *[
        ("add", {"messages": [{**GOOD["add"]["messages"][0], **bad}]})
        for bad in (
            {"timestamp": 0},
            {"timestamp": -1},
            {"timestamp": "1"},
            {"timestamp": True},
            {"timestamp": 1.5},
            {"role": "system"},
            {"sender_id": ""},
            {"sender_id": "a/b"},
            {"sender_id": ".."},
            {"sender_id": "x" * 129},
            {"content": ""},
            {"content": "  "},
            {"content": None},
            {"content": "a\x00b"},
        )
    ],
]


@pytest.mark.parametrize(("operation", "fields"), BAD)
def test_a_bad_shape(
    mia: GatewayClient, operation: str, fields: dict[str, Any]
) -> None:
    reply = mia.raw(operation, {**mia.who, **GOOD[operation], **fields})
    assert reply.status_code == 422, reply.content
    detail = reply.json()["detail"]
    assert isinstance(detail, (list, str))
    assert mia.token not in reply.content.decode()
    assert Record.objects.count() == 0


@pytest.mark.parametrize("operation", ["search", "add", "flush"])
@pytest.mark.parametrize("field", ["user_id", "user_key"])
def test_a_credential_that_is_none(
    mia: GatewayClient, operation: str, field: str
) -> None:
    for bad in (..., "", None, 7, ["x"], {"a": 1}):
        body = {**mia.who, **GOOD[operation], field: bad}
        body = {name: value for name, value in body.items() if value is not ...}
        reply = mia.raw(operation, body)
        assert reply.status_code == 422
        assert [fault["loc"] for fault in reply.json()["detail"]] == [["body", field]]
        assert mia.token not in reply.content.decode()


def test_bodies_that_are_no_objects_and_other_addresses(mia: GatewayClient) -> None:
    for raw in (b"", b"[]", b'"x"', b"null", b"7"):
        reply = mia.raw("search", raw)
        assert reply.status_code == 422
        assert reply.json()["detail"][0]["loc"] == ["body"]
    assert mia.raw("search", b"{").status_code == 400
    assert mia.client.get("/gateway/memories/search").status_code == 405
    assert mia.raw("", mia.who, "/gateway/memories/forget").status_code == 404
    assert mia.raw("", mia.who, "/gateway/nothing").json()["detail"]
    body = {**mia.who, **GOOD["search"]}
    assert mia.raw("", body, "/gateway/memories/search/").json() == {"results": []}
    assert mia.client.get("/gateway/health").json()["status"] == "ok"


def test_unknown_keys_of_newer_clients_are_passed_over(mia: GatewayClient) -> None:
    assert mia.call("search", **GOOD["search"], later={"x": 1}) == {"results": []}


@pytest.fixture
def _slow_down(monkeypatch: pytest.MonkeyPatch) -> None:
    from crewship_memory import integrations

    monkeypatch.setattr(integrations._throttle, "limit", 2)


@pytest.mark.usefixtures("_slow_down")
def test_too_much_is_told_when_to_come_back(issue: Any, mia: GatewayClient) -> None:
    body = {**mia.who, **GOOD["search"]}
    statuses = [mia.raw("search", body).status_code for _ in range(2)]
    reply = mia.raw("search", body)
    assert (statuses, reply.status_code) == ([200, 200], 429)
    assert 1 <= int(reply.headers["Retry-After"]) <= 60
    assert issue("tom").search("x", ALL) == []


def test_the_key_is_in_no_log(
    mia: GatewayClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    mia.add("One")
    mia.search("one", ALL)
    for operation, fields in BAD[::7]:
        mia.raw(operation, {**mia.who, **GOOD[operation], **fields})
    log_text = caplog.text + repr([record.__dict__ for record in caplog.records])
    assert mia.token not in log_text


def test_the_chain_still_holds(world: World, mia: GatewayClient) -> None:
    mia.add("One")
    mia.call("flush", session_id="chat:c1")
    assert verify.verify(world.acme.id, by=world.actor("owner")).ok
