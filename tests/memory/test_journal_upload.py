"""An uploaded file becomes entries in a job that can stop and go on."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone, translation

from memory import journal_import, journal_upload
from memory.jobs import registry as jobs
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
    # What is stored quotes no line: an erasure would not find it there.
    assert lines[2].why == "there is no such crew"


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


def stopped(world: World, monkeypatch: pytest.MonkeyPatch) -> JobRun:
    """Return a run that failed before its first line."""

    def failing(*_args: Any, **_kwargs: Any) -> Any:
        raise errors.Unavailable(reason="the disk is away")

    with monkeypatch.context() as patch:
        patch.setattr(journal_import, "append", failing)
        run = begin(world, GOOD)
    assert run.state == RunState.FAILED
    return run


def test_an_import_whose_lines_are_gone_does_not_end_well(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stopped(world, monkeypatch)
    journal_upload.forget_old(timezone.now() + timedelta(days=8))

    again = work.repeat(world.actor("owner"), journal_upload.JOB, run.pk)
    again.refresh_from_db()
    assert again.state == RunState.FAILED
    assert again.error == "No line of this import is left to append."
    assert not imported()


def test_an_import_that_dealt_with_every_line_is_not_started_again(
    world: World,
) -> None:
    owner, run = world.actor("owner"), begin(world, GOOD, b"{")
    assert run.state == RunState.PARTLY
    assert work.of_id(owner, journal_upload.JOB, run.pk).repeat_url == ""
    with pytest.raises(errors.Conflict, match="has done its work"):
        work.repeat(owner, journal_upload.JOB, run.pk)
    assert JobRun.objects.filter(name=journal_upload.JOB).count() == 1


def test_only_who_may_import_starts_an_import_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stopped(world, monkeypatch)
    operator, owner = world.actor("operator"), world.actor("owner")

    assert work.of_id(operator, journal_upload.JOB, run.pk).repeat_url == ""
    with pytest.raises(errors.Forbidden):
        work.repeat(operator, journal_upload.JOB, run.pk)
    assert JobRun.objects.filter(name=journal_upload.JOB).count() == 1
    assert work.of_id(owner, journal_upload.JOB, run.pk).repeat_url


class Unread(io.BytesIO):
    """A file that nobody may read."""

    def readline(self, size: int | None = -1, /) -> bytes:
        raise AssertionError(size)


def test_while_one_runs_another_is_refused_unread(world: World) -> None:
    JobRun.objects.create(name=journal_upload.JOB, slot="one", workspace=world.acme)
    with pytest.raises(errors.Conflict):
        journal_upload.begin(world.actor("owner"), Unread(), create=False)
    assert not ImportLine.objects.exists()


@pytest.mark.parametrize("error", [errors.Conflict(), errors.Outage("away"), OSError()])
def test_an_import_that_cannot_begin_keeps_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def failing(*_args: Any, **_kwargs: Any) -> Any:
        assert ImportLine.objects.exists()
        raise error

    monkeypatch.setattr(jobs, "run_now", failing)
    with pytest.raises(type(error)):
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
    slug = erasing.NAME.lower().replace(" ", "-")
    rows = [
        {**GOOD, "summary": f"{erasing.NAME} called"},
        {**GOOD, erasing.NAME: "called"},
        f'{{"{erasing.MAIL}": 1e999}}'.encode(),
        f'{{"{erasing.NAME}": "\\ud800"}}'.encode(),
        {**GOOD, "severity": erasing.NAME},
        {**GOOD, "entry_type": erasing.MAIL},
        {**GOOD, "crew": erasing.NAME},
        {**GOOD, "crew": slug},
        {**GOOD, "crew": "support", "agent": slug},
        {**GOOD, "mission_id": erasing.NAME},
        {**GOOD, "trace_id": erasing.MAIL},
        {**GOOD, "span_id": erasing.NAME},
        {**GOOD, "subjects": [erasing.MAIL, 7]},
    ]
    run = begin(world, *rows, GOOD, create=True)

    assert run.counts == {"appended": 1, "refused": len(rows)}
    for word in (erasing.NAME, erasing.MAIL, slug):
        assert kept and word not in f"{kept} {run.items} {run.params}"
    assert all(item["why"].startswith("subject_suppressed: ") for item in run.items), (
        run.items
    )


def test_what_is_stored_of_a_refused_line_quotes_nothing(world: World) -> None:
    """Somebody may be erased later, and nobody looks for names in a run."""
    rows = [
        {**GOOD, "Wanda Wirth": 1},
        {**GOOD, "crew": "wanda-wirth"},
        {**GOOD, "crew": "support", "agent": "wanda-wirth"},
        {**GOOD, "severity": "Wanda Wirth"},
        {**GOOD, "ts": "Wanda Wirth"},
        b'{"Wanda Wirth": ',
    ]
    run = begin(world, *rows)
    assert run.counts == {"appended": 0, "refused": len(rows)}
    assert "wanda" not in str(run.items).lower()
    assert [item["why"] for item in run.items][:3] == [
        "unknown field",
        "there is no such crew",
        "there is no such agent in that crew",
    ]


def test_what_a_german_page_uploads_is_kept_in_english(world: World) -> None:
    rows = [b"{", {**GOOD, "crew": "nowhere"}, {**GOOD, "x": 1}, {**GOOD, "ts": ""}]
    english = begin(world, *rows)
    with translation.override("de"):
        run = begin(world, *rows)
    assert run.error == "Some lines were refused"
    assert run.items == english.items
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
