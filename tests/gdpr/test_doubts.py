"""Doubtful rows wait for a decision, and any row can be decided to stay."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.urls import reverse

from gdpr import erasure
from gdpr.cases import dry_run
from gdpr.cases import workflow as cases
from gdpr.certificates import issue as certificates
from gdpr.erasure import one_call
from gdpr.models import (
    ActionKind,
    Case,
    CaseKind,
    CaseState,
    GdprAction,
    RowVerdict,
    Subject,
    Verdict,
)
from memory.models import JournalEntry
from memory.rules import errors
from tests.gdpr import erasing, kit
from tests.gdpr.requests import UNIDENTIFIED
from tests.world import World

SURNAME = "Quintanilla"


pytestmark = pytest.mark.slow


@pytest.fixture
def world(shared_world: World) -> World:
    """A world whose runs commit their transactions."""
    return shared_world


@pytest.fixture
def maria(world: World) -> Subject:
    return kit.subject(world, {"name": SURNAME, "email": erasing.MAIL})


def _rows(world: World) -> tuple[JournalEntry, JournalEntry, JournalEntry]:
    sure_row = world.entry(f"{erasing.MAIL} and nobody else")
    maybe = world.entry(f"Doctor {SURNAME} came by", payload={"n": 1})
    other = world.entry(f"Square of {SURNAME} is closed")
    return sure_row, maybe, other


def _planned(world: World, maria: Subject, kind: CaseKind = CaseKind.ERASURE) -> Case:
    case = erasing.opened(world, maria, kind)
    erasing.planned(world, case)
    return Case.objects.get(pk=case.pk)


def _start(world: World, case: Case) -> Case:
    by, fresh = world.actor("compliance"), Case.objects.get(pk=case.pk)
    plan = cases.latest_plan(fresh)
    assert plan is not None
    return erasure.start(
        fresh, plan.plan_hash, cases.phrase(fresh, plan.plan_hash), by=by
    )


def test_a_doubtful_row_stops_the_run_until_it_is_decided(
    world: World, maria: Subject
) -> None:
    sure_row, maybe, other = _rows(world)
    case = _planned(world, maria)
    doubts = dry_run.doubts(cases.latest_plan(case))
    assert {row["id"] for row in doubts["rows"]} == {maybe.id, other.id}
    assert doubts["undecided"] == 2
    with pytest.raises(errors.Conflict) as refusal:
        _start(world, case)
    assert refusal.value.problem_code == "doubtful_rows"
    erasing.plan_and_decide(world, case, Verdict.THEIRS, ("journal", maybe.id))
    with pytest.raises(errors.Conflict):
        _start(world, case)
    erasing.plan_and_decide(world, case, Verdict.SPARED, ("journal", other.id))
    running = _start(world, case)
    erasure.run(running.workspace_id, running.pk)
    case_after = Case.objects.get(pk=case.pk)
    assert case_after.state == CaseState.COMPLETE, erasing.failure_text(case_after)
    for row in (sure_row, maybe, other):
        row.refresh_from_db()
    assert (sure_row.erased_at is not None, maybe.erased_at is not None) == (True, True)
    assert other.summary == f"Square of {SURNAME} is closed"


def test_the_certificate_counts_what_stays_and_names_nobody(
    world: World, maria: Subject
) -> None:
    _, maybe, other = _rows(world)
    case = _planned(world, maria)
    erasing.plan_and_decide(world, case, Verdict.SPARED)
    running = _start(world, case)
    erasure.run(running.workspace_id, running.pk)
    case = Case.objects.get(pk=case.pk)
    document = certificates.of_case(world.actor("compliance"), case).document
    content = json.loads(document)["content"]
    assert content["rows_spared"] == {"total": 2, "grounds": {"somebody_else": 2}}
    assert content["verdict"] == "complete_except"
    assert "A person decided that 2 rows stay." in content["statement"]
    assert content["kept"]["proposed"] == {"rows": 2, "erased": 0, "kept": 2}
    assert erasing.NAME not in document
    assert SURNAME.lower() not in document.lower()
    assert set(RowVerdict.objects.values_list("reason", flat=True)) == {"[erased]"}
    action = GdprAction.objects.get(action=ActionKind.DECIDE)
    assert action.scope["rows"] == 2
    assert (action.case_ref, action.subject_ref) == (case.id, maria.id)
    assert maybe.id != other.id


def test_any_row_can_be_spared_and_the_plan_changes_with_it(
    world: World, maria: Subject
) -> None:
    sure_row = world.entry(f"{erasing.MAIL} signed the lease")
    case = _planned(world, maria)
    first = cases.latest_plan(case)
    plan = erasing.plan_and_decide(
        world, case, Verdict.SPARED, ("journal", sure_row.id), ground="must_stay"
    )
    assert first is not None
    assert first.plan_hash != plan.plan_hash
    assert ["journal", sure_row.id, "keep"] in [
        [place, *row] for place, rows in plan.rows.items() for row in rows
    ]
    running = _start(world, case)
    erasure.run(running.workspace_id, running.pk)
    sure_row.refresh_from_db()
    assert sure_row.erased_at is None
    case = Case.objects.get(pk=case.pk)
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)


def test_a_changed_decision_makes_an_approval_stale(
    world: World, maria: Subject
) -> None:
    _, maybe, _ = _rows(world)
    case = _planned(world, maria)
    first_plan = erasing.plan_and_decide(world, case, Verdict.SPARED)
    cases.approve(
        Case.objects.get(pk=case.pk), first_plan.plan_hash, by=world.actor("owner")
    )
    second_plan = erasing.plan_and_decide(
        world, case, Verdict.THEIRS, ("journal", maybe.id)
    )
    fresh = Case.objects.get(pk=case.pk)
    assert (fresh.state, fresh.approved_plan) == (CaseState.PLANNED, "")
    assert second_plan.plan_hash != first_plan.plan_hash
    with pytest.raises(errors.Conflict):
        cases.execute(fresh, first_plan.plan_hash, "x", by=world.actor("compliance"))


def test_a_doubtful_row_that_comes_late_is_left_and_told(
    world: World, maria: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gdpr.erasure import failpoints

    case = _planned(world, maria)
    running = _start(world, case)
    late: list[JournalEntry] = []

    def step(name: str) -> None:
        if name == "ledgered" and not late:
            late.append(world.entry(f"Street of {SURNAME} is wet"))

    monkeypatch.setattr(failpoints, "step", step)
    erasure.run(running.workspace_id, running.pk)
    late[0].refresh_from_db()
    assert late[0].erased_at is None
    assert Case.objects.get(pk=case.pk).state == CaseState.PARTIAL


def test_one_call_waits_where_a_row_is_in_doubt(world: World, maria: Subject) -> None:
    sure_row, maybe, _ = _rows(world)
    erasure = one_call.erase(
        erasing.MAIL, "Asked", by=world.actor("compliance"), **UNIDENTIFIED
    )
    assert (erasure.case.state, erasure.rows) == (CaseState.PLANNED, {})
    assert "2 rows may be about somebody else" in erasure.warnings[0]
    for row in (sure_row, maybe):
        row.refresh_from_db()
        assert row.erased_at is None
    case = Case.objects.get(pk=erasure.case.id)
    erasing.plan_and_decide(world, case, Verdict.SPARED)
    running = _start(world, case)
    assert running.state == CaseState.RUNNING
    assert erasure.action_id == GdprAction.objects.get(action="delete").id
    assert maria.pk == case.subject_ref


def test_an_export_leaves_out_what_may_be_somebody_elses(
    world: World, maria: Subject
) -> None:
    sure_row, maybe, _ = _rows(world)
    data = one_call.export_all(erasing.MAIL, by=world.actor("compliance"))
    assert [row["id"] for row in data["places"]["journal"]] == [sure_row.id]
    assert data["left_out"] == {"journal": 2}
    assert maybe.id not in json.dumps(data["places"]["journal"])
    assert maria.pk == data["data_subject_id"]


def test_the_api_decides_and_answers_with_the_next_plan(
    world: World, maria: Subject
) -> None:
    _, maybe, other = _rows(world)
    case = erasing.opened(world, maria)
    api = world.api("compliance")
    plan = api.post(f"/gdpr/cases/{case.id}/plan", {}).data
    assert plan["doubtful_undecided"] == 2
    path = f"/gdpr/cases/{case.id}/decisions"
    rows = [{"place": "journal", "id": other.id}]
    payload: dict[str, Any] = {
        "plan_hash": plan["plan_hash"],
        "verdict": "spared",
        "rows": rows,
    }
    assert api.post(path, payload).code == "ground_required"
    payload |= {"ground": "no_person"}
    assert api.post(path, payload).code == "reason_required"
    payload |= {"reason": "It is a square"}
    strange = {**payload, "rows": [{"place": "journal", "id": "j_0000000000000000"}]}
    assert api.post(path, strange).code == "unknown_row"
    following = api.post(path, payload).data
    assert following["doubtful_undecided"] == 1
    assert api.post(path, payload).code == "stale_plan"
    rest = {
        "plan_hash": following["plan_hash"],
        "verdict": "theirs",
        "all_doubtful": True,
    }
    last = api.post(path, rest).data
    assert (last["doubtful_undecided"], last["doubtful_total"]) == (0, 2)
    verdicts = {row["id"]: row["verdict"] for row in last["doubtful"]}
    assert verdicts == {maybe.id: "theirs", other.id: "spared"}


def test_the_page_decides_without_a_script(world: World, maria: Subject) -> None:
    _, maybe, other = _rows(world)
    case = _planned(world, maria)
    page = world.page("compliance")
    address = reverse("privacy:case", args=[case.id])
    assert "2 rows may be about somebody else" in page.get(address).content.decode()
    page_text = page.post(reverse("privacy:samples", args=[case.id])).content.decode()
    assert f"Square of {SURNAME} is closed" in page_text
    plan = cases.latest_plan(case)
    assert plan is not None
    payload = {
        "of_plan": plan.plan_hash,
        "row": [f"journal {other.id}"],
        "decide": "spare",
    }
    path = reverse("privacy:decide", args=[case.id])
    refusal = page.post(path, {**payload, "ground": "somebody_else"})
    assert refusal.status_code == 422
    accepted = {**payload, "ground": "somebody_else", "reason": "Another family"}
    assert page.post(path, accepted).status_code == 302
    plan = cases.latest_plan(case)
    assert plan is not None
    all_rows = {"of_plan": plan.plan_hash, "decide": "theirs-all"}
    assert page.post(path, all_rows).status_code == 302
    verdicts = dict(RowVerdict.objects.values_list("row_id", "verdict"))
    assert verdicts == {other.id: "spared", maybe.id: "theirs"}


def test_a_row_once_matched_by_a_name_that_is_gone_is_in_doubt(world: World) -> None:
    from gdpr.models import Via

    subject = kit.subject(world, {"user_id": "42"})
    row = world.entry("order 42 was shipped")
    kit.link(subject, "journal", row.id, Via.MATCHED)
    match = kit.matches_in("journal", subject)[row.id]
    assert match.doubtful


def test_a_spared_line_of_a_file_stays_and_a_sure_one_goes(
    world: World, maria: Subject
) -> None:
    file = world.file(f"- {erasing.MAIL} likes tea\n- {SURNAME} is a street\n- Boats")
    case = _planned(world, maria)
    plan = erasing.plan_and_decide(world, case, Verdict.SPARED)
    assert {row[0] for row in plan.rows["files"]} == {file.id, f"{file.id}?"}
    running = _start(world, case)
    erasure.run(running.workspace_id, running.pk)
    case = Case.objects.get(pk=case.pk)
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    from memory.files import erasure as file_erasure

    rest = list(file_erasure.texts(file))[-1][1]
    assert rest.splitlines() == [f"- {SURNAME} is a street", "- Boats"]


def test_a_row_spared_behind_the_last_dry_run_stops_the_run(
    world: World, maria: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    sure_row = world.entry(f"{erasing.MAIL} signed the lease")
    case = _planned(world, maria)
    fits, by = dry_run.require_current, world.actor("compliance")

    def spare_row_first(case: Case, plan_hash: str) -> None:
        fits(case, plan_hash)
        RowVerdict.objects.create(
            workspace=world.acme, case=case, place="journal", row_id=sure_row.id,
            verdict=Verdict.SPARED, ground="must_stay", reason="A claim",
            decided_by=by.label,
        )  # fmt: skip

    monkeypatch.setattr(dry_run, "require_current", spare_row_first)
    with pytest.raises(errors.Conflict) as refusal:
        _start(world, case)
    assert refusal.value.problem_code == "stale_plan"
    assert Case.objects.get(pk=case.pk).state == CaseState.PLANNED


def test_a_doubtful_row_of_another_persons_case_can_be_spared(
    world: World, maria: Subject
) -> None:
    new = cases.NewCase(
        subject_id=erasing.otto(world).id,
        kind=CaseKind.ACCESS,
        reason=f"Moved to the Square of {SURNAME}",
    )
    other = cases.open_case(new, by=world.actor("compliance"))
    case = _planned(world, maria)
    doubts = dry_run.doubts(cases.latest_plan(case))["ids"]
    assert doubts == {"cases": [other.id]}
    erasing.plan_and_decide(world, case, Verdict.SPARED)
    running = _start(world, case)
    erasure.run(running.workspace_id, running.pk)
    case_after = Case.objects.get(pk=case.pk)
    assert case_after.state == CaseState.COMPLETE, erasing.failure_text(case_after)
    other.refresh_from_db()
    assert other.reason == f"Moved to the Square of {SURNAME}"


def test_what_is_written_about_the_request_itself_cannot_be_spared(
    world: World, maria: Subject
) -> None:
    case = _planned(world, maria)
    with pytest.raises(errors.Invalid) as refusal:
        erasing.plan_and_decide(world, case, Verdict.SPARED, ("cases", case.id))
    assert refusal.value.problem_code == "row_goes"
