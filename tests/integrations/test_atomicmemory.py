"""AtomicMemory's API, request by request."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from crewship_memory import integrations
from crewship_memory.throttle import KeyThrottle
from memory.models import Record
from tests import world as worlds
from tests.integrations.atomicmemory_client import LENA, V1, AtomicMemoryClient
from tests.world import World

BASE = "/compat/atomicmemory"


@pytest.fixture
def ada(world: World) -> AtomicMemoryClient:
    return AtomicMemoryClient(world.tokens["ada"])


# ── Authentication ───────────────────────────────────────────────────────────
@pytest.mark.parametrize("path", ["/v1/capabilities", "/capabilities/", "/health"])
def test_what_is_open_asks_for_no_key(world: World, path: str) -> None:
    assert AtomicMemoryClient(None).send("GET", BASE + path).status_code == 200


@pytest.mark.parametrize("sender", ["nobody", "expired", "revoked", "made up"])
def test_a_credential_that_does_not_hold_is_one_answer(
    world: World, sender: str
) -> None:
    token = "cmk_" + "a" * 43 if sender == "made up" else world.tokens.get(sender)
    answer = AtomicMemoryClient(token).get("/list")
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == "Bearer"
    assert list(answer.json()) == ["error"]
    assert token is None or token not in answer.content.decode()


def test_people_have_no_memory_here(world: World) -> None:
    answer = AtomicMemoryClient(world.tokens["owner"]).get("/list")
    assert (answer.status_code, list(answer.json())) == (403, ["error"])


def test_a_key_that_only_reads_keeps_nothing(world: World) -> None:
    reader = AtomicMemoryClient(world.tokens["reader"])
    assert reader.get("/list").status_code == 200
    answer = reader.post("/ingest", conversation="Refunds need a receipt.")
    assert answer.status_code == 403
    assert Record.objects.count() == 0


def test_a_session_is_no_key(world: World) -> None:
    assert world.page("owner").get(f"{V1}/list", LENA).status_code == 401


@pytest.mark.parametrize("end", ["", "/"])
def test_both_slash_forms_answer_and_none_redirects(
    ada: AtomicMemoryClient, end: str
) -> None:
    body = {**LENA, "query": "x"}
    assert ada.send("POST", f"{V1}/search{end}", body).status_code == 200
    assert ada.send("POST", f"{BASE}/memories/search{end}", body).status_code == 200
    assert ada.send("POST", f"{V1}/nowhere/at/all{end}", body).status_code == 404
    assert ada.send("POST", f"{BASE}{end}", body).status_code == 404


@pytest.mark.parametrize("path", ["/by-external-id/%0D%0Ax:y", "/a/%0A/b"])
def test_a_line_break_in_an_address_is_refused_like_any_other(
    ada: AtomicMemoryClient, path: str
) -> None:
    answer = ada.send("GET", f"{V1}{path}?user_id=lena")
    assert (answer.status_code, list(answer.json())) == (404, ["error"])


def test_a_wrong_method_names_the_right_ones(ada: AtomicMemoryClient) -> None:
    answer = ada.send("PUT", f"{V1}/list")
    assert (answer.status_code, answer["Allow"]) == (405, "GET, OPTIONS")
    assert list(answer.json()) == ["error"]
    assert ada.send("OPTIONS", f"{V1}/list").status_code == 204
    assert ada.send("HEAD", f"{V1}/list?user_id=lena").content == b""


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        ("{", 400),
        ('{"user_id": "lena", "user_id": "max", "query": "x"}', 400),
        ('{"user_id": "lena", "query": "x", "threshold": NaN}', 400),
        ('{"user_id": "lena", "query": "x", "hidden": 1}', 400),
        ('{"user_id": "", "query": "x"}', 400),
        ('{"user_id": "a\\u0000b", "query": "x"}', 400),
        ('{"user_id": 7, "query": "x"}', 400),
        ('{"query": "x"}', 400),
        ("[]", 400),
        ("", 400),
        (b"\xff", 400),
        (b'"' + b"x" * 1_100_000 + b'"', 413),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_shape(
    ada: AtomicMemoryClient, raw: Any, status: int
) -> None:
    answer = ada.send("POST", f"{V1}/search", raw)
    assert (answer.status_code, list(answer.json())) == (status, ["error"])


def test_too_many_requests_say_when_to_come_back(
    ada: AtomicMemoryClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(integrations, "_throttle", KeyThrottle("2/h"))
    statuses = [ada.get("/list").status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    assert 1 <= int(ada.get("/list")["Retry-After"]) <= 3_600


def test_a_bug_is_told_to_nobody(
    ada: AtomicMemoryClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memory.integrations.atomicmemory.provider.provider import NativeProvider

    def broken(*_: Any) -> None:
        raise RuntimeError("secret: hunter2")

    monkeypatch.setattr(NativeProvider, "_get", broken)
    answer = ada.get("/rec_0000000000000000")
    assert answer.status_code in (500, 502)
    assert "hunter2" not in answer.content.decode()


# ── Taking in ────────────────────────────────────────────────────────────────
def test_text_is_extracted_and_verbatim_is_not(ada: AtomicMemoryClient) -> None:
    conversation = (
        "user: Refunds need a receipt. Parcels leave on Mondays.\nassistant: Thanks!"
    )
    extracted = ada.post("/ingest", conversation=conversation, session_id="t1").json()
    assert (extracted["memories_stored"], extracted["facts_extracted"]) == (2, 2)
    verbatim = ada.post(
        "/ingest/quick", conversation=conversation, skip_extraction=True
    ).json()
    (memory_id,) = verbatim["stored_memory_ids"]
    assert ada.get(f"/{memory_id}").json()["content"] == conversation
    for name in (
        "episode_id memories_updated memories_deleted memories_skipped links_created"
        " composites_created updated_memory_ids"
    ).split():
        assert name in extracted


def test_nothing_to_remember_is_no_success_that_made_something(
    ada: AtomicMemoryClient,
) -> None:
    data = ada.post("/ingest", conversation="user: Hello!\nassistant: Hi there?").json()
    assert data["stored_memory_ids"] == data["updated_memory_ids"] == []
    assert (data["memories_stored"], data["facts_extracted"]) == (0, 0)


def test_an_external_id_is_one_memory(ada: AtomicMemoryClient) -> None:
    first = ada.keep("Two checks.", metadata={"externalId": "r/7"})
    updated_id = ada.keep("Two checks.", metadata={"externalId": "r/7"})
    later = ada.keep("Three checks.", metadata={"externalId": "r/7"}, session_id="t2")
    assert first == updated_id == later
    row = ada.get("/by-external-id/r/7").json()
    assert (row["id"], row["content"]) == (first, "Three checks.")
    assert ada.get("/by-external-id/r/8").status_code == 404
    assert ada.get("/by-external-id/r/7", user_id="max").status_code == 404


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/ingest", {"metadata": {"a": 1}}),
        ("/ingest/quick", {"metadata": {"a": 1}}),
        ("/ingest/quick", {"metadata": {"headline": "x"}, "skip_extraction": True}),
        ("/ingest/quick", {"metadata": {"_origin": {}}, "skip_extraction": True}),
        ("/ingest", {"session_id": "x" * 257}),
        ("/ingest", {"session_id": " "}),
        ("/ingest", {"session_id": "a\nb"}),
        ("/ingest", {"workspace_id": "w"}),
        ("/ingest", {"content_class": "gossip"}),
        ("/ingest", {"conversation": "x" * 100_001}),
        ("/ingest", {"conversation": ""}),
    ],
)
def test_what_has_no_place_is_400(
    ada: AtomicMemoryClient, path: str, fields: dict[str, Any]
) -> None:
    answer = ada.post(path, **{"conversation": "Tea is in the tin.", **fields})
    assert (answer.status_code, list(answer.json())) == (400, ["error"])
    assert Record.objects.count() == 0


def test_raw_text_is_taken_unless_the_policy_says_no(
    ada: AtomicMemoryClient, settings: Settings
) -> None:
    ada.keep("Tea is in the tin.")
    settings.RAW_CONTENT = "reject"
    for fields in ({}, {"content_class": "raw"}):
        answer = ada.post(
            "/ingest/quick", conversation="Tea.", skip_extraction=True, **fields
        )
        assert answer.status_code == 422
        assert answer.json()["error_code"] == "raw_content_rejected"
    ada.keep("Milk is cold.", content_class="summary")
    assert ada.post("/ingest", conversation="Milk is cold now.").status_code == 200


def test_a_held_text_is_reported_and_becomes_a_lesson(
    ada: AtomicMemoryClient,
) -> None:
    answer = ada.post("/ingest/quick", conversation=worlds.ATTACK, skip_extraction=True)
    problem = answer.json()
    assert (answer.status_code, problem["error_code"]) == (422, "content_held")
    lessons = ada.get("/lessons").json()
    (lesson,) = lessons["lessons"]
    assert (lesson["id"], lessons["count"]) == (problem["held_id"], 1)
    assert lesson["lesson_type"] == "injection_blocked"
    assert "evil.example" not in json.dumps(lessons)
    assert ada.get("/lessons/stats").json() == {
        "total_active": 1,
        "by_type": {"injection_blocked": 1},
    }
    assert ada.get("/lessons", user_id="max").json()["count"] == 0


def test_an_asserted_user_must_be_the_body_s(ada: AtomicMemoryClient) -> None:
    header = {"X-AtomicMemory-Asserted-User": "max"}
    body = {**LENA, "query": "x"}
    assert ada.send("POST", f"{V1}/search", body, **header).status_code == 403
    header = {"X-AtomicMemory-Asserted-User": "lena"}
    assert ada.send("POST", f"{V1}/search", body, **header).status_code == 200


# ── Asking ───────────────────────────────────────────────────────────────────
def test_a_thread_s_request_returns_that_thread_s_rows(ada: AtomicMemoryClient) -> None:
    ada.keep("The kettle is red.", session_id="t1")
    ada.keep("The kettle is blue.", session_id="t2")
    for path in ("/search", "/search/fast"):
        memories = ada.search("kettle", path, session_id="t1", limit=10)["memories"]
        assert [row["session_id"] for row in memories] == ["t1"]
    rows = ada.get("/list", session_id="t2").json()["memories"]
    assert [row["session_id"] for row in rows] == ["t2"]
    assert len(ada.search("kettle")["memories"]) == 2


def test_users_and_agents_are_isolated(world: World, ada: AtomicMemoryClient) -> None:
    memory_id = ada.keep("The alarm code has four digits.", namespace_scope="shop")
    assert ada.search("alarm code", namespace_scope="shop")["count"] == 1
    assert ada.search("alarm code", namespace_scope="garden")["count"] == 0
    assert ada.search("alarm code", user_id="max")["count"] == 0
    for agent in ("lena", "bob", "olga"):
        other = AtomicMemoryClient(world.tokens[agent])
        assert other.search("alarm code")["count"] == 0
        assert other.get("/list").json() == {"memories": [], "count": 0}
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/audit")):
            answer = other.send(method, f"{V1}/{memory_id}{path}?user_id=lena")
            assert answer.status_code == 404
    assert ada.get(f"/{memory_id}").status_code == 200


def test_a_search_answers_with_every_key(ada: AtomicMemoryClient) -> None:
    memory_id = ada.keep("Scarves are folded twice.")
    slow, fast = ada.search("scarves", "/search"), ada.search("scarves")
    assert (slow["deterministic"], fast["deterministic"]) == (False, True)
    for data in (slow, fast):
        assert data["scope"] == {"kind": "user", "user_id": "lena"}
        assert data["retrieval"]["candidate_ids"] == [memory_id] == data["citations"]
        assert data["retrieval"]["trace_id"]
        assert data["budget_constrained"] is False
        (row,) = data["memories"]
        assert (
            row["observed_at"].endswith("Z") and row["version_id"] == f"{memory_id}:1"
        )
        assert 0 <= row["relevance"] <= 1
        assert len(row["created_at"].split(".")[1]) == 4


@pytest.mark.parametrize(
    ("limit", "count"), [(2, 2), (0, 1), (-3, 1), ("2", 2), ("many", 3), (None, 3)]
)
def test_a_limit_is_clamped_and_nonsense_is_ignored(
    ada: AtomicMemoryClient, limit: Any, count: int
) -> None:
    for n in range(3):
        ada.keep(f"Lantern {n} hangs outside.")
    assert ada.search("lantern", limit=limit)["count"] == count


@pytest.mark.parametrize("mode", ["flat", "tiered", "abstract-aware"])
def test_a_package_keeps_its_budget_and_says_so(
    ada: AtomicMemoryClient, mode: str
) -> None:
    for n in range(12):
        ada.keep(f"Lantern {n}: " + "hangs outside by the old harbour gate. " * 6)
    data = ada.search("lantern", "/search", retrieval_mode=mode, token_budget=150)
    assert data["retrieval_mode"] == mode
    assert 0 < data["estimated_context_tokens"] <= 150
    assert data["budget_constrained"] is True
    if mode != "flat":
        assigned_ids = {
            assignment["memory_id"] for assignment in data["tier_assignments"]
        }
        assert assigned_ids == set(data["citations"])
        answer = ada.post("/expand", memory_ids=data["expand_ids"])
        expanded_ids = {row["id"] for row in answer.json()["memories"]}
        assert expanded_ids == set(data["expand_ids"])


@pytest.mark.parametrize(
    "fields",
    [
        {"token_budget": 99},
        {"token_budget": 50_001},
        {"threshold": 1.5},
        {"retrieval_mode": "psychic"},
        {"as_of": "yesterday"},
        {"query": ""},
    ],
)
def test_a_question_out_of_bounds_is_400(
    ada: AtomicMemoryClient, fields: dict[str, Any]
) -> None:
    assert ada.post("/search", **{"query": "x", **fields}).status_code == 400


def test_the_past_is_seen_as_it_was(ada: AtomicMemoryClient) -> None:
    memory_id = ada.keep("Two checks.", metadata={"externalId": "r"})
    then = ada.get(f"/{memory_id}").json()["updated_at"].replace("Z", "+00:00")
    ada.keep("Three checks.", metadata={"externalId": "r"})
    past = ada.search("checks", "/search", as_of=then.replace("+00:00", "999+00:00"))
    assert [row["content"] for row in past["memories"]] == ["Two checks."]
    before = ada.search("checks", "/search", as_of="2020-01-01T00:00:00Z")
    assert before["memories"] == []


# ── One by one ───────────────────────────────────────────────────────────────
def test_paging_sees_each_row_once_and_ends(ada: AtomicMemoryClient) -> None:
    memory_ids = [ada.keep(f"Rope {n}.") for n in range(5)]
    seen_ids: list[str] = []
    for offset in range(0, 10, 2):
        page = ada.get("/list", limit=2, offset=offset).json()
        assert page["count"] == 5
        seen_ids += [row["id"] for row in page["memories"]]
    assert seen_ids == memory_ids
    sdk = ada.get("/list", source_site="sdk").json()
    assert sdk["count"] == 5
    assert ada.get("/list", source_site="web").json()["count"] == 0


def test_get_and_delete(ada: AtomicMemoryClient) -> None:
    memory_id = ada.keep("Zanzibar is the safe word.")
    path = f"{V1}/{memory_id}?user_id=lena"
    assert ada.send("GET", path).json()["content"] == "Zanzibar is the safe word."
    assert ada.send("GET", f"{V1}/{memory_id}").status_code == 400
    assert ada.send("GET", f"{V1}/{memory_id}?user_id=max").status_code == 404
    assert ada.send("DELETE", path).status_code == 200
    assert ada.send("DELETE", path).status_code == 404
    assert ada.send("GET", path).status_code == 404
    assert ada.search("Zanzibar")["memories"] == []


def test_the_audit_carries_both_key_sets(ada: AtomicMemoryClient) -> None:
    memory_id = ada.keep("Two checks.", metadata={"externalId": "r"})
    ada.keep("Three checks.", metadata={"externalId": "r"})
    audit = ada.get(f"/{memory_id}/audit").json()
    first, second = audit["trail"]
    assert (audit["memory_id"], audit["version_count"]) == (memory_id, 2)
    for row in audit["trail"]:
        assert {"id", "content", "created_at", "event", "parent_id"} <= set(row)
        assert {"version_id", "claim_id", "content_hash", "mutation_type"} <= set(row)
    assert (first["event"], first["mutation_type"]) == ("created", "add")
    assert (second["event"], second["mutation_type"]) == ("updated", "update")
    assert second["parent_id"] == second["previous_version_id"] == first["id"]
    assert first["superseded_by_version_id"] == second["id"]
    summary = ada.get("/audit/summary").json()
    assert summary["by_mutation_type"] == {"add": 1, "update": 1}
    recent = ada.get("/audit/recent", limit=1).json()
    assert recent["mutations"][0]["content"] == "Three checks."


def test_the_audit_of_all_leaves_out_what_expired(ada: AtomicMemoryClient) -> None:
    expired_id = ada.keep("Two checks.")
    live_id = ada.keep("Three lamps.")
    Record.objects.filter(pk=expired_id).update(expires_at=timezone.now())
    mutations = ada.get("/audit/recent").json()["mutations"]
    assert [row["memory_id"] for row in mutations] == [live_id]
    assert ada.get("/audit/summary").json()["total_versions"] == 1
    assert ada.get(f"/{expired_id}/audit").status_code == 404


# ── The wider half ───────────────────────────────────────────────────────────
def test_a_source_is_forgotten_alone(ada: AtomicMemoryClient) -> None:
    desk = ada.keep("Keys hang by the door.", source_site="desk")
    other_id = ada.keep("Tea is in the tin.")
    other = ada.keep("Max has a cat.", source_site="desk", user_id="max")
    body = {**LENA, "source_site": "desk"}
    data = ada.send("POST", f"{V1}/reset-source", body).json()
    assert data == {"success": True, "deleted_memories": 1, "deleted_episodes": 0}
    assert ada.get(f"/{desk}").status_code == 404
    assert ada.get(f"/{other_id}").status_code == 200
    assert ada.get(f"/{other}", user_id="max").status_code == 200


def test_lifecycle_looks_and_does_not_touch(ada: AtomicMemoryClient) -> None:
    ada.keep("Lena prefers trains over planes.")
    ada.keep("Lena prefers trains over cars.")
    scan = ada.post("/consolidate").json()
    assert (scan["memories_scanned"], scan["clusters_found"]) == (2, 1)
    assert ada.post("/decay").json()["memories_evaluated"] == 2
    assert ada.get("/cap").json()["status"] == "ok"
    assert ada.get("/stats").json()["source_distribution"] == {"sdk": 2}
    assert ada.post("/reconcile").json()["processed"] == 0
    assert ada.post("/consolidate", execute=True).status_code == 501
    assert ada.post("/decay", dry_run=False).status_code == 501
    assert ada.get("/list").json()["count"] == 2


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("PUT", "/v1/memories/config", 410),
        ("POST", "/v1/memories/lessons/report", 501),
        ("DELETE", "/v1/memories/lessons/x", 501),
        ("GET", "/v1/agents/trust", 501),
        ("GET", "/v1/storage/capabilities", 501),
        ("GET", "/v1/entities", 501),
        ("DELETE", "/v1/admin/scope", 501),
        ("GET", "/v2/anything", 404),
    ],
)
def test_no_is_said_honestly(
    ada: AtomicMemoryClient, method: str, path: str, status: int
) -> None:
    answer = ada.send(method, BASE + path)
    assert (answer.status_code, list(answer.json())) == (status, ["error"])


def test_health_has_allowed_values_and_real_model_names(
    ada: AtomicMemoryClient,
) -> None:
    health = ada.get("/health").json()
    assert health["status"] == "ok"
    config = health["config"]
    assert config["embedding_provider"] in ("ollama", "transformers")
    assert "hashing" in config["embedding_model"]
    assert config["llm_model"].startswith("none")


def test_a_callers_workspace_is_a_namespace(
    ada: AtomicMemoryClient,
) -> None:
    agent_fields = {"workspace_id": "w1", "agent_id": "a1"}
    ada.keep("The agent_fields is blue.", **agent_fields)
    assert ada.search("agent_fields", **agent_fields)["scope"]["kind"] == "workspace"
    assert ada.search("agent_fields", **agent_fields)["count"] == 1
    own_scope = {**agent_fields, "agent_scope": "self"}
    assert ada.search("agent_fields", **own_scope)["count"] == 1
    assert ada.search("agent_fields", **{**own_scope, "agent_id": "a2"})["count"] == 0
    assert (
        ada.search("agent_fields", **{**agent_fields, "workspace_id": "w2"})["count"]
        == 0
    )
    answer = ada.post("/search", query="x", **agent_fields, agent_scope="others")
    assert answer.status_code == 501
    answer = ada.post("/search", query="x", agent_scope="self")
    assert answer.status_code == 400
