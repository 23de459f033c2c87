"""A new workspace asks for an identity and for two persons, by every way in."""

from __future__ import annotations

import io
import json
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection

from gdpr import erasure
from gdpr.cases import dry_run, identity, privacy_settings
from gdpr.cases import workflow as cases
from gdpr.cases.privacy_settings import Change
from gdpr.erasure import one_call
from gdpr.models import ActionKind, Case, CaseKind, CaseState, GdprAction
from memory.accounts import api_keys, workspaces
from memory.models import JournalEntry, User, WorkspaceSetting
from memory.rules import errors, permissions
from memory.rules.permissions import Role
from tests.gdpr import erasing
from tests.gdpr import requests as make
from tests.gdpr.erasing import MAIL
from tests.gdpr.requests import UNIDENTIFIED
from tests.world import World

PATH = f"/admin/users/{MAIL}/data"
ASKED = {"reason": "She asked"}


@pytest.fixture
def new(world: World) -> World:
    """Return the world as a workspace that was made today, with Maria in it."""
    WorkspaceSetting.objects.all().delete()
    erasing.lived_in(world)
    erasing.maria(world)
    return world


def code(caught: pytest.ExceptionInfo[errors.AppError]) -> str:
    return caught.value.problem_code


# ── The defaults ─────────────────────────────────────────────────────────────
def test_both_are_on_in_a_new_workspace(world: World) -> None:
    rules = privacy_settings.of(world.new_workspace().id)
    assert (rules.two_person, rules.require_identity) == (True, True)


@pytest.mark.parametrize("stored", [None, True, False, "reset"])
def test_an_earlier_workspace_keeps_what_it_had(
    world: World, stored: bool | str | None
) -> None:
    WorkspaceSetting.objects.all().delete()
    if stored is not None:
        is_set = stored != "reset"
        WorkspaceSetting.objects.create(
            workspace=world.acme, name="two_person", is_set=is_set,
            value=stored if is_set else True, changed_by="owner@acme.example",
        )  # fmt: skip
    migration = import_module("gdpr.migrations.0002_safe_defaults")
    migration.keep_earlier_rules(apps, SimpleNamespace(connection=connection))
    rules = privacy_settings.of(world.acme.id)
    assert (rules.two_person, rules.require_identity) == (stored is True, False)


# ── One call ─────────────────────────────────────────────────────────────────
def test_one_call_waits_for_the_identity_then_for_a_second_person(new: World) -> None:
    officer, admin = new.api("compliance"), new.api("owner")
    first = officer.send("delete", PATH, ASKED)
    assert (first.status, first.data["status"]) == (202, "awaiting_identity")
    assert (first.data["state"], first.data["rows_deleted"]) == ("received", {})
    case = f"/gdpr/cases/{first.data['case_id']}"
    assert first.data["page"] == f"/privacy/cases/{first.data['case_id']}/"
    calls = [step["call"] for step in first.data["next"]]
    assert calls == [
        f"POST /api/v1{case}/identity", f"POST /api/v1{case}/skip_identity", None,
    ]  # fmt: skip
    assert officer.post(f"{case}/identity", {"how": "by code"}).status == 200
    second = officer.send("delete", PATH, ASKED)
    assert (second.status, second.data["status"]) == (202, "awaiting_approval")
    second_answer = officer.send("delete", PATH, ASKED).data
    assert second_answer == second.data
    assert (second_answer["case_id"], second_answer["action_id"]) == (
        first.data["case_id"], first.data["action_id"],
    )  # fmt: skip
    plan_hash = officer.get(case).data["plan"]["plan_hash"]
    assert second_answer["next"][0]["call"] == f"POST /api/v1{case}/approve"
    own = officer.post(f"{case}/approve", {"plan_hash": plan_hash})
    assert (own.status, own.code) == (409, "same_person")
    assert admin.post(f"{case}/approve", {"plan_hash": plan_hash}).status == 200
    approver = admin.send("delete", PATH, ASKED)
    assert (approver.status, approver.code) == (409, "same_person")
    last = officer.send("delete", PATH, ASKED)
    assert (last.status, last.data["status"], last.data["next"]) == (202, "running", [])
    assert last.data["rows_deleted"]["journal"] >= 1
    assert last.data["action_id"] == first.data["action_id"]
    assert Case.objects.count() == 1
    assert GdprAction.objects.filter(action=ActionKind.DELETE).count() == 1


def test_one_call_with_a_ground_waits_for_the_second_person_alone(new: World) -> None:
    reply = new.api("compliance").send("delete", PATH, ASKED | UNIDENTIFIED)
    assert (reply.status, reply.data["status"]) == (202, "awaiting_approval")
    case = Case.objects.get()
    assert case.identity_skipped_ground == "own_decision"
    assert JournalEntry.objects.get(
        entry_type="gdpr.case_identity_skipped"
    ).payload["ground"] == "own_decision"  # fmt: skip


def test_a_plan_that_became_stale_is_made_again_and_approved_again(new: World) -> None:
    by, second = new.actor("compliance"), new.actor("owner")
    started = one_call.erase(MAIL, "Asked", by=by, **UNIDENTIFIED)
    plan = cases.latest_plan(started.case)
    assert plan is not None
    cases.approve(started.case, plan.plan_hash, by=second)
    new.indexed(f"{MAIL} wrote again")
    second_answer = one_call.erase(MAIL, "Asked", by=by)
    assert (second_answer.case.pk, second_answer.status) == (
        started.case.pk,
        "awaiting_approval",
    )
    assert second_answer.case.plans.count() == 2


@pytest.mark.parametrize(
    ("person", "status"),
    [("owner", 202), ("compliance", 202), ("operator", 403), ("viewer", 403),
     ("ada", 403), ("nobody", 401)],
)  # fmt: skip
def test_who_may_ask_for_an_erasure(new: World, person: str, status: int) -> None:
    reply = new.api(person).send("delete", PATH, ASKED)
    assert reply.status == status
    assert Case.objects.exists() is (status == 202)


def test_a_stranger_opens_no_case_about_a_person_of_this_workspace(new: World) -> None:
    assert new.api("stranger").send("delete", PATH, ASKED).status == 202
    case = Case.objects.get()
    assert case.workspace_id == new.other.id
    assert case.subject is not None
    assert case.subject.workspace_id == new.other.id


def test_without_an_identity_check_the_call_needs_a_ground(world: World) -> None:
    erasing.maria(world)
    officer = world.api("compliance")
    reply = officer.send("delete", PATH, ASKED)
    assert (reply.status, reply.code) == (422, "identity_ground_required")
    assert "own_decision" in reply.data["grounds"]
    for name in UNIDENTIFIED:
        assert name in reply.data["detail"]
    assert [fault["field"] for fault in reply.data["errors"]] == list(UNIDENTIFIED)
    reason_only = {**ASKED, "identity_reason": "Nobody asked"}
    (fault,) = officer.send("delete", PATH, reason_only).data["errors"]
    assert fault["field"] == "identity_ground"
    no_reason = {**ASKED, "identity_ground": "authority"}
    reply = officer.send("delete", PATH, no_reason)
    assert (reply.status, reply.code) == (422, "identity_reason_required")
    unknown = {**ASKED, **UNIDENTIFIED, "identity_ground": "because"}
    assert officer.send("delete", PATH, unknown).status == 422
    assert not Case.objects.exists()


def test_the_example_of_the_answer_is_accepted(world: World) -> None:
    erasing.maria(world)
    officer = world.api("compliance")
    example = officer.send("delete", PATH, ASKED).data["example"]
    assert officer.send("delete", PATH, example).status == 202


@pytest.mark.parametrize(
    ("ground", "option"),
    [("", "--identity-ground GROUND"), ("authority", "--identity-reason WHY")],
)
def test_the_command_says_which_option_is_missing(
    world: World, ground: str, option: str
) -> None:
    erasing.maria(world)
    with pytest.raises(CommandError, match=option):
        call_command(
            "gdpr_erase", MAIL, workspace="acme", reason="Asked", apply=True,
            identity_ground=ground,
        )  # fmt: skip


# ── The command ──────────────────────────────────────────────────────────────
def command(**options: Any) -> tuple[int, dict[str, Any]]:
    """Run ``gdpr_erase``; return its exit code and its answer."""
    out = io.StringIO()
    options = {"workspace": "acme", "reason": "Asked", "json": True, **options}
    try:
        call_command("gdpr_erase", MAIL, stdout=out, **options)
    except CommandError as error:
        return error.returncode, json.loads(out.getvalue() or "{}")
    return 0, json.loads(out.getvalue())


def test_the_command_says_what_it_waits_for_by_its_exit_code(new: World) -> None:
    status, answer = command(apply=True)
    assert (status, answer["status"]) == (4, "awaiting_identity")
    assert answer["next"][0]["call"].endswith(f"{answer['case_id']}/identity")
    assert command()[0] == 4
    status, answer = command(apply=True, **UNIDENTIFIED)
    assert (status, answer["status"]) == (3, "awaiting_approval")
    status, answer = command()
    assert (status, answer["state"]) == (0, "planned")
    assert "second person" in answer["next"][0]["what"]
    case = Case.objects.get()
    assert command(case=case.pk, phrase=answer["phrase"])[0] == 3
    cases.approve(case, answer["plan_hash"], by=new.actor("owner"))
    assert Case.objects.count() == 1


@pytest.mark.slow
def test_an_approved_case_is_run_by_the_command(shared_world: World) -> None:
    world = shared_world
    WorkspaceSetting.objects.all().delete()
    erasing.lived_in(world)
    erasing.maria(world)
    command(apply=True, **UNIDENTIFIED)
    case = Case.objects.get()
    plan = cases.latest_plan(case)
    assert plan is not None
    cases.approve(case, plan.plan_hash, by=world.actor("owner"))
    status, answer = command(apply=True)
    assert (status, answer["state"]) == (0, CaseState.COMPLETE)
    assert answer["case_id"] == case.pk
    assert answer["certificate"]["content"]["approvals"]["two_persons"]


def test_the_command_needs_a_ground_where_nobody_asks_for_an_identity(
    world: World,
) -> None:
    erasing.maria(world)
    assert command(apply=True)[0] == 4
    assert not Case.objects.exists()


# ── The identity ─────────────────────────────────────────────────────────────
def test_an_erasure_runs_with_an_identity_or_with_a_ground(world: World) -> None:
    by = world.actor("compliance")
    erasing.lived_in(world)
    case = erasing.opened(
        world, erasing.maria(world), identity_ground="", identity_reason=""
    )
    plan = dry_run.make(case, by=by)
    phrase = cases.phrase(case, plan.plan_hash)
    with pytest.raises(errors.Conflict) as caught:
        erasure.start(case, plan.plan_hash, phrase, by=by)
    assert code(caught) == "identity_ground_required"
    skip = ("authority", "The police asked")
    with pytest.raises(errors.Invalid):
        erasure.start(case, plan.plan_hash, "wrong", by=by, skip_identity=skip)
    assert not Case.objects.get(pk=case.pk).identity_skipped_ground
    running = erasure.start(case, plan.plan_hash, phrase, by=by, skip_identity=skip)
    assert (running.state, running.identity_skipped_ground) == ("running", "authority")


@pytest.mark.slow
def test_the_reason_is_erased_with_the_case_and_the_ground_stays(
    shared_world: World,
) -> None:
    erasing.lived_in(shared_world)
    case = erasing.erased(shared_world, erasing.maria(shared_world))
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    assert (case.identity_skipped_ground, case.identity_skipped_reason) == (
        "own_decision", "[erased]",
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["access", "rectification", "restriction"])
def test_no_other_request_goes_on_without_an_identity(world: World, kind: str) -> None:
    case = make.opened(world, kind=kind, correction={"wrong": "a", "right": "b"})
    with pytest.raises(errors.Conflict) as caught:
        identity.skip(case, "other", "No time", by=world.actor("compliance"))
    assert code(caught) == "identity_required"


def test_a_ground_given_later_drops_the_approval(new: World) -> None:
    by, second = new.actor("compliance"), new.actor("owner")
    case = make.opened(new, identity_ground="", identity_reason="")
    Case.objects.filter(pk=case.pk).update(identity_skipped_ground="")
    make.settings(new, require_identity=False)
    case = make.planned(case, by)
    with pytest.raises(errors.Conflict) as caught:
        cases.approve(case, make.HASH, by=second)
    assert code(caught) == "identity_ground_required"
    identity.skip(case, "data_wrong", "A test account", by=by)
    case = cases.approve(case, make.HASH, by=second)
    case = identity.skip(case, "other", "Another ground", by=by)
    assert (case.state, case.approved_by_id) == (CaseState.PLANNED, "")


def test_a_verified_identity_replaces_the_ground(world: World) -> None:
    by, case = world.actor("compliance"), make.opened(world)
    case = identity.verify(case, "by code", by=by)
    assert (case.identity_skipped_ground, case.identity_skipped_reason) == ("", "")
    with pytest.raises(errors.Conflict) as caught:
        identity.skip(case, "other", "No", by=by)
    assert code(caught) in {"identity_verified", "wrong_state"}


# ── The second person ────────────────────────────────────────────────────────
def _key(world: World, person: str, maker: str) -> permissions.Actor:
    """Return a program that acts for a person with a key that another one made."""
    by = workspaces.person(world.people[maker], Role.ADMIN, world.acme.id)
    role = Role.COMPLIANCE if person == "compliance" else Role.ADMIN
    issued = api_keys.issue_operator_key(world.people[person], role, by=by)
    actor = api_keys.authenticate(issued.token)
    assert actor is not None
    return actor


def test_nobody_approves_their_own_plan_through_a_key_they_made(new: World) -> None:
    owner = workspaces.person(new.people["owner"], Role.ADMIN, new.acme.id)
    case = make.planned(make.opened(new, "owner"), owner)
    with pytest.raises(errors.Conflict) as caught:
        cases.approve(case, make.HASH, by=_key(new, "compliance", maker="owner"))
    assert code(caught) == "same_person"
    program = _key(new, "compliance", maker="compliance")
    assert cases.approve(case, make.HASH, by=program).state == CaseState.APPROVED


def test_who_made_the_key_that_opened_a_case_does_not_approve_it(new: World) -> None:
    program = _key(new, "compliance", maker="owner")
    request = cases.NewCase(
        subject_id=erasing.otto(new).pk,
        kind=CaseKind.ERASURE,
        reason="x",
        identity_how="by code",
    )
    case = make.planned(cases.open_case(request, by=program), program)
    with pytest.raises(errors.Conflict) as caught:
        cases.approve(case, make.HASH, by=new.actor("owner"))
    assert code(caught) == "same_person"


def test_who_made_the_approving_key_does_not_carry_it_out(new: World) -> None:
    third, _ = workspaces.ensure_user("third@acme.example")
    workspaces.set_member(third, Role.ADMIN, by=new.system())
    by = workspaces.person(third, Role.ADMIN, new.acme.id)
    case = make.planned(make.opened(new), new.actor("compliance"))
    new.people["third"] = third
    case = cases.approve(case, make.HASH, by=_key(new, "third", maker="owner"))
    phrase = cases.phrase(case, make.HASH)
    for actor in (by, new.actor("owner")):
        with pytest.raises(errors.Conflict) as caught:
            cases.execute(case, make.HASH, phrase, by=actor)
        assert code(caught) == "same_person"
    assert cases.execute(case, make.HASH, phrase, by=new.actor("compliance"))


@pytest.mark.parametrize("who", ["system", "key of nobody"])
def test_only_a_person_approves(new: World, who: str) -> None:
    by = new.system()
    if who == "key of nobody":
        missing_rows = User(email="gone@acme.example")
        new.people["gone"] = missing_rows
        by = _key(new, "owner", maker="gone")
    case = make.planned(make.opened(new), new.actor("compliance"))
    with pytest.raises(errors.Conflict) as caught:
        cases.approve(case, make.HASH, by=by)
    assert code(caught) == "not_a_person"


def test_a_lonely_officer_is_told_what_it_takes(new: World) -> None:
    officer = new.people["compliance"]
    officer.memberships.all().delete()
    owner = new.api("owner")
    reply = owner.send("delete", PATH, ASKED | UNIDENTIFIED).data
    assert any("invites a second person" in step["what"] for step in reply["next"])
    case = owner.get(f"/gdpr/cases/{reply['case_id']}").data
    assert case["approver_missing"] is True
    form = {"plan_hash": case["plan"]["plan_hash"], "phrase": case["plan"]["phrase"]}
    refusal = owner.post(f"/gdpr/cases/{case['id']}/execute", form)
    assert (refusal.status, refusal.code) == (409, "approval_required")
    assert "invites a second person" in refusal.data["detail"]
    page = new.page("owner").get(f"/privacy/cases/{case['id']}/").content.decode()
    assert "Nobody here may approve it" in page
    assert "/workspace/members/#h-invite" in page
    settings_page = new.page("owner").get("/privacy/settings/").content.decode()
    assert "Only one person here may handle cases" in settings_page
    assert owner.get("/gdpr/settings").data["officers"] == 1


# ── Switching them off ───────────────────────────────────────────────────────
@pytest.mark.parametrize("name", privacy_settings.SAFEGUARDS)
def test_switching_one_off_needs_a_reason_that_stays_visible(
    new: World, name: str
) -> None:
    owner = new.api("owner")
    refusal = owner.send("patch", "/gdpr/settings", {name: False, "reason": "  "})
    assert (refusal.status, refusal.code) == (422, "reason_required")
    assert getattr(privacy_settings.of(new.acme.id), name) is True
    reason = "We are two people, one is ill"
    reply = owner.send("patch", "/gdpr/settings", {name: False, "reason": reason})
    [off] = reply.data["switched_off"]
    assert (off["name"], off["by"], off["reason"]) == (
        name,
        "owner@acme.example",
        reason,
    )
    [row] = GdprAction.objects.filter(action=ActionKind.SETTINGS)
    assert (row.reason, row.scope) == (reason, {"setting": name, "value": False})
    [entry] = make.entries(new, "gdpr.settings_changed")
    assert (entry.severity, entry.payload["reason"]) == ("warn", reason)
    page = new.page("compliance").get("/privacy/settings/").content.decode()
    assert reason in page and "owner@acme.example" in page
    assert reason in new.page("compliance").get("/privacy/ledger/").content.decode()
    assert owner.send("patch", "/gdpr/settings", {name: True}).status == 200
    assert owner.get("/gdpr/settings").data["switched_off"] == []


def test_the_settings_page_asks_for_the_reason_at_its_field(new: World) -> None:
    form = {"time_zone": "UTC", "export_days": "7", "backup_days": "9"}
    form["letter_days"] = "11"
    page = new.page("owner")
    refusal = page.post("/privacy/settings/", form)
    assert refusal.status_code == 422
    assert 'id="id_reason_error"' in refusal.content.decode()
    kept_rows = page.post("/privacy/settings/", {**form, "reason": "Alone here"})
    assert kept_rows.status_code == 302
    rules = privacy_settings.of(new.acme.id)
    assert (rules.two_person, rules.require_identity) == (False, False)


@pytest.mark.parametrize("person", ["compliance", "operator", "viewer"])
def test_only_an_admin_switches_them_off(new: World, person: str) -> None:
    with pytest.raises(errors.Forbidden):
        privacy_settings.change(
            Change(two_person=False, reason="Mine"), by=new.actor(person)
        )
