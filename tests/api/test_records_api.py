"""Records over JSON: shapes, repeats, tenancy, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from memory.models import HeldFile, IdempotencyRecord, JournalEntry, Record
from tests.world import ATTACK, ApiClient, World

TEXT = "Refunds above $200 need a supervisor."


@pytest.fixture
def ada(world: World) -> ApiClient:
    return world.api("ada")


def save(api: ApiClient, content: str = TEXT, **fields: Any) -> dict[str, Any]:
    reply = api.post("/records", {"content": content, **fields})
    assert reply.status in (200, 201), reply.body
    return dict(reply.data)


def test_a_record_comes_back_as_it_was_given(ada: ApiClient, world: World) -> None:
    fields: dict[str, Any] = {
        "type": "procedure",
        "confidence": 0.7,
        "metadata": {"a": [1, "ø", None, {"b": True}]},
        "scope": {"user": "u1", "region": "eu"},
        "session_id": "s1",
        "expires_at": "2099-01-01T00:00:00.000Z",
        "external_id": "limit",
    }
    created = save(ada, **fields, subjects=["jan@example.com"])
    assert {name: created[name] for name in fields} == fields
    assert (
        created["provenance"],
        created["status"],
        created["version"],
        created["action"],
    ) == (
        "agent_extracted",
        "current",
        1,
        "created",
    )
    assert (created["agent_id"], created["crew_id"]) == (
        world.agents["ada"].id,
        world.crews["support"].id,
    )
    read_back = ada.get(f"/records/{created['id']}").data
    assert read_back == {name: created[name] for name in read_back}
    entry = ada.get(f"/journal/{created['entry_id']}").data
    assert set(entry["subjects"]) == {"jan@example.com", "u1"}


def test_a_person_curates(world: World) -> None:
    operator = world.api("operator")
    ada = world.agents["ada"]
    created = save(operator, agent_id=ada.id)
    assert (created["provenance"], created["agent_id"]) == ("operator_curated", ada.id)
    assert world.api("ada").get(f"/records/{created['id']}").status == 200
    change = world.api("ada").send(
        "patch", f"/records/{created['id']}", {"confidence": 0.5}
    )
    assert change.data["provenance"] == "agent_extracted"


def test_provenance_is_no_field(ada: ApiClient) -> None:
    body = {"content": TEXT, "provenance": "operator_curated"}
    assert ada.post("/records", body).status == 422


def test_an_external_id_is_an_upsert(ada: ApiClient) -> None:
    first = save(ada, external_id="limit")
    reply = ada.post("/records", {"content": TEXT, "external_id": "limit"})
    assert (reply.status, reply.data["action"]) == (200, "unchanged")
    reply = ada.post("/records", {"content": "Less.", "external_id": "limit"})
    assert (reply.status, reply.data["action"]) == (200, "updated")
    assert (reply.data["id"], reply.data["version"]) == (first["id"], 2)


def test_near_duplicates_are_told(ada: ApiClient) -> None:
    first = save(ada)
    repeat = save(ada)
    assert repeat["id"] != first["id"]
    [duplicate] = repeat["alike"]
    assert duplicate == {"id": first["id"], "content": TEXT, "similarity": 1.0}


# ── Repeats ──────────────────────────────────────────────────────────────────
def test_a_repeat_saves_once_and_remembers_no_words(ada: ApiClient) -> None:
    key = {"Idempotency-Key": "k1"}
    first, two = (ada.post("/records", {"content": TEXT}, headers=key) for _ in "ab")
    assert (first.status, two.status) == (201, 201)
    assert first.data["id"] == two.data["id"]
    assert Record.objects.count() == 1
    assert TEXT not in str(IdempotencyRecord.objects.get().answer)
    other = ada.post("/records", {"content": "Else."}, headers=key)
    assert (other.status, other.code) == (409, "idempotency_mismatch")


def test_a_repeat_after_forgetting_tells_no_words(ada: ApiClient) -> None:
    key = {"Idempotency-Key": "k1"}
    created = ada.post("/records", {"content": TEXT}, headers=key).data
    ada.send("delete", f"/records/{created['id']}")
    repeat = ada.post("/records", {"content": TEXT}, headers=key)
    assert (repeat.data["status"], repeat.data["content"]) == ("forgotten", "")
    assert Record.objects.count() == 1


@pytest.mark.parametrize("headers", [None, {"Idempotency-Key": "k1"}])
def test_a_held_text_is_kept_for_review_alone(
    ada: ApiClient, headers: dict[str, str] | None
) -> None:
    reply = ada.post("/records", {"content": ATTACK}, headers=headers)
    assert (reply.status, reply.code) == (409, "held")
    assert HeldFile.objects.get().id == reply.data["held_id"]
    assert ATTACK not in reply.body.decode()
    assert ada.get("/records").data == {"items": [], "next_cursor": None}


# ── Lists and questions ──────────────────────────────────────────────────────
def test_lists_filter_and_end(ada: ApiClient) -> None:
    for user in ("u1", "u2", "u1"):
        save(ada, f"For {user}.", scope={"user": user}, type="fact")
    save(ada, "A rule.", type="rule")
    seen_ids: list[str] = []
    query: dict[str, Any] = {"limit": 2, "type": "fact,other", "order": "oldest"}
    while True:
        page = ada.get("/records", query).data
        seen_ids += [row["content"] for row in page["items"]]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    assert seen_ids == ["For u1.", "For u2.", "For u1."]
    narrow = ada.get("/records", {"user": "u1"}).data["items"]
    assert len(narrow) == 2
    exact = ada.get("/records", {"match": "exact"}).data["items"]
    assert [row["content"] for row in exact] == ["A rule."]
    response = ada.get("/records", {"q": "RULE"}).data["items"]
    assert len(response) == 1


def test_a_question_is_answered_best_first(ada: ApiClient) -> None:
    created = save(ada, scope={"user": "u1"})
    save(ada, "Parcels leave at noon.")
    body = {"query": "supervisor refunds", "scope": {"user": "u1"}, "min_score": 0.5}
    [hit] = ada.post("/records/search", body).data["hits"]
    assert hit["record"]["id"] == created["id"]
    assert 0 < hit["score"] <= 1
    assert 0.5 <= hit["relevance"] <= 1
    none = ada.post("/records/search", {**body, "scope": {"user": "u2"}}).data
    assert none["hits"] == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"filter": {"field": "content", "op": "like", "value": "x"}}, "bad_filter"),
        ({"filter": {"surprise": 1}}, "bad_filter"),
        ({"scope": {"user": 7}}, "invalid"),
        ({"scope": {"no space": "x"}}, "bad_scope"),
        ({"scope": {"region": 7}}, "invalid"),
        ({"as_of": "yesterday"}, "invalid"),
        ({"limit": 0}, "invalid"),
        ({"limit": 101}, "invalid"),
        ({"query": "a\x00b"}, "bad_text"),
        ({"crew_id": "crew_0"}, "not_found"),
    ],
)
def test_a_question_that_makes_no_sense(
    ada: ApiClient, body: dict[str, Any], code: str
) -> None:
    reply = ada.post("/records/search", {"query": "x", **body})
    assert (reply.code, reply.status in (404, 422)) == (code, True), reply.body


# ── Change, history, end ─────────────────────────────────────────────────────
def test_a_change_is_a_version_and_a_stale_one_is_refused(ada: ApiClient) -> None:
    created = save(ada, expires_at="2099-01-01T00:00:00Z")
    path = f"/records/{created['id']}"
    body = {"content": "Less.", "expires_at": None, "version": 1, "reason": "law"}
    outcome = ada.send("patch", path, body)
    assert (outcome.status, outcome.data["version"], outcome.data["expires_at"]) == (
        200,
        2,
        None,
    )
    stale = ada.send("patch", path, body)
    assert (stale.status, stale.code, stale.data["version"]) == (
        409,
        "stale_version",
        2,
    )
    versions = ada.get(f"{path}/history").data["versions"]
    assert [(v["number"], v["event"], v["content"], v["reason"]) for v in versions] == [
        (1, "created", TEXT, ""),
        (2, "updated", "Less.", "law"),
    ]
    assert versions[1]["parent_id"] == versions[0]["id"]
    assert versions[0]["valid_to"] == versions[1]["created_at"]


def test_then_is_asked_for_with_as_of(ada: ApiClient) -> None:
    created = save(ada)
    path = f"/records/{created['id']}"
    ada.send("patch", path, {"content": "Supervisor refunds are gone."})
    versions = ada.get(f"{path}/history").data["versions"]
    if versions[0]["created_at"] == versions[1]["created_at"]:
        pytest.skip("both versions fell into one millisecond")
    request_body = {"query": "supervisor", "as_of": versions[0]["created_at"]}
    [hit] = ada.post("/records/search", request_body).data["hits"]
    assert (hit["record"]["content"], hit["record"]["version"]) == (TEXT, 1)


def test_one_takes_the_place_of_others(ada: ApiClient, world: World) -> None:
    ids = [save(ada, f"Rule {n}.")["id"] for n in range(2)]
    body = {"content": "One rule.", "sources": ids, "reason": "tidy"}
    reply = ada.post("/records/supersede", body)
    assert reply.status == 201, reply.body
    items = ada.get("/records").data["items"]
    assert [row["content"] for row in items] == ["One rule."]
    old = world.api("viewer").get(f"/records/{ids[0]}").data
    assert (old["status"], old["superseded_by"]) == ("superseded", reply.data["id"])
    assert ada.get(f"/records/{ids[0]}").status == 404


def test_forgetting_takes_the_words(ada: ApiClient, world: World) -> None:
    created = save(ada)
    path = f"/records/{created['id']}"
    outcome = ada.send("delete", path, {"reason": "asked for"})
    assert outcome.data == {"id": created["id"], "status": "forgotten"}
    assert ada.send("delete", path).status == 404
    assert ada.get(path).status == 404
    assert JournalEntry.objects.get(pk=created["entry_id"]).summary == ""
    remaining = world.api("viewer").get(path).data
    assert (remaining["status"], remaining["content"]) == ("forgotten", "")


@pytest.mark.parametrize("caller", ["lena", "bob", "olga", "stranger"])
def test_what_is_not_yours_is_not_there(
    world: World, ada: ApiClient, caller: str
) -> None:
    created = save(ada)
    path, api = f"/records/{created['id']}", world.api(caller)
    not_found = api.get("/records/rec_0000000000000000")
    for reply in (
        api.get(path),
        api.get(f"{path}/history"),
        api.send("patch", path, {"content": "x"}),
        api.send("delete", path),
        api.post("/records/supersede", {"content": "x", "sources": [created["id"]]}),
    ):
        assert (reply.status, reply.body) == (404, not_found.body)
    assert api.get("/records").data["items"] == []
    assert Record.objects.get(pk=created["id"]).version == 1


def test_foreign_owners_are_not_there(world: World) -> None:
    olga, crew = world.agents["olga"].id, world.crews["other/support"].id
    operator = world.api("operator")
    for parameters in ({"agent_id": olga}, {"crew_id": crew}):
        assert operator.post("/records", {"content": "x", **parameters}).status == 404
        assert operator.get("/records", parameters).status == 404
    bob = {"agent_id": world.agents["bob"].id}
    assert world.api("ada").post("/records", {"content": "x", **bob}).status == 404
