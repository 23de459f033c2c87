"""Two workspaces: whatever of another one is named, and wherever, it is not there."""

from __future__ import annotations

from typing import Any

import pytest

from memory.journal import append as journal
from memory.models import JournalEntry
from memory.rules.entries import Priority
from tests import factories
from tests.world import ApiClient, Reply, World

UNKNOWN_ID = "j_0000000000000000"
CANARY = "zeppelin-canary-4711"


@pytest.fixture
def foreign_entry(world: World) -> JournalEntry:
    """An entry of the other workspace, full of words nobody here may read."""
    row = world.indexed(
        CANARY, by="olga", subjects=("Olga Canary",), mission_id="m-canary"
    )
    journal.prioritise(row, Priority.PIN, "", by=world.actor("stranger"))
    return row


def not_there(reply: Reply) -> None:
    """Check the one answer for everything that is missing or not yours."""
    assert (reply.status, reply.code) == (404, "not_found")
    assert reply.data == {
        "type": "urn:crewship-memory:problem:not_found",
        "title": "Not found",
        "status": 404,
        "detail": "There is nothing here under this address.",
        "code": "not_found",
    }


def probes(api: ApiClient, entry_id: str, crew_id: str, agent_id: str) -> list[Reply]:
    """Name somebody's things in every place that takes an id."""
    request_body = {"query": "x"}
    return [
        api.get(f"/journal/{entry_id}"),
        api.post(f"/journal/{entry_id}/priority", {"priority": "pin"}),
        api.get("/journal", {"crew_id": crew_id}),
        api.get("/journal", {"agent_id": agent_id}),
        api.get("/journal/count", {"crew_id": crew_id}),
        api.get("/journal/count", {"agent_id": agent_id}),
        api.post("/episodic/recall", {**request_body, "crew_id": crew_id}),
        api.post("/episodic/recall", {**request_body, "agent_id": agent_id}),
        api.post(
            "/episodic/recall", {**request_body, "agent_id": agent_id, "scope": "own"}
        ),
        api.post("/episodic/why", {**request_body, "entry_id": entry_id}),
        api.post("/episodic/index", {"entry_ids": [entry_id]}),
    ]


def test_foreign_and_missing_ids_get_the_same_answer(
    world: World, foreign_entry: JournalEntry
) -> None:
    crew, agent = world.crews["other/support"].id, world.agents["olga"].id
    for api in (world.api("owner"), world.api("operator"), world.session("operator")):
        foreign = probes(api, foreign_entry.id, crew, agent)
        not_found = probes(api, UNKNOWN_ID, "crew_0", "agent_0")
        for reply, other in zip(foreign, not_found, strict=True):
            not_there(reply)
            not_there(other)
            assert reply.body == other.body


def test_an_agent_gets_the_same_for_another_crew(world: World) -> None:
    row = world.entry(by="bob")
    crew, agent = world.crews["billing"].id, world.agents["bob"].id
    ada = world.api("ada")
    for reply in probes(ada, row.id, crew, agent):
        if reply.status != 403:
            not_there(reply)


def test_a_batch_of_ids_with_one_foreign_does_nothing(
    world: World, foreign_entry: JournalEntry
) -> None:
    own_entry = world.entry()
    reply = world.api("operator").post(
        "/episodic/index", {"entry_ids": [own_entry.id, foreign_entry.id]}
    )
    not_there(reply)
    detail = world.api("operator").get(f"/journal/{own_entry.id}").data
    assert detail["embedding"]["state"] == "pending"


def test_a_cursor_of_another_workspace(
    world: World, foreign_entry: JournalEntry
) -> None:
    cursor = world.api("stranger").get("/journal", {"limit": 1}).data["next_cursor"]
    assert cursor
    not_there(world.api("operator").get("/journal", {"limit": 1, "cursor": cursor}))


@pytest.mark.parametrize("caller", ["ada", "operator"])
def test_the_workspace_header_names_the_keys_own_or_nothing(
    world: World, caller: str
) -> None:
    api = world.api(caller)
    assert api.get("/me", headers={"X-Workspace-ID": world.acme.id}).status == 200
    for workspace_id in (world.other.id, "ws_0", world.acme.slug):
        not_there(api.get("/me", headers={"X-Workspace-ID": workspace_id}))
        not_there(api.get("/journal", headers={"X-Workspace-ID": workspace_id}))
    browser = world.session("viewer")
    not_there(browser.get("/journal", headers={"X-Workspace-ID": world.other.id}))


def test_no_answer_holds_a_word_of_another_workspace(
    world: World, foreign_entry: JournalEntry
) -> None:
    own_entry = world.indexed("a refund of mine")
    replies: list[Reply] = []
    for caller in ("owner", "operator", "viewer", "ada", "lena"):
        api = world.api(caller)
        replies += [
            api.get("/journal", {"limit": 500}),
            api.get("/journal", {"q": "zeppelin"}),
            api.get("/journal", {"subject": "Olga Canary"}),
            api.get("/journal", {"mission_id": "m-canary"}),
            api.get("/journal", {"priority": "pin"}),
            api.get("/journal/count", {"q": "zeppelin"}),
            api.get(f"/journal/{own_entry.id}"),
            api.get("/journal/verify"),
            api.get("/episodic/index"),
            api.get("/crews"),
            api.get("/agents"),
            api.get("/me"),
            api.post("/episodic/why", {"query": "zeppelin", "entry_id": own_entry.id}),
        ]
        replies += [
            api.post(
                "/episodic/recall",
                {
                    "query": "zeppelin canary 4711",
                    "k": 50,
                    "mode": mode,
                    "explain": True,
                },
            )
            for mode in ("hybrid", "dense", "sparse")
        ]
    secrets = [
        world.other.id,
        foreign_entry.id,
        world.agents["olga"].id,
        world.crews["other/support"].id,
    ]
    for reply in replies:
        text = reply.body.decode()
        assert "canary-4711" not in text
        assert not [secret for secret in secrets if secret in text]
    count = world.api("viewer").get("/journal/count", {"q": "zeppelin"}).data
    assert count == {"total": 0}


def test_scores_do_not_depend_on_the_neighbours_words(world: World) -> None:
    factories.append_many(world.actor("ada"), ["refund receipt", "refund parcel"])
    request_body: dict[str, Any] = {
        "query": "refund receipt",
        "mode": "sparse",
        "mark": False,
    }
    before = world.api("ada").post("/episodic/recall", request_body).data["hits"]
    factories.append_many(world.actor("olga"), ["receipt"] * 50)
    after = world.api("ada").post("/episodic/recall", request_body).data["hits"]

    def scores(hits: list[dict[str, Any]]) -> list[Any]:
        return [(h["entry_id"], h["score"], h["rrf"], h["ranks"]) for h in hits]

    assert scores(before) == scores(after)


def test_a_person_of_two_workspaces_sees_the_one_they_chose(world: World) -> None:
    from memory.accounts import workspaces
    from memory.rules.permissions import Role, system

    viewer = world.people["viewer"]
    workspaces.set_member(viewer, Role.VIEWER, by=system(world.other.id))
    browser = world.session("viewer")
    assert browser.get("/me").data["workspace"] == "acme"
    session = browser._client.session
    session["workspace"] = world.other.id
    session.save()
    assert browser.get("/me").data["workspace"] == "other"
    session["workspace"] = "ws_of_nobody"
    session.save()
    assert browser.get("/me").data["workspace"] == "acme"
