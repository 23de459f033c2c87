"""The dry run: what it counts, what its hash covers, and that it changes nothing."""

from __future__ import annotations

import pytest

from gdpr.cases import actions, dry_run
from gdpr.models import Case, CaseKind, CaseState
from memory.models import JournalEntry
from memory.rules import errors
from tests.gdpr import erasing
from tests.gdpr.erasing import MAIL
from tests.world import World


def _shares(result: dry_run.DryRun) -> dict[str, dict[str, int]]:
    holders = result.body("phrase")["holders"]
    return {
        holder["name"]: {k: holder[k] for k in ("delete", "redact")}
        for holder in holders
    }


def test_a_plan_tells_deleted_from_masked(world: World) -> None:
    erasing.lived_in(world)
    subject = erasing.maria(world)
    erasing.otto(world)
    result = dry_run.look(erasing.opened(world, subject))
    shares = _shares(result)
    assert shares["journal"] == {"delete": 1, "redact": 1}
    assert shares["files"] == {"delete": 0, "redact": 1}


def test_a_plan_says_what_whom_and_why(world: World) -> None:
    erasing.lived_in(world)
    case = erasing.opened(world, erasing.maria(world))
    plan = dry_run.make(case, by=world.actor("compliance"))
    body = plan.body
    assert body["plan_hash"] == plan.plan_hash
    assert body["phrase"] == f"erase {case.subject_ref} {plan.plan_hash[:8]}"
    journal = next(holder for holder in body["holders"] if holder["name"] == "journal")
    assert journal["why"]
    assert any(MAIL in sample["text"] for sample in journal["samples"])
    own = [holder for holder in body["holders"] if not holder["derived"]]
    assert body["total"]["delete"] == sum(holder["delete"] for holder in own)


def test_a_case_that_takes_no_plan_is_refused_before_the_dry_run(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    by = world.actor("compliance")
    case = erasing.opened(world, erasing.maria(world))
    case = actions.refuse(case, "Not hers", by=by)
    monkeypatch.setattr(dry_run, "look", pytest.fail)
    with pytest.raises(errors.Conflict) as error:
        dry_run.make(case, by=by)
    assert error.value.problem_code == "wrong_state"


def test_planning_changes_nothing_but_the_case(world: World) -> None:
    rows = erasing.lived_in(world)
    case = erasing.opened(world, erasing.maria(world))
    before = {row.pk: row.summary for row in JournalEntry.objects.all()}
    dry_run.make(case, by=world.actor("compliance"))
    after = {row.pk: row.summary for row in JournalEntry.objects.all()}
    assert {pk: after[pk] for pk in before} == before
    assert rows["mine"].pk in after
    assert Case.objects.get(pk=case.pk).state == CaseState.PLANNED


def test_the_same_world_has_the_same_hash(world: World) -> None:
    erasing.lived_in(world)
    case = erasing.opened(world, erasing.maria(world))
    by = world.actor("compliance")
    first = dry_run.make(case, by=by).plan_hash
    case.refresh_from_db()
    assert dry_run.make(case, by=by).plan_hash == first
    assert dry_run.look(case).plan_hash == first


@pytest.mark.parametrize("change", ["row", "fate", "alias"])
def test_another_world_has_another_hash(world: World, change: str) -> None:
    erasing.lived_in(world)
    subject = erasing.maria(world)
    case = erasing.opened(world, subject)
    before = dry_run.look(case).plan_hash
    if change == "row":
        world.entry(f"{MAIL} once more")
    elif change == "fate":
        erasing.otto(world)
    else:
        erasing.subject(world)
        subject.aliases.create(
            workspace=world.acme,
            kind="handle",
            value="@mlq",
            folded="mlq",
            added_by="test",
        )
    assert dry_run.look(case).plan_hash != before


def test_somebody_elses_rows_are_not_in_it(world: World) -> None:
    erasing.lived_in(world)
    world.entry(f"{MAIL} is known elsewhere", by="olga")
    result = dry_run.look(erasing.opened(world, erasing.maria(world)))
    ids = {row_id for rows in result.rows.values() for row_id, _ in rows}
    foreign_entries = JournalEntry.objects.filter(workspace=world.other)
    assert not ids & set(foreign_entries.values_list("pk", flat=True))


def test_access_keeps_everything(world: World) -> None:
    erasing.lived_in(world)
    case = erasing.opened(world, erasing.maria(world), CaseKind.ACCESS)
    total = dry_run.look(case).body("phrase")["total"]
    assert (total["delete"], total["redact"]) == (0, 0)
    assert total["keep"] > 1


def test_nobody_is_left_to_plan_for(world: World) -> None:
    subject = erasing.maria(world)
    case = erasing.opened(world, subject)
    subject.erased_at = case.opened_at
    subject.save()
    case.refresh_from_db()
    with pytest.raises(errors.Conflict) as error:
        dry_run.make(case, by=world.actor("compliance"))
    assert error.value.problem_code == "subject_gone"


@pytest.mark.parametrize("role", ["ada", "viewer", "operator"])
def test_only_compliance_plans(world: World, role: str) -> None:
    case = erasing.opened(world, erasing.maria(world))
    with pytest.raises(errors.Forbidden):
        dry_run.make(case, by=world.actor(role))


def test_changes_are_counted_by_place() -> None:
    before = {"a": [["1", "delete"], ["2", "delete"]], "b": [["1", "keep"]]}
    after = {"a": [["2", "redact"], ["3", "delete"]], "b": [["1", "keep"]]}
    assert dry_run.changes(before, after) == {"a": {"came": 1, "went": 1, "changed": 1}}
