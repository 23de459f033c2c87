"""Bad input: a problem document with a code, nothing half-written, nothing repeated."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.models import ChainHead, IdempotencyRecord, JournalEntry, SubjectMention
from tests.api.operations import OPERATIONS, Operation
from tests.world import Reply, World

GOOD = {"entry_type": "peer.escalation", "summary": "fine"}
MARK = "cmk_SECRETSECRETSECRET"
WRITES = [op for op in OPERATIONS if op.body]
# Whose arguments a model sends: what it gets wrong is an answer, not a problem.
STRICT = [op for op in WRITES if op.id not in ("call_memory_tool", "call_tool")]


def counts() -> tuple[int, int, int, tuple[int, ...]]:
    """Count everything an append writes."""
    return (
        JournalEntry.objects.count(),
        SubjectMention.objects.count(),
        IdempotencyRecord.objects.count(),
        tuple(ChainHead.objects.order_by("pk").values_list("seq", flat=True)),
    )


def assert_refused(reply: Reply, status: int, code: str | None = None) -> None:
    """Check a refusal's shape."""
    assert reply.status == status, reply.body
    problem = reply.data
    assert reply.headers["Content-Type"] == "application/problem+json"
    assert {"type", "title", "status", "detail", "code"} <= set(problem)
    assert problem["status"] == status
    assert code is None or problem["code"] == code, problem
    assert "SECRET" not in reply.body.decode()


def nested(levels: int) -> str:
    """Return JSON that nests this deep, as text: building it would recurse."""
    return '{"a":' * levels + "1" + "}" * levels


# ── One entry ────────────────────────────────────────────────────────────────
FAULTS: list[tuple[dict[str, Any], int, str | None]] = [
    ({"entry_type": 7}, 422, "invalid"),
    ({"entry_type": None}, 422, "invalid"),
    ({"entry_type": "Not.A.Type"}, 422, "bad_entry_type"),
    ({"entry_type": "peer.escalation\n"}, 422, "bad_entry_type"),
    ({"summary": 7}, 422, "invalid"),
    ({"summary": [MARK]}, 422, "invalid"),
    ({"summary": ""}, 422, "empty_summary"),
    ({"summary": " \t"}, 422, "empty_summary"),
    ({"summary": f"{MARK}\x00"}, 422, "bad_text"),
    ({"summary": MARK + "x" * 4_096}, 413, "too_large"),
    ({"severity": "fatal"}, 422, "invalid"),
    ({"severity": 3}, 422, "invalid"),
    ({"severity": None}, 422, "invalid"),
    ({"payload": "text"}, 422, "invalid"),
    ({"payload": {"a": [f"{MARK}\x00"]}}, 422, "bad_text"),
    ({"payload": {f"{MARK}\x00": 1}}, 422, "bad_text"),
    ({"refs": {"a": {"b\x00": 1}}}, 422, "bad_text"),
    ({"payload": [1]}, 422, "invalid"),
    ({"payload": {MARK: "x" * 262_144}}, 413, "too_large"),
    ({"refs": {"a": "x" * 65_536}}, 413, "too_large"),
    ({"refs": 1}, 422, "invalid"),
    ({"ts": "yesterday " + MARK}, 422, "invalid"),
    ({"ts": "2026-01-01T00:00:00"}, 422, "invalid"),
    ({"ts": "2026-01-01"}, 422, "invalid"),
    ({"ts": 1_700_000_000}, 422, "invalid"),
    ({"ts": "1700000000"}, 422, "invalid"),
    ({"ts": True}, 422, "invalid"),
    ({"ts": "1999-12-31T23:59:59Z"}, 422, "ts_too_early"),
    ({"ts": "9999-12-31T23:59:59Z"}, 422, "ts_in_future"),
    ({"mission_id": 7}, 422, "invalid"),
    ({"mission_id": ""}, 422, "bad_id"),
    ({"trace_id": "x" * 129}, 422, "bad_id"),
    ({"span_id": "\x00"}, 422, "bad_id"),
    ({"subjects": "Jan"}, 422, "invalid"),
    ({"subjects": [7]}, 422, "invalid"),
    ({"subjects": [""]}, 422, "bad_subject"),
    ({"subjects": ["x" * 321]}, 422, "bad_subject"),
    ({"subjects": ["x"] * 51}, 422, "too_many"),
    ({"unknown": MARK}, 422, "invalid"),
    ({"priority": "pin"}, 422, "invalid"),
    ({"agent_id": "agent_1"}, 422, "invalid"),
    ({"crew_id": "crew_1"}, 422, "invalid"),
    ({"workspace_id": "ws_1"}, 422, "invalid"),
    ({"id": "j_1"}, 422, "invalid"),
]


@pytest.mark.parametrize("key", [None, "a-key"])
@pytest.mark.parametrize(("fault", "status", "code"), FAULTS)
def test_a_bad_entry_is_refused_whole(
    world: World, fault: dict[str, Any], status: int, code: str, key: str | None
) -> None:
    before = counts()
    headers = {"Idempotency-Key": key} if key else None
    reply = world.api("ada").post("/journal", GOOD | fault, headers=headers)
    assert_refused(reply, status, code)
    assert counts() == before


@pytest.mark.parametrize("not_found", ["entry_type", "summary"])
def test_a_missing_field_is_named(world: World, not_found: str) -> None:
    body = {name: value for name, value in GOOD.items() if name != not_found}
    reply = world.api("ada").post("/journal", body)
    assert_refused(reply, 422, "invalid")
    assert reply.data["errors"] == [
        {"field": not_found, "code": "missing", "message": "Field required"}
    ]


@pytest.mark.parametrize(("fault", "status", "code"), FAULTS)
def test_in_a_batch_a_bad_entry_is_reported_and_the_others_written(
    world: World, fault: dict[str, Any], status: int, code: str
) -> None:
    before = JournalEntry.objects.count()
    reply = world.api("ada").post(
        "/journal/batch", {"entries": [GOOD, GOOD | fault, GOOD]}
    )
    assert reply.status == 200, reply.body
    assert [item["index"] for item in reply.data["accepted"]] == [0, 2]
    assert [item["index"] for item in reply.data["rejected"]] == [1]
    assert reply.data["rejected"][0]["code"]
    assert JournalEntry.objects.count() == before + 2
    assert "SECRET" not in reply.body.decode()


@pytest.mark.parametrize(
    "body",
    [
        {"entries": "x"},
        {"entries": ["x"]},
        {"entries": [GOOD] * 1_001},
        {"entries": [GOOD], "more": 1},
        {},
        [GOOD],
    ],
)
def test_a_batch_that_is_none(world: World, body: Any) -> None:
    before = counts()
    assert_refused(
        world.api("ada").post("/journal/batch", json.dumps(body)), 422, "invalid"
    )
    assert counts() == before


def test_a_batch_of_a_thousand_fits(world: World) -> None:
    reply = world.api("ada").post("/journal/batch", {"entries": [GOOD] * 1_000})
    assert len(reply.data["accepted"]) == 1_000
    assert world.api("ada").post("/journal/batch", {"entries": []}).status == 200


# ── The JSON itself ──────────────────────────────────────────────────────────
RAW: list[tuple[bytes | str, int, str]] = [
    ("{", 400, "bad_request"),
    ("SECRET", 400, "bad_request"),
    (b'{"summary": "\xff"}', 400, "bad_request"),
    ("\ufeff{}".encode(), 400, "bad_request"),
    ('{"a": 1} {"b": 2}', 400, "bad_request"),
    ('{"a": ' + "1" * 5_000 + "}", 400, "bad_request"),
    ('{"summary": "a", "summary": "SECRET"}', 422, "doubled_key"),
    ('{"payload": {"a": 1, "a": 2}}', 422, "doubled_key"),
    ('{"payload": {"a": NaN}}', 422, "bad_number"),
    ('{"payload": {"a": Infinity}}', 422, "bad_number"),
    ('{"payload": {"a": -Infinity}}', 422, "bad_number"),
    ('{"payload": {"a": 1e999}}', 422, "bad_number"),
    ('{"payload": {"a": -1e999}}', 422, "bad_number"),
    ('{"summary": "SECRET\\ud800"}', 422, "bad_text"),
    ('{"payload": {"\\udc00": 1}}', 422, "bad_text"),
    (nested(65), 422, "too_deep"),
    (nested(5_000), 422, "too_deep"),
    ("[" * 100_000, 422, "too_deep"),
    ("[]", 422, "invalid"),
    ("7", 422, "invalid"),
    ('"text"', 422, "invalid"),
]


@pytest.mark.parametrize("operation", WRITES, ids=lambda op: op.id)
def test_json_that_is_none(
    world: World, subtests: pytest.Subtests, operation: Operation
) -> None:
    api, url = world.api(operation.caller), operation.url(world)
    before = counts()
    for number, (raw, status, code) in enumerate(RAW):
        with subtests.test(number=number, raw=repr(raw)[:80]):
            assert_refused(api.send(operation.method, url, raw), status, code)
            assert counts() == before


def test_an_empty_body_lacks_everything(world: World) -> None:
    assert_refused(world.api("ada").post("/journal", b""), 422, "invalid")


def test_an_entry_may_nest_thirty_two_levels(world: World) -> None:
    api = world.api("ada")
    deep, deeper = json.loads(nested(32)), json.loads(nested(33))
    assert api.post("/journal", {**GOOD, "payload": deep}).status == 201
    assert_refused(api.post("/journal", {**GOOD, "payload": deeper}), 422, "too_deep")


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
def test_only_json_is_read(world: World, kind: str) -> None:
    reply = world.api("ada").post("/journal", json.dumps(GOOD), kind=kind)
    assert_refused(reply, 415, "unsupported_media_type")


@pytest.mark.parametrize(
    "kind",
    ["application/json", "application/json; charset=utf-8", "application/vnd.x+json"],
)
def test_kinds_of_json(world: World, kind: str) -> None:
    assert world.api("ada").post("/journal", json.dumps(GOOD), kind=kind).status == 201


def test_a_body_beyond_sixteen_mebibytes(world: World) -> None:
    raw = b'{"summary": "' + b"x" * (16 * 1024 * 1024) + b'"}'
    assert_refused(world.api("ada").post("/journal", raw), 413, "too_large")


def test_two_keys_for_one_header_value_too_long(world: World) -> None:
    reply = world.api("ada").post(
        "/journal", GOOD, headers={"Idempotency-Key": "x" * 201}
    )
    assert_refused(reply, 422, "invalid")


# ── Queries and paths ────────────────────────────────────────────────────────
QUERIES: list[tuple[dict[str, str], str | None]] = [
    ({"unknown": MARK}, "unknown_parameter"),
    ({"workspace_id": "ws_1"}, "unknown_parameter"),
    ({"limit": "0"}, "invalid"),
    ({"limit": "501"}, "invalid"),
    ({"limit": "x"}, "invalid"),
    ({"limit": "1" * 400}, "invalid"),
    ({"severity": "fatal"}, "unknown_severity"),
    ({"severity": "info,fatal"}, "unknown_severity"),
    ({"priority": "urgent"}, "unknown_priority"),
    ({"since": "yesterday"}, "invalid"),
    ({"since": "2026-01-01T00:00:00"}, "invalid"),
    ({"since": "0001-01-01T00:00:00+10:00"}, "invalid"),
    ({"until": "9999-12-31T23:59:59-10:00"}, "invalid"),
    ({"since": "2026-02-01T00:00:00Z", "until": "2026-01-01T00:00:00Z"}, "bad_range"),
    ({"q": "x" * 1_001}, "invalid"),
    ({"q": "a\x00b"}, "bad_text"),
    ({"subject": ""}, "invalid"),
    ({"subject": "a\x00"}, "bad_text"),
    ({"mission_id": "\x00"}, "bad_text"),
    ({"trace_id": ""}, "invalid"),
    ({"entry_type": "\x00"}, "bad_text"),
    ({"cursor": "x"}, "bad_cursor"),
    ({"cursor": "🚀:x:y"}, "bad_cursor"),
]


@pytest.mark.parametrize("offset", ["-19:18", "+23:59", "-00:00", "Z"])
def test_any_offset_is_a_moment(world: World, offset: str) -> None:
    since = f"1017-12-07T22:59:17{offset}"
    assert world.api("operator").get("/journal", {"since": since}).status == 200


@pytest.mark.parametrize(("query", "code"), QUERIES, ids=range(len(QUERIES)))
def test_a_bad_query(world: World, query: dict[str, str], code: str | None) -> None:
    assert_refused(world.api("operator").get("/journal", query), 422, code)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda op: op.id)
def test_every_operation_refuses_a_parameter_it_does_not_know(
    world: World, operation: Operation
) -> None:
    url = operation.url(world)
    url += "&surprise=SECRET" if "?" in url else "?surprise=SECRET"
    before = counts()
    body = operation.body(world) if operation.body else None
    caller = operation.caller
    rows = counts()
    assert_refused(
        world.api(caller).send(operation.method, url, body), 422, "unknown_parameter"
    )
    assert counts() == rows
    assert before[3] <= rows[3]


@pytest.mark.parametrize("operation", STRICT, ids=lambda op: op.id)
def test_every_operation_refuses_a_field_it_does_not_know(
    world: World, operation: Operation
) -> None:
    assert operation.body is not None
    body = operation.body(world) | {"surprise": MARK}
    caller = operation.caller
    url = operation.url(world)
    before = counts()
    assert_refused(world.api(caller).send(operation.method, url, body), 422, "invalid")
    assert counts() == before


@pytest.mark.parametrize(
    "entry_id",
    [
        "x",
        "%00",
        "j_1%00",
        "..%2f..",
        "%ff",
        "j_" + "0" * 300,
        "%F0%9F%9A%80",
        "'--",
        "%25s",
    ],
)
def test_ids_that_are_none(world: World, entry_id: str) -> None:
    operator = world.api("operator")
    assert_refused(operator.get(f"/journal/{entry_id}"), 404)
    reply = operator.post(f"/journal/{entry_id}/priority", {"priority": "pin"})
    assert_refused(reply, 404)


def test_an_address_that_is_none(world: World) -> None:
    for path in ("/nothing", "/journal/", "/journal/a/b/c", "/journal/../admin"):
        assert_refused(world.api("operator").get(path), 404)


@pytest.mark.parametrize("method", ["delete", "put", "patch"])
def test_a_method_that_is_none(world: World, method: str) -> None:
    client = world.api("operator")._client
    response = getattr(client, method)("/api/v1/journal")
    reply = Reply(response.status_code, response.content, response.headers)
    assert_refused(reply, 405, "method_not_allowed")
    assert "GET" in response["Allow"]


# ── Recall ───────────────────────────────────────────────────────────────────
RECALLS: list[tuple[dict[str, Any], int, str | None]] = [
    ({"query": ""}, 422, None),
    ({"query": "   "}, 422, "empty_query"),
    ({"query": 7}, 422, "invalid"),
    ({"query": "x" * 4_001}, 422, "invalid"),
    ({"k": 0}, 422, "invalid"),
    ({"k": 51}, 422, "invalid"),
    ({"k": "5"}, 422, "invalid"),
    ({"k": 2.5}, 422, "invalid"),
    ({"k": True}, 422, "invalid"),
    ({"scope": "everything"}, 422, "invalid"),
    ({"mode": "magic"}, 422, "invalid"),
    ({"fusion": "nuclear"}, 422, "invalid"),
    ({"min_score": 2}, 422, "invalid"),
    ({"min_score": "high"}, 422, "invalid"),
    ({"walk_depth": 2}, 422, "invalid"),
    ({"walk_depth": True}, 422, "invalid"),
    ({"explain": "yes"}, 422, "invalid"),
    ({"mark": 1}, 422, "invalid"),
    ({"entry_types": "peer.escalation"}, 422, "invalid"),
    ({"entry_types": ["x"] * 51}, 422, "invalid"),
    ({"entry_types": ["\x00"]}, 422, None),
    ({"since": "2026-01-01T00:00:00"}, 422, "invalid"),
    ({"since": 1_700_000_000}, 422, "invalid"),
    (
        {"since": "2026-02-01T00:00:00Z", "until": "2026-01-01T00:00:00Z"},
        422,
        "bad_range",
    ),
    ({"crew_id": ""}, 422, "invalid"),
    ({"crew_id": "\x00"}, 422, None),
    ({"agent_id": "a" * 129}, 422, "invalid"),
    ({"agent_id": "a\x00"}, 422, None),
]


@pytest.mark.parametrize("path", ["/episodic/recall", "/episodic/why"])
@pytest.mark.parametrize(("fault", "status", "code"), RECALLS, ids=range(len(RECALLS)))
def test_a_bad_question(
    world: World, path: str, fault: dict[str, Any], status: int, code: str | None
) -> None:
    body: dict[str, Any] = {"query": f"refund {MARK}"} | fault
    if path.endswith("why"):
        body["entry_id"] = world.entry().id
    assert_refused(world.api("ada").post(path, body), status, code)


@pytest.mark.parametrize(
    "body",
    [
        {"limit": 0},
        {"limit": 1_001},
        {"limit": "5"},
        {"entry_ids": "j_1"},
        {"entry_ids": [""]},
        {"entry_ids": [7]},
        {"entry_ids": ["j_1"] * 1_001},
        {"entry_ids": ["\x00"]},
    ],
)
def test_a_bad_index_run(world: World, body: dict[str, Any]) -> None:
    assert_refused(world.api("operator").post("/episodic/index", body), 422)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"priority": "urgent"}, "invalid"),
        ({}, "invalid"),
        ({"priority": "pin", "reason": 7}, "invalid"),
        ({"priority": "pin", "reason": "x" * 1_001}, "invalid"),
        ({"priority": "pin", "reason": "a\x00"}, "bad_reason"),
    ],
)
def test_a_bad_priority(world: World, body: dict[str, Any], code: str) -> None:
    row = world.entry()
    before = counts()
    assert_refused(
        world.api("operator").post(f"/journal/{row.id}/priority", body), 422, code
    )
    assert counts() == before


# ── Anything at all ──────────────────────────────────────────────────────────
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=9,
)


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    summary=st.text(max_size=40),
    payload=JSON,
    field=st.sampled_from(["payload", "refs", "ts", "subjects", "severity"]),
)
def test_whatever_is_sent_is_kept_or_refused(
    world: World, summary: str, payload: Any, field: str
) -> None:
    raw = json.dumps({**GOOD, "summary": summary, field: payload})
    reply = world.api("ada").post("/journal", raw)
    assert reply.status in (201, 413, 422), reply.body
    if reply.status == 201 and field == "payload":
        saved = world.api("ada").get(f"/journal/{reply.data['id']}").data
        assert (saved["summary"], saved["payload"]) == (summary, payload)


def test_the_clock_of_a_client_may_be_a_little_fast(world: World) -> None:
    soon = (timezone.now() + timedelta(seconds=200)).isoformat()
    late = (timezone.now() + timedelta(seconds=400)).isoformat()
    api = world.api("ada")
    assert api.post("/journal", {**GOOD, "ts": soon}).status == 201
    assert_refused(api.post("/journal", {**GOOD, "ts": late}), 422, "ts_in_future")
