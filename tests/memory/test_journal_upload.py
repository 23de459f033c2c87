"""An uploaded file becomes entries in a job that can stop and go on."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone, translation

from memory import journal_import, journal_upload
from memory.jobs import work
from memory.journal import verify
from memory.models import Crew, ImportLine, JobRun, JournalEntry, RunState
from memory.rules import errors
from tests.gdpr import erasing
from tests.world import World

GOOD = {"entry_type": "peer.escalation", "summary": "The till is stuck"}


def file(*rows: Any) -> io.BytesIO:
    lines = [
        row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows
    ]
    return io.BytesIO(b"\n".join(lines))


def begin(world: World, *rows: Any, create: bool = False) -> JobRun:
    run = journal_upload.begin(world.actor("owner"), file(*rows), create=create)
    run.refresh_from_db()
    return run


def imported() -> list[JournalEntry]:
    return list(JournalEntry.objects.filter(summary=GOOD["summary"]).order_by("seq"))


def test_lines_are_appended_in_order_by_the_person_who_uploaded_them(
    world: World,
) -> None:
    rows = [{**GOOD, "payload": {"till": number}} for number in range(3)]
    run = begin(world, *rows)

    assert (run.state, run.done, run.total) == (RunState.DONE, 3, 3)
    assert run.counts == {"appended": 3, "refused": 0}
    assert [row.payload["till"] for row in imported()] == [0, 1, 2]
    assert {row.actor_id for row in imported()} == {world.actor("owner").id}
    assert verify.verify(world.acme.id, by=world.actor("owner")).ok
    assert not ImportLine.objects.exists()


def test_refused_lines_are_named_by_number_with_the_reason(world: World) -> None:
    other_crew = {**GOOD, "crew": "nowhere"}
    run = begin(world, GOOD, b"{", {"summary": "x"}, other_crew, b"", GOOD)

    assert (run.state, run.counts) == (RunState.PARTLY, {"appended": 2, "refused": 3})
    lines = work.of_id(world.actor("owner"), journal_upload.JOB, run.pk).lines
    assert [line.text for line in lines] == ["Line 2", "Line 3", "Line 4"]
    assert lines[1].why == "entry_type is required and is text"
    assert lines[2].why == "there is no crew 'nowhere'"


def test_crews_and_agents_are_made_when_that_was_asked_for(world: World) -> None:
    begin(world, {**GOOD, "crew": "night", "agent": "owl"}, create=True)

    assert Crew.objects.filter(workspace=world.acme, slug="night").exists()
    assert len(imported()) == 1


def test_a_stopped_run_goes_on_where_it_was(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_import, "BATCH", 2)
    real = journal_import.append

    def failing(*args: Any, **kwargs: Any) -> Any:
        if len(imported()) >= 2:
            raise errors.Unavailable(reason="the disk is away")
        return real(*args, **kwargs)

    monkeypatch.setattr(journal_import, "append", failing)
    rows = [{**GOOD, "payload": {"till": number}} for number in range(5)]
    run = begin(world, *rows)
    assert (run.state, len(imported())) == (RunState.FAILED, 2)
    assert ImportLine.objects.count() == 3

    monkeypatch.setattr(journal_import, "append", real)
    again = work.repeat(world.actor("owner"), journal_upload.JOB, run.pk)
    again.refresh_from_db()
    assert (again.state, again.done, again.total) == (RunState.DONE, 5, 5)
    assert [row.payload["till"] for row in imported()] == [0, 1, 2, 3, 4]


def test_while_one_runs_another_is_refused_and_keeps_nothing(world: World) -> None:
    JobRun.objects.create(name=journal_upload.JOB, slot="one", workspace=world.acme)
    with pytest.raises(errors.Conflict):
        begin(world, GOOD)
    assert not ImportLine.objects.exists()


def test_a_file_without_lines_or_with_too_many_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_upload, "MAX_LINES", 2)
    for rows, error in (
        ([b"", b"  "], journal_upload.NoLines),
        ([GOOD] * 3, journal_upload.TooManyLines),
    ):
        with pytest.raises(error):
            begin(world, *rows)
    assert not ImportLine.objects.exists() and not imported()


def test_a_suppressed_person_is_not_even_kept_for_a_moment(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    erasing.erased(world, erasing.maria(world))
    kept: list[str] = []
    real = ImportLine.objects.bulk_create

    def note(rows: list[ImportLine], **kwargs: Any) -> Any:
        kept.extend(row.line for row in rows)
        return real(rows, **kwargs)

    monkeypatch.setattr(
        type(ImportLine.objects), "bulk_create", lambda _m, r, **k: note(r, **k)
    )
    run = begin(world, {**GOOD, "summary": f"{erasing.NAME} called"}, GOOD)

    assert run.counts == {"appended": 1, "refused": 1}
    assert kept and erasing.NAME not in str(kept)
    assert erasing.NAME not in str(run.items)


def test_what_a_german_page_uploads_is_kept_in_english(world: World) -> None:
    with translation.override("de"):
        run = begin(world, b"{")
    assert run.error == "Some lines were refused"
    assert "not JSON" in run.items[0]["why"]


def test_lines_of_an_import_that_was_given_up_are_forgotten(world: World) -> None:
    for days, number in ((6, 1), (8, 2)):
        ImportLine.objects.create(
            workspace=world.acme,
            import_id="imp_1",
            number=number,
            created_at=timezone.now() - timedelta(days=days),
        )
    assert journal_upload.forget_old() == 1
    assert ImportLine.objects.get().number == 1


@pytest.mark.parametrize("person", ["viewer", "operator", "compliance", "ada"])
def test_only_an_admin_imports(world: World, person: str) -> None:
    with pytest.raises(errors.Forbidden):
        journal_upload.begin(world.actor(person), file(GOOD), create=False)
    assert not ImportLine.objects.exists()
