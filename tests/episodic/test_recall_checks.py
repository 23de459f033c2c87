"""Recall checks: kept as they were asked, judged by what is missing, told once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from episodic.embedders.none import NoEmbedder
from episodic.index import engine
from episodic.index import sweep as index
from episodic.models import Embedding, RecallCheck
from episodic.recall import checks
from episodic.recall.request import Mode, Request
from memory.jobs import registry as jobs
from memory.models import JournalEntry
from memory.rules import errors
from memory.rules.fusion import Fusion
from tests import factories
from tests.world import World


def fill(world: World, count: int = 3) -> list[Any]:
    """Append and embed a few entries that share a word."""
    rows = factories.append_many(
        world.actor("ada"), [f"Refund number {n}" for n in range(count)]
    )
    index.sweep()
    return rows


def saved(world: World, ids: list[str], **fields: Any) -> RecallCheck:
    request = Request(query="refund", **fields)
    return checks.save(
        f"check {RecallCheck.objects.count()}",
        request,
        ids,
        by=world.actor("operator"),
    )


def journal(world: World) -> list[JournalEntry]:
    """Return the journal's entries about broken checks."""
    return list(
        JournalEntry.objects.filter(
            workspace=world.acme, entry_type=checks.FAILED
        ).order_by("seq")
    )


# ── The question ─────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "request_",
    [
        Request(query="refund"),
        Request(
            query="refund",
            scope="own",
            agent_id="a_1",
            k=7,
            mode=Mode.DENSE,
            fusion=Fusion.CONVEX,
            entry_types=("a.b", "c.d"),
            since=datetime(2026, 1, 1, tzinfo=UTC),
            until=datetime(2026, 2, 1, tzinfo=UTC),
            as_of=datetime(2026, 3, 1, tzinfo=UTC),
            min_score=0.0,
            walk_depth=0,
        ),
    ],
)
def test_a_question_is_kept_as_it_was_asked(request_: Request) -> None:
    stored = checks.to_json(request_)
    assert checks.to_request(stored) == replace(request_, mark=False)
    assert "explain" not in stored


# ── Saving ───────────────────────────────────────────────────────────────────
def test_expected_entries_must_be_there_to_see(world: World) -> None:
    foreign = world.indexed("refund", by="olga")
    with pytest.raises(errors.NotFound):
        saved(world, [foreign.id])
    with pytest.raises(errors.Invalid):
        saved(world, [])
    with pytest.raises(errors.Invalid):
        saved(world, [f"j_{n}" for n in range(51)])


def test_there_is_an_end_to_checks(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "MAX_CHECKS", 1)
    row = fill(world, 1)[0]
    saved(world, [row.id])
    with pytest.raises(errors.Conflict):
        saved(world, [row.id])


def test_two_requests_at_once_save_one_name(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = fill(world, 1)[0]
    checks.save("one", Request(query="refund"), [row.id], by=world.actor("operator"))
    # The second request looked before the first had written.
    monkeypatch.setattr(checks, "_refuse_another", lambda *_: None)
    with pytest.raises(errors.Conflict, match="has this name"):
        other = Request(query="receipt")
        checks.save("one", other, [row.id], by=world.actor("operator"))
    assert RecallCheck.objects.count() == 1


def test_a_long_question_of_any_script_becomes_a_name(world: World) -> None:
    rows = fill(world, 2)
    words = "रिफंड की स्थिति क्या है " * 9
    for row in rows:
        checks.save("", Request(query=words), [row.id], by=world.actor("operator"))
    names = sorted(RecallCheck.objects.values_list("name", flat=True), key=len)
    assert len(names[1]) == 120
    assert names[0].endswith(" (2)")


@pytest.mark.parametrize("person", ["viewer", "compliance", "ada", "looker"])
def test_only_operators_save_and_run(world: World, person: str) -> None:
    check = saved(world, [fill(world, 1)[0].id])
    with pytest.raises(errors.Forbidden):
        checks.run(check, by=world.actor(person))
    with pytest.raises(errors.Forbidden):
        checks.drop(check, by=world.actor(person))
    with pytest.raises(errors.Forbidden):
        checks.save("x", Request(query="q"), ["j"], by=world.actor(person))


def test_another_workspaces_check_is_not_found(world: World) -> None:
    check = saved(world, [fill(world, 1)[0].id])
    with pytest.raises(errors.NotFound):
        checks.get(world.actor("stranger"), check.id)
    with pytest.raises(errors.NotFound):
        checks.run(check, by=world.actor("stranger"))


# ── Running ──────────────────────────────────────────────────────────────────
def test_a_check_holds_while_all_are_there(world: World) -> None:
    rows = fill(world)
    run = checks.run(saved(world, [r.id for r in rows]), by=world.actor("operator"))
    assert (run.result, run.returned, run.missing) == ("holds", 3, [])
    assert journal(world) == []


def test_what_is_missing_is_told_with_its_finding(world: World) -> None:
    fill(world)
    far = world.indexed("Anchor chain")
    check = saved(world, [far.id], k=1, mode=Mode.SPARSE)
    run = checks.run(check, by=world.actor("operator"))
    assert run.result == "broken"
    assert run.missing == [{"entry_id": far.id, "finding": run.missing[0]["finding"]}]
    assert "No ranking put it on the list" in run.missing[0]["finding"]
    entry = journal(world)[0]
    assert entry.payload["missing"] == run.missing
    assert entry.severity == "warn"


def test_the_journal_is_told_once_per_change(world: World) -> None:
    far = world.indexed("Anchor chain")
    rows = fill(world)
    check = saved(world, [far.id], k=1, mode=Mode.SPARSE)
    for _ in range(3):
        checks.run_all(world.acme.id)
    assert len(journal(world)) == 1
    RecallCheck.objects.update(expected=[rows[0].id])
    checks.run_all(world.acme.id)
    last = check.runs.first()
    assert last is not None
    assert len(journal(world)) == 1 + (last.result == "broken")


def test_an_entry_that_is_gone_is_told_so(world: World) -> None:
    row = fill(world, 1)[0]
    check = saved(world, [row.id])
    RecallCheck.objects.update(expected=["j_gone"])
    check.refresh_from_db()
    run = checks.run(check, by=world.actor("operator"))
    assert run.missing[0]["finding"] == "It is no longer in the journal."


def test_without_its_dense_leg_nothing_is_judged_broken(world: World) -> None:
    far = world.indexed("Anchor chain")
    fill(world)
    check = saved(world, [far.id], k=1)
    engine.use(NoEmbedder())
    run = checks.run(check, by=world.actor("operator"))
    assert run.result == "refused"
    assert "dense ranking unavailable" in run.note
    assert journal(world) == []


def test_a_question_that_can_no_longer_be_asked_is_not_judged(world: World) -> None:
    check = saved(world, [fill(world, 1)[0].id])
    RecallCheck.objects.update(question={**check.question, "agent_id": "agent_gone"})
    [run] = checks.run_all(world.acme.id)
    assert run.result == "refused"
    assert run.note


def test_running_marks_nothing(world: World) -> None:
    check = saved(world, [fill(world, 1)[0].id])
    checks.run(check, by=world.actor("operator"))
    from episodic.index import reference_counts

    assert not reference_counts.reference_counts._counts


def test_old_runs_are_dropped(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "RUNS_KEPT", 2)
    check = saved(world, [fill(world, 1)[0].id])
    for _ in range(4):
        checks.run_all(world.acme.id)
    assert check.runs.count() == 2


# ── After a change of the model ──────────────────────────────────────────────
def test_a_new_model_runs_them_when_the_index_is_complete(world: World) -> None:
    check = saved(world, [fill(world, 1)[0].id])
    checks.run_all(world.acme.id)
    assert checks.run_all(world.acme.id, stale_only=True) == []
    RecallCheck.objects.update(model="another")
    now = engine.embedder().model
    Embedding.objects.update(model="another")
    assert checks.run_all(world.acme.id, stale_only=True) == []
    Embedding.objects.update(model=now)
    assert len(checks.run_all(world.acme.id, stale_only=True)) == 1
    check.refresh_from_db()
    assert check.model == now


def test_the_clock_knows_the_checks(world: World) -> None:
    far = world.indexed("Anchor chain")
    fill(world)
    saved(world, [far.id], k=1, mode=Mode.SPARSE)
    outcome = jobs.get("recall_checks").act(world.acme.id)
    assert outcome.counts == {"checks": 1, "broken": 1}
    assert outcome.fault == "broken: check 0"
    assert jobs.get("recall_checks_model").act(world.other.id).counts["checks"] == 0
    assert jobs.get("nudges_forgotten").act("").counts == {"nudges": 0}
