"""Cases over the API, from the request to the certificate."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from gdpr.models import Case
from memory.models import JournalEntry
from tests.gdpr import requests as make
from tests.world import ApiClient, Reply, World


def opened(world: World, role: str = "compliance", **fields: Any) -> dict[str, Any]:
    person = fields.pop("subject", None) or make.subject(world)
    body = {
        "subject_id": person.id, "kind": "erasure", "reason": "Consent withdrawn",
        "requester": "the subject", "ticket": "4471", **fields,
    }  # fmt: skip
    reply = world.api(role).post("/gdpr/cases", body)
    assert reply.status == 201, reply.body
    case: dict[str, Any] = reply.data
    return case


def act(api: ApiClient, case: dict[str, Any], verb: str, **body: Any) -> Reply:
    """Post an action on a case."""
    return api.post(f"/gdpr/cases/{case['id']}/{verb}", body)


def test_a_case_on_its_way(world: World) -> None:
    api = world.api("compliance")
    case = opened(world)
    assert (case["state"], case["urgency"]) == ("received", "later")
    assert case["due_at"].endswith("23:59:59.999Z")
    assert case["due"] == f"{case['days_left']} days left"
    reply = act(api, case, "identity", how="code by mail", version=case["version"])
    assert reply.data["state"] == "identified"
    plan = act(api, case, "plan").data
    assert plan["phrase"] == f"erase {case['subject_id']} {plan['plan_hash'][:8]}"
    wrong = act(api, case, "execute", plan_hash=plan["plan_hash"], phrase="yes")
    assert (wrong.status, wrong.code) == (422, "wrong_phrase")
    right = {"plan_hash": plan["plan_hash"], "phrase": plan["phrase"]}
    started = act(api, case, "execute", **right)
    assert (started.status, started.data["state"]) == (202, "running")
    repeated = act(api, case, "execute", **right)
    assert (repeated.status, repeated.code) == (409, "wrong_state")
    case_data = api.get(f"/gdpr/cases/{case['id']}").data
    assert case_data["run"] == 1
    assert [event["text"] for event in reversed(case_data["events"])] == [
        "Received", "Identity verified", "Plan 1 made", "Run 1 started",
    ]  # fmt: skip


def test_the_second_person(world: World) -> None:
    admin, officer = world.api("owner"), world.api("compliance")
    settings_reply = admin.send("patch", "/gdpr/settings", {"two_person": True})
    assert settings_reply.data["two_person"] is True
    case = opened(world, **make.UNIDENTIFIED)
    plan = act(officer, case, "plan").data
    right = {"plan_hash": plan["plan_hash"], "phrase": plan["phrase"]}
    early = act(officer, case, "execute", **right)
    assert (early.status, early.code) == (409, "approval_required")
    own = act(officer, case, "approve", plan_hash=plan["plan_hash"])
    assert (own.status, own.code) == (409, "same_person")
    other = act(admin, case, "approve", plan_hash="0" * 64)
    assert (other.status, other.code) == (409, "stale_plan")
    assert act(admin, case, "approve", plan_hash=plan["plan_hash"]).data[
        "approved_by"
    ] == ("owner@acme.example")
    assert act(officer, case, "execute", **right).status == 202


def test_breaking_the_glass(world: World) -> None:
    make.settings(world, two_person=True)
    officer, case = world.api("compliance"), opened(world, **make.UNIDENTIFIED)
    plan = act(officer, case, "plan").data
    right = {"plan_hash": plan["plan_hash"], "phrase": plan["phrase"]}
    reply = act(officer, case, "execute", **right, break_glass="Court order, today")
    assert (reply.status, reply.data["break_glass_reason"]) == (
        202,
        "Court order, today",
    )
    assert len(make.entries(world, "gdpr.break_glass")) == 1


def test_a_version_that_was_read_is_the_version_that_is_changed(world: World) -> None:
    api, case = world.api("compliance"), opened(world)
    old = case["version"]
    assert act(api, case, "assign", assignee="x@acme.example", version=old).status < 300
    late = act(api, case, "refuse", reason="no", version=old)
    assert (late.status, late.code) == (409, "stale_version")
    assert late.data["version"] == old + 1
    assert Case.objects.get().state == "received"


def test_holds_over_the_api(world: World) -> None:
    api, person = world.api("compliance"), make.subject(world)
    case = opened(world, subject=person)
    base = f"/gdpr/subjects/{person.id}/holds"
    soon = (timezone.now() + timedelta(days=9)).isoformat()
    wrong = api.post(base, {"reason": "Audit", "review_at": soon, "scope": "attic"})
    assert (wrong.status, wrong.code) == (422, "bad_scope")
    assert "journal" in wrong.data["scopes"]
    hold = api.post(base, {"reason": "Audit", "review_at": soon})
    assert hold.status == 201, hold.body
    case_data = api.get(f"/gdpr/cases/{case['id']}").data
    assert (case_data["state"], case_data["holds"]) == ("on_hold", [hold.data["id"]])
    items = api.get("/gdpr/holds", {"state": "standing"}).data["items"]
    assert [row["id"] for row in items] == [hold.data["id"]]
    other = make.subject(world)
    missed = f"/gdpr/subjects/{other.id}/holds/{hold.data['id']}"
    assert api.send("delete", missed).status == 404
    released = api.send("delete", f"{base}/{hold.data['id']}")
    assert released.data["release_reason"] == "Released"
    assert api.send("delete", f"{base}/{hold.data['id']}").code == "hold_released"
    assert api.get(f"/gdpr/cases/{case['id']}").data["state"] == "received"


def test_the_list_over_the_api(world: World) -> None:
    api = world.api("compliance")
    received = (timezone.now() - timedelta(days=40)).isoformat()
    late = opened(world, received_at=received)
    opened(world, kind="access")
    page = api.get("/gdpr/cases", {"limit": 1}).data
    assert [row["id"] for row in page["items"]] == [late["id"]]
    assert page["items"][0]["urgency"] == "overdue"
    rest = api.get("/gdpr/cases", {"limit": 1, "cursor": page["next_cursor"]}).data
    assert (len(rest["items"]), rest["next_cursor"]) == (1, None)
    only = api.get("/gdpr/cases", {"kind": "access", "state": "open"}).data["items"]
    assert [row["kind"] for row in only] == ["access"]
    assert (
        api.get("/gdpr/cases", {"due": "overdue"}).data["items"][0]["id"]
        == (late["id"])
    )
    assert api.get("/gdpr/cases", {"state": "lost"}).status == 422


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"kind": "oblivion"}, 422),
        ({"received_at": "2999-01-01T00:00:00Z"}, 422),
        ({"received_at": "2020-01-01T00:00:00"}, 422),
        ({"reason": ""}, 422),
        ({"reason": "x" * 5_000}, 422),
        ({"subject_id": "sub_0000000000000000"}, 404),
    ],
)
def test_what_cannot_be_opened(
    world: World, fields: dict[str, Any], status: int
) -> None:
    body = {"subject_id": make.subject(world).id, "kind": "erasure", "reason": "x"}
    assert world.api("owner").post("/gdpr/cases", body | fields).status == status
    assert not Case.objects.exists()


def test_nothing_of_another_workspace_is_there(world: World) -> None:
    foreign = make.opened(world, "stranger")
    api = world.api("owner")
    absent = api.get("/gdpr/cases/c_0000000000000000")
    for verb, body in (
        ("identity", {"how": "x"}), ("plan", {}), ("refuse", {"reason": "x"}),
        ("approve", {"plan_hash": "0" * 64}), ("comments", {"text": "x"}),
    ):  # fmt: skip
        reply = api.post(f"/gdpr/cases/{foreign.id}/{verb}", body)
        assert (reply.status, reply.body) == (404, absent.body), verb
    assert api.get(f"/gdpr/cases/{foreign.id}").body == absent.body
    assert api.get("/gdpr/cases", {"subject_id": foreign.subject_ref}).data[
        "items"
    ] == ([])


def test_a_persons_words_stay_out_of_the_journal(world: World) -> None:
    api = world.api("compliance")
    case = opened(world, reason="Maria Keller wrote", requester="Maria Keller")
    act(api, case, "comments", text="Maria called")
    act(api, case, "attachments", name="maria.pdf", sha256="a" * 64)
    act(api, case, "identity", how="Maria's passport")
    act(api, case, "extend", months=1, reason="Maria agreed")
    act(api, case, "refuse", reason="Maria withdrew")
    rows = JournalEntry.objects.filter(entry_type__startswith="gdpr.")
    assert rows.count() == 6
    assert not any("aria" in row.summary + row.payload_text for row in rows)
