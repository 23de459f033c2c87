"""The life of an entry: only what is stored, in the order of time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from episodic.index import importance
from episodic.models import Embedding, LoggedHit, State
from episodic.recall import life
from episodic.recall.life import Life
from memory.journal import append as journal
from memory.journal import visibility
from memory.models import JournalEntry
from memory.rules import errors
from memory.rules.entries import Priority
from tests import factories
from tests.episodic.test_questions import logged
from tests.world import World


def of(world: World, row: JournalEntry, person: str = "viewer") -> Life:
    return life.of(world.actor(person), row.id)


def kinds(entry_life: Life) -> list[str]:
    return [event.kind for event in entry_life.events]


def test_what_happened_in_the_order_of_time(world: World) -> None:
    row = world.indexed(ts=factories.ago(2))
    journal.prioritise(row, Priority.HIGH, "often", by=world.actor("operator"))
    later = timezone.now() + timedelta(minutes=5)
    Embedding.objects.filter(pk=row.pk).update(
        reference_count=3, last_referenced_at=later, embedded_at=later
    )
    entry_life = of(world, row)
    assert kinds(entry_life)[:4] == ["written", "appended", "embedded", "priority"]
    assert sorted(kinds(entry_life)[4:]) == ["embedded_again", "recalled"]
    step = entry_life.events[3].step
    assert step is not None
    assert (step.previous, step.priority) == ("normal", "high")
    assert entry_life.reason == ""


def test_a_fresh_entry_says_no_more_than_is_stored(world: World) -> None:
    entry_life = of(world, world.entry())
    assert kinds(entry_life) == ["written"]
    assert entry_life.reason == "it waits for the index"
    assert not entry_life.curve
    assert not entry_life.outlook
    assert not entry_life.logged


def test_why_an_entry_has_no_embedding(world: World) -> None:
    row = world.entry(entry_type="exec.output_chunk")
    assert of(world, row).reason == "exec.output_chunk is never embedded, by any flag"
    row = world.entry()
    Embedding.objects.create(
        entry=row, workspace=world.acme, state=State.FAILED, last_error="timed out"
    )
    assert of(world, row).reason == "the embedder failed: timed out"


def test_ends_are_told_from_their_dates(world: World) -> None:
    row = world.indexed()
    visibility.retire(world.acme.id, [row.id])
    soon = timezone.now() + timedelta(days=3)
    JournalEntry.objects.filter(pk=row.pk).update(expires_at=soon)
    assert kinds(of(world, row))[-2:] == ["retired", "expires"]
    visibility.restrict(world.acme.id, [row.id])
    assert "restricted" in kinds(of(world, row, "compliance"))
    with pytest.raises(errors.NotFound):
        of(world, row)


def test_a_replaced_version_names_the_one_that_holds(world: World) -> None:
    record = world.record()
    first = JournalEntry.objects.get(
        record_link__record=record, retired_at__isnull=False
    )
    event = of(world, first).events[-1]
    assert (event.kind, event.successor) == ("replaced", record.current_entry_id)


def test_an_erased_entry_has_dates_and_no_curve(world: World) -> None:
    row = world.indexed()
    JournalEntry.objects.filter(pk=row.pk).update(
        erased_at=timezone.now(), summary="", payload_text="{}"
    )
    entry_life = of(world, row)
    assert kinds(entry_life)[-1] == "erased"
    assert not entry_life.curve
    assert not entry_life.outlook


def test_the_curve_is_the_formula_s(world: World) -> None:
    row = world.indexed()
    Embedding.objects.filter(pk=row.pk).update(
        indexed_at=factories.ago(60), reference_count=3
    )
    entry_life = of(world, row)

    def value(days: float) -> float:
        parts = importance.explain(
            row.entry_type, row.severity, row.priority, days=days, references=3
        )
        return parts.value

    assert entry_life.curve[0].value == value(0)
    assert entry_life.curve[20].value == value(60)
    assert entry_life.curve[-1].value == value(180)
    assert [days for days, _ in entry_life.outlook] == [30, 90, 180]
    assert entry_life.outlook[0][1].value == pytest.approx(value(90), abs=1e-4)


def test_the_log_tells_when_it_was_returned(world: World) -> None:
    row = world.indexed()
    question = logged(world)
    LoggedHit.objects.filter(question=question).update(entry_id=row.id)
    logged(world)
    assert of(world, row).logged == [question.asked_at]


def test_a_log_with_more_than_is_shown_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = world.indexed()
    for _ in range(3):
        LoggedHit.objects.filter(question=logged(world)).update(entry_id=row.id)
    for most, is_capped in ((3, False), (2, True)):
        monkeypatch.setattr(life, "LOGGED_MOST", most)
        entry_life = of(world, row)
        assert (len(entry_life.logged), entry_life.is_log_capped) == (most, is_capped)
        page = world.page("viewer").get(f"/recall/entries/{row.id}/").content.decode()
        assert ("has more than 2 questions" in page) is is_capped


def test_another_workspace_s_entry_is_not_there(world: World) -> None:
    row = world.entry()
    with pytest.raises(errors.NotFound):
        of(world, row, "stranger")


def test_what_is_out_of_use_does_not_wait_for_the_index(world: World) -> None:
    row = world.entry()
    visibility.retire(world.acme.id, [row.id])
    assert of(world, row).reason == ""
