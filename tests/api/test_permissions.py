"""Every operation, for everybody: one table, and nothing that is missing from it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from crewship_memory.api import api
from memory.accounts import api_keys, workspaces
from memory.models import AgentKey, Membership
from memory.rules.permissions import Role
from tests.api.operations import BY_ID, CALLERS, OPERATIONS, Operation
from tests.conftest import Row
from tests.world import PEOPLE, World

NO_CSRF = [op for op in OPERATIONS if op.method != "get" and not op.is_open]


def declared() -> dict[str, tuple[str, str]]:
    """Return the operations of the OpenAPI document: id → method, path."""
    document = api.get_openapi_schema(path_prefix="")
    return {
        operation["operationId"]: (method, path)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def test_the_table_names_every_operation_and_no_other() -> None:
    table = {op.id: (op.method, op.path) for op in OPERATIONS}
    assert declared() == table
    assert len(BY_ID) == len(OPERATIONS)


def in_worlds(operation: Operation, callers: Iterable[str]) -> list[list[str]]:
    """Return who may ask one after the other, because nothing changes in between."""
    single_rows = [
        caller
        for caller in callers
        if operation.method != "get" and operation.expected(caller) < 400
    ]
    together = [caller for caller in callers if caller not in single_rows]
    return [together, *([caller] for caller in single_rows)]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda op: op.id)
def test_who_may_do_what(row: Row, operation: Operation) -> None:
    for callers in in_worlds(operation, CALLERS):
        with row(who=" ".join(callers)) as world:
            url = operation.url(world)
            body = operation.body(world) if operation.body else None
            replies = {
                caller: world.api(caller).send(operation.method, url, body)
                for caller in callers
            }
            statuses = {caller: reply.status for caller, reply in replies.items()}
            assert statuses == {c: operation.expected(c) for c in callers}, replies
            for reply in replies.values():
                if reply.status >= 400:
                    assert reply.code
                if reply.status == 401:
                    assert reply.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda op: op.id)
def test_a_signed_in_person_may_what_their_key_may(
    row: Row, operation: Operation
) -> None:
    for callers in in_worlds(operation, PEOPLE):
        with row(who=" ".join(callers)) as world:
            url = operation.url(world)
            body = operation.body(world) if operation.body else None
            replies = {
                caller: world.session(caller).send(operation.method, url, body)
                for caller in callers
            }
            statuses = {caller: reply.status for caller, reply in replies.items()}
            assert statuses == {c: operation.expected(c) for c in callers}, replies


@pytest.mark.parametrize("operation", NO_CSRF, ids=lambda op: op.id)
def test_a_session_without_the_csrf_token_changes_nothing(
    world: World, operation: Operation
) -> None:
    body = operation.body(world) if operation.body else None
    reply = world.session("owner", csrf=False).send(
        operation.method, operation.url(world), body
    )
    assert (reply.status, reply.code) == (403, "csrf")


# ── Ways to show a key ───────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "header",
    [
        {"Authorization": "Bearer {}"},
        {"Authorization": "bearer {}"},
        {"Authorization": "Token {}"},
        {"Authorization": "Bearer   {} "},
        {"X-API-Key": "{}"},
    ],
)
def test_three_ways_to_show_a_key(world: World, header: dict[str, str]) -> None:
    request_headers = {
        name: text.format(world.tokens["ada"]) for name, text in header.items()
    }
    reply = world.api("nobody").get("/me", headers=request_headers)
    assert (reply.status, reply.data["id"]) == (200, world.agents["ada"].id)


@pytest.mark.parametrize(
    "header",
    [
        {"Authorization": "Basic {}"},
        {"Authorization": "{}"},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer {}x"},
        {"X-API-Key": ""},
    ],
)
def test_ways_that_are_none(world: World, header: dict[str, str]) -> None:
    request_headers = {
        name: text.format(world.tokens["ada"]) for name, text in header.items()
    }
    assert world.api("nobody").get("/me", headers=request_headers).status == 401


def test_a_bad_key_is_not_rescued_by_a_session(world: World) -> None:
    browser = world.session("owner")
    reply = browser.get("/me", headers={"Authorization": "Bearer cmk_wrong"})
    assert reply.status == 401


# ── Access that ends ─────────────────────────────────────────────────────────
def test_a_revoked_key_is_refused_at_once(world: World) -> None:
    ada = world.api("ada")
    assert ada.get("/me").status == 200
    key = AgentKey.objects.get(digest=api_keys.digest(world.tokens["ada"]))
    api_keys.revoke(key, by=world.actor("owner"))
    assert ada.get("/me").status == 401


def test_who_leaves_is_refused_at_once(world: World) -> None:
    by_key, browser = world.api("viewer"), world.session("viewer")
    assert (by_key.get("/me").status, browser.get("/me").status) == (200, 200)
    member = Membership.objects.get(user=world.people["viewer"])
    workspaces.remove_member(member, by=world.actor("owner"))
    assert (by_key.get("/me").status, browser.get("/me").status) == (401, 401)


def test_a_lower_role_holds_at_once(world: World) -> None:
    operator = world.api("operator")
    assert operator.get("/journal/verify").status == 200
    workspaces.set_member(
        world.people["operator"], Role.VIEWER, by=world.actor("owner")
    )
    assert operator.get("/journal/verify").status == 403
    assert operator.get("/me").data["role"] == "viewer"


def test_who_am_i(world: World) -> None:
    ada = world.api("ada").get("/me").data
    assert (ada["role"], ada["agent_role"], ada["workspace"]) == (
        "agent",
        "AGENT",
        "acme",
    )
    assert ada["crew_id"] == world.crews["support"].id
    assert world.api("reader").get("/me").data["scopes"] == ["read"]
    owner = world.session("owner").get("/me").data
    assert (owner["role"], owner["crew_id"]) == ("admin", None)
