"""How large a request may be: by route, and refused before a byte is read."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.test import Client
from django.urls import get_resolver

from crewship_memory import json_parser, throttle
from crewship_memory.middleware import request_limits
from memory.integrations import registry as integrations
from memory.integrations.gateway import users
from memory.models import JournalEntry
from memory.rules import errors
from tests.world import World

KIB = 1024
MIB = 1024 * KIB
GOOD = {"entry_type": "peer.escalation", "summary": "fine"}


class Unread(io.RawIOBase):
    """A body that nobody may touch."""

    def read(self, *_: Any) -> bytes:
        raise AssertionError("the body was read")


def announce(path: str, size: int, **headers: str) -> Any:
    """Post a body of an announced length that fails the test when it is read."""
    environ: dict[str, Any] = {"wsgi.input": Unread(), "CONTENT_LENGTH": str(size)}
    client = Client(enforce_csrf_checks=True)
    return client.post(
        path, content_type="application/json", headers=headers, **environ
    )


def routes() -> set[str]:
    """Return every route as the resolver names it."""
    paths, stack = set(), [("", get_resolver().url_patterns)]
    while stack:
        before, patterns = stack.pop()
        for pattern in patterns:
            name = before + str(pattern.pattern)
            inner = getattr(pattern, "url_patterns", None)
            if inner is None:
                paths.add(name)
            else:
                stack.append((name, inner))
    return paths


def test_every_row_of_the_table_is_a_route() -> None:
    assert set(request_limits.ROUTES) <= routes()


# ── Before the body is read ──────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("path", "limit"),
    [
        ("/api/v1/journal", MIB),
        ("/api/v1/journal/batch", 8 * MIB),
        ("/api/v1/episodic/recall", 256 * KIB),
        ("/api/v1/records", 512 * KIB),
        ("/api/v1/memory/import", 16 * MIB),
        ("/api/v1/gdpr/certificates/verify", 256 * KIB),
        ("/mcp", MIB),
    ],
)
def test_a_body_that_is_too_large_is_not_read(
    world: World, path: str, limit: int
) -> None:
    key = {"Authorization": f"Bearer {world.tokens['ada']}"}
    reply = announce(path, limit + 1, **key)
    assert (reply.status_code, reply.json()["code"]) == (413, "too_large")
    assert reply["Content-Type"] == "application/problem+json"
    assert str(limit) in reply.json()["detail"]


@pytest.mark.parametrize(
    "dialect", integrations.dialects(), ids=lambda dialect: dialect.prefix
)
def test_a_dialect_says_it_in_its_own_shape(db: None, dialect: Any) -> None:
    route = next(
        dialect_item
        for dialect_item in dialect.routes
        if "POST" in dialect_item.methods
    )
    path = f"{dialect.prefix}/{route.path}"
    reply = announce(path, dialect.body_bytes + 1)
    shape = dialect.refuse(errors.TooLarge("x"))
    assert reply.status_code == shape.status
    assert set(reply.json()) == set(shape.data)


@pytest.mark.parametrize(
    ("path", "limit"),
    [
        ("/accounts/login/", 64 * KIB),
        ("/certificates/check/", MIB),
        ("/privacy/cases/case_1/attach/", 32 * MIB),
    ],
)
def test_a_form_is_too_large_before_its_token_is_looked_for(
    db: None, path: str, limit: int
) -> None:
    reply = announce(path, limit + 1)
    assert reply.status_code == 413
    assert b"<h1" in reply.content and str(limit).encode() in reply.content


def test_an_entry_at_its_caps_fits_even_in_escapes(world: World) -> None:
    payload = {"a": "é" * 130_000}
    raw = json.dumps({**GOOD, "payload": payload})
    assert len(raw) > 700_000
    assert world.api("ada").post("/journal", raw).status == 201


def test_too_many_values_are_counted_and_never_built(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = json.dumps({**GOOD, "payload": {"a": [0] * 60_000}})
    loads = json.loads

    def watched(text: Any, **options: Any) -> Any:
        assert "peer.escalation" not in str(text), "it was built"
        return loads(text, **options)

    with monkeypatch.context() as patch:
        patch.setattr(json, "loads", watched)
        client = Client(headers={"Authorization": f"Bearer {world.tokens['ada']}"})
        answer = client.post("/api/v1/journal", raw, "application/json")
    assert answer.status_code == 413
    assert answer.json()["code"] == "too_many_values"
    assert JournalEntry.objects.filter(summary="fine").count() == 0


# ── A body without a length ──────────────────────────────────────────────────
def chunked(path: str, raw: bytes) -> dict[str, Any]:
    return {
        "PATH_INFO": path,
        "HTTP_TRANSFER_ENCODING": "chunked",
        "wsgi.input_terminated": True,
        "wsgi.input": io.BytesIO(raw),
    }


def test_a_body_in_chunks_is_read_up_to_its_limit() -> None:
    source = chunked("/api/v1/episodic/recall", b"x" * MIB)
    environ = request_limits.with_length(source)
    assert environ["CONTENT_LENGTH"] == str(256 * KIB + 1)
    assert source["wsgi.input"].tell() == 256 * KIB + 1
    small = request_limits.with_length(chunked("/nowhere", b"{}"))
    assert (small["CONTENT_LENGTH"], small["wsgi.input"].read()) == ("2", b"{}")


# ── Address and headers ──────────────────────────────────────────────────────
def test_a_long_address_and_large_headers_are_refused(db: None) -> None:
    long = Client().get("/api/v1/journal?q=" + "x" * 9_000)
    assert (long.status_code, long.json()["code"]) == (414, "address_too_long")
    large = Client().get("/api/v1/me", headers={"X-More": "x" * 70_000})
    assert (large.status_code, large.json()["code"]) == (431, "headers_too_large")
    assert Client().get("/?q=" + "x" * 9_000).status_code == 414


# ── The key in the body ──────────────────────────────────────────────────────
@pytest.fixture
def issued(world: World) -> users.IssuedUser:
    agent = world.agents["ada"]
    return users.issue(agent, "mia", by=world.actor("owner"))


def search(token: str, *, size: int, first: bool = True, **headers: str) -> Any:
    """Post a search of about a size, its key among the first or the last fields."""
    credentials = {"user_id": "mia", "user_key": token}
    padding = {"later": "x" * size}
    request_body = {"query": "q", "scope": ["all_user_memory"]}
    parts: list[dict[str, Any]]
    parts = (
        [credentials, request_body, padding]
        if first
        else [padding, request_body, credentials]
    )
    fields = {name: value for part in parts for name, value in part.items()}
    return Client().post(
        "/gateway/memories/search",
        json.dumps(fields),
        "application/json",
        headers=headers,
    )


def test_without_a_key_that_works_a_body_holds_64_kib(
    issued: users.IssuedUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_up = "uk_" + "x" * 43
    assert search(made_up, size=100).status_code == 401
    monkeypatch.setattr(json_parser, "read", lambda *_: pytest.fail("it was read"))
    for token in (made_up, "", issued.token[:-1] + "~"):
        reply = search(token, size=70_000)
        assert reply.status_code == 413
        assert "64 KiB" in reply.json()["detail"]


def test_a_key_that_works_opens_the_rest_where_it_is_seen_in_time(
    issued: users.IssuedUser,
) -> None:
    assert search(issued.token, size=200_000).status_code == 200
    late = search(issued.token, size=200_000, first=False)
    assert late.status_code == 413
    bearer = {"Authorization": f"Bearer {issued.token}"}
    reply = search(issued.token, size=200_000, first=False, **bearer)
    assert reply.status_code == 200


def test_a_revoked_key_opens_nothing(issued: users.IssuedUser, world: World) -> None:
    users.revoke(issued.key, by=world.actor("owner"))
    assert search(issued.token, size=200_000).status_code == 413


def test_a_key_inside_of_a_text_is_no_key(issued: users.IssuedUser) -> None:
    quoted = json.dumps({"user_key": issued.token})
    raw = json.dumps({"query": quoted, "later": "x" * 200_000})
    reply = Client().post("/gateway/memories/search", raw, "application/json")
    assert reply.status_code == 413


def test_guessing_keys_is_counted_by_address_and_hinders_no_working_key(
    issued: users.IssuedUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(throttle.anonymous, "limit", 2)
    guesses = [search("uk_" + "x" * 43, size=9).status_code for _ in range(3)]
    assert guesses == [401, 401, 429]
    assert search(issued.token, size=9).status_code == 200
