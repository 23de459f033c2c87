"""A row that may be somebody else's waits for a person, and any row can be spared."""

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
from tests.world import World

SURNAME = "Quintanilla"


pytestmark = pytest.mark.slow


@pytest.fixture
def world(shared_world: World) -> World:
    """A world whose runs really commit."""
    return shared_world


@pytest.fixture
def who(world: World) -> Subject:
    return kit.subject(world, {"name": SURNAME, "email": erasing.MAIL})


def _rows(world: World) -> tuple[JournalEntry, JournalEntry, JournalEntry]:
    hers = world.entry(f"{erasing.MAIL} and nobody else")
    maybe = world.entry(f"Doctor {SURNAME} came by", payload={"n": 1})
    other = world.entry(f"Square of {SURNAME} is closed")
    return hers, maybe, other


def _planned(world: World, who: Subject, kind: CaseKind = CaseKind.ERASURE) -> Case:
    case = erasing.opened(world, who, kind)
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
    world: World, who: Subject
) -> None:
    hers, maybe, other = _rows(world)
    case = _planned(world, who)
    told = dry_run.doubts(cases.latest_plan(case))
    assert {row["id"] for row in told["rows"]} == {maybe.id, other.id}
    assert told["undecided"] == 2
    with pytest.raises(errors.Conflict) as refused:
        _start(world, case)
    assert refused.value.problem_code == "doubtful_rows"
    erasing.judged(world, case, Verdict.THEIRS, ("journal", maybe.id))
    with pytest.raises(errors.Conflict):
        _start(world, case)
    erasing.judged(world, case, Verdict.SPARED, ("journal", other.id))
    running = _start(world, case)
    erasure.run(running.workspace_id, running.pk)
    done = Case.objects.get(pk=case.pk)
    assert done.state == CaseState.COMPLETE, erasing.told(done)
    for row in (hers, maybe, other):
        row.refresh_from_db()
    assert (hers.erased_at is not None, maybe.erased_at is not None) == (True, True)
    assert other.summary == f"Square of {SURNAME} is closed"


def test_the_certificate_counts_what_stays_and_names_nobody(
    world: World, who: Subject
) -> None:
    _, maybe, other = _rows(world)
    case = _planned(world, who)
    erasing.judged(world, case, Verdict.SPARED)
    running = _start(world, case)
    erasure.run(running.workspace_id, running.pk)
    case = Case.objects.get(pk=case.pk)
    document = certificates.of_case(world.actor("compliance"), case).document
    content = json.loads(document)["content"]
    assert content["rows_spared"] == {"total": 2, "grounds": {"somebody_else": 2}}
    assert "2 rows that a person decided to keep" in content["statement"]
    assert erasing.NAME not in document
    assert SURNAME.lower() not in document.lower()
    assert set(RowVerdict.objects.values_list("reason", flat=True)) == {"[erased]"}
    action = GdprAction.objects.get(action=ActionKind.DECIDE)
    assert action.scope["rows"] == 2
    assert (action.case_ref, action.subject_ref) == (case.id, who.id)
    assert maybe.id != other.id


def test_any_row_can_be_spared_and_the_plan_changes_with_it(
    world: World, who: Subject
) -> None:
    hers = world.entry(f"{erasing.MAIL} signed the lease")
    case = _planned(world, who)
    first = cases.latest_plan(case)
    plan = erasing.judged(
        world, case, Verdict.SPARED, ("journal", hers.id), ground="must_stay"
    )
    assert first is not None
    assert first.plan_hash != plan.plan_hash
    assert ["journal", hers.id, "keep"] in [
        [place, *row] for place, rows in plan.rows.items() for row in rows
    ]
    running = _start(world, case)
    erasure.run(running.workspace_id, running.pk)
    hers.refresh_from_db()
    assert hers.erased_at is None
    case = Case.objects.get(pk=case.pk)
    assert case.state == CaseState.COMPLETE, erasing.told(case)


def test_a_changed_decision_makes_an_approval_stale(world: World, who: Subject) -> None:
    _, maybe, _ = _rows(world)
    case = _planned(world, who)
    kept = erasing.judged(world, case, Verdict.SPARED)
    cases.approve(Case.objects.get(pk=case.pk), kept.plan_hash, by=world.actor("owner"))
    changed = erasing.judged(world, case, Verdict.THEIRS, ("journal", maybe.id))
    fresh = Case.objects.get(pk=case.pk)
    assert (fresh.state, fresh.approved_plan) == (CaseState.PLANNED, "")
    assert changed.plan_hash != kept.plan_hash
    with pytest.raises(errors.Conflict):
        cases.execute(fresh, kept.plan_hash, "x", by=world.actor("compliance"))


def test_a_doubtful_row_that_comes_late_is_left_and_told(
    world: World, who: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gdpr.erasure import failpoints

    case = _planned(world, who)
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


def test_one_call_waits_where_a_row_is_in_doubt(world: World, who: Subject) -> None:
    hers, maybe, _ = _rows(world)
    begun = one_call.erase(erasing.MAIL, "Asked", by=world.actor("compliance"))
    assert (begun.case.state, begun.rows) == (CaseState.PLANNED, {})
    assert "2 rows may be about somebody else" in begun.warnings[0]
    for row in (hers, maybe):
        row.refresh_from_db()
        assert row.erased_at is None
    case = Case.objects.get(pk=begun.case.id)
    erasing.judged(world, case, Verdict.SPARED)
    running = _start(world, case)
    assert running.state == CaseState.RUNNING
    assert begun.action_id == GdprAction.objects.get(action="delete").id
    assert who.pk == case.subject_ref


def test_an_export_leaves_out_what_may_be_somebody_elses(
    world: World, who: Subject
) -> None:
    hers, maybe, _ = _rows(world)
    told = one_call.everything(erasing.MAIL, by=world.actor("compliance"))
    assert [row["id"] for row in told["places"]["journal"]] == [hers.id]
    assert told["left_out"] == {"journal": 2}
    assert maybe.id not in json.dumps(told["places"]["journal"])
    assert who.pk == told["data_subject_id"]


def test_the_api_decides_and_answers_with_the_next_plan(
    world: World, who: Subject
) -> None:
    _, maybe, other = _rows(world)
    case = erasing.opened(world, who)
    api = world.api("compliance")
    plan = api.post(f"/gdpr/cases/{case.id}/plan", {}).data
    assert plan["doubtful_undecided"] == 2
    path = f"/gdpr/cases/{case.id}/decisions"
    rows = [{"place": "journal", "id": other.id}]
    asked: dict[str, Any] = {
        "plan_hash": plan["plan_hash"],
        "verdict": "spared",
        "rows": rows,
    }
    assert api.post(path, asked).code == "ground_required"
    asked |= {"ground": "no_person"}
    assert api.post(path, asked).code == "reason_required"
    asked |= {"reason": "It is a square"}
    strange = {**asked, "rows": [{"place": "journal", "id": "j_0000000000000000"}]}
    assert api.post(path, strange).code == "unknown_row"
    following = api.post(path, asked).data
    assert following["doubtful_undecided"] == 1
    assert api.post(path, asked).code == "stale_plan"
    rest = {
        "plan_hash": following["plan_hash"],
        "verdict": "theirs",
        "all_doubtful": True,
    }
    last = api.post(path, rest).data
    assert (last["doubtful_undecided"], last["doubtful_total"]) == (0, 2)
    verdicts = {row["id"]: row["verdict"] for row in last["doubtful"]}
    assert verdicts == {maybe.id: "theirs", other.id: "spared"}


def test_the_page_decides_without_a_script(world: World, who: Subject) -> None:
    _, maybe, other = _rows(world)
    case = _planned(world, who)
    page = world.page("compliance")
    address = reverse("privacy:case", args=[case.id])
    assert "2 rows may be about somebody else" in page.get(address).content.decode()
    shown = page.post(reverse("privacy:samples", args=[case.id])).content.decode()
    assert f"Square of {SURNAME} is closed" in shown
    plan = cases.latest_plan(case)
    assert plan is not None
    asked = {
        "of_plan": plan.plan_hash,
        "row": [f"journal {other.id}"],
        "decide": "spare",
    }
    path = reverse("privacy:decide", args=[case.id])
    refused = page.post(path, {**asked, "ground": "somebody_else"})
    assert refused.status_code == 422
    told = {**asked, "ground": "somebody_else", "reason": "Another family"}
    assert page.post(path, told).status_code == 302
    plan = cases.latest_plan(case)
    assert plan is not None
    everything = {"of_plan": plan.plan_hash, "decide": "theirs-all"}
    assert page.post(path, everything).status_code == 302
    verdicts = dict(RowVerdict.objects.values_list("row_id", "verdict"))
    assert verdicts == {other.id: "spared", maybe.id: "theirs"}


def test_a_row_once_matched_by_a_name_that_is_gone_is_in_doubt(world: World) -> None:
    from gdpr.models import Via

    who = kit.subject(world, {"user_id": "42"})
    row = world.entry("order 42 was shipped")
    kit.link(who, "journal", row.id, Via.MATCHED)
    found = kit.found("journal", who)[row.id]
    assert found.doubtful


def test_a_spared_line_of_a_file_stays_and_a_sure_one_goes(
    world: World, who: Subject
) -> None:
    file = world.file(f"- {erasing.MAIL} likes tea\n- {SURNAME} is a street\n- Boats")
    case = _planned(world, who)
    plan = erasing.judged(world, case, Verdict.SPARED)
    assert {row[0] for row in plan.rows["files"]} == {file.id, f"{file.id}?"}
    running = _start(world, case)
    erasure.run(running.workspace_id, running.pk)
    case = Case.objects.get(pk=case.pk)
    assert case.state == CaseState.COMPLETE, erasing.told(case)
    from memory.files import erasure as texts

    left = list(texts.texts(file))[-1][1]
    assert left.splitlines() == [f"- {SURNAME} is a street", "- Boats"]


def test_a_row_spared_behind_the_last_dry_run_stops_the_run(
    world: World, who: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    hers = world.entry(f"{erasing.MAIL} signed the lease")
    case = _planned(world, who)
    fits, by = dry_run.must_fit, world.actor("compliance")

    def spared_meanwhile(case: Case, plan_hash: str) -> None:
        fits(case, plan_hash)
        RowVerdict.objects.create(
            workspace=world.acme, case=case, place="journal", row_id=hers.id,
            verdict=Verdict.SPARED, ground="must_stay", reason="A claim",
            decided_by=by.label,
        )  # fmt: skip

    monkeypatch.setattr(dry_run, "must_fit", spared_meanwhile)
    with pytest.raises(errors.Conflict) as refused:
        _start(world, case)
    assert refused.value.problem_code == "stale_plan"
    assert Case.objects.get(pk=case.pk).state == CaseState.PLANNED


def test_a_doubtful_row_of_another_persons_case_can_be_spared(
    world: World, who: Subject
) -> None:
    new = cases.NewCase(
        subject_id=erasing.otto(world).id,
        kind=CaseKind.ACCESS,
        reason=f"Moved to the Square of {SURNAME}",
    )
    other = cases.open_case(new, by=world.actor("compliance"))
    case = _planned(world, who)
    waiting = dry_run.doubts(cases.latest_plan(case))["ids"]
    assert waiting == {"cases": [other.id]}
    erasing.judged(world, case, Verdict.SPARED)
    running = _start(world, case)
    erasure.run(running.workspace_id, running.pk)
    done = Case.objects.get(pk=case.pk)
    assert done.state == CaseState.COMPLETE, erasing.told(done)
    other.refresh_from_db()
    assert other.reason == f"Moved to the Square of {SURNAME}"


def test_what_is_written_about_the_request_itself_cannot_be_spared(
    world: World, who: Subject
) -> None:
    case = _planned(world, who)
    with pytest.raises(errors.Invalid) as refused:
        erasing.judged(world, case, Verdict.SPARED, ("cases", case.id))
    assert refused.value.problem_code == "row_goes"
