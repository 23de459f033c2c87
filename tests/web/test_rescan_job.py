"""Scanning many stored files again is a job, with what it held and could not read."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.files import versions
from memory.jobs import work
from memory.models import HeldFile, JobRun, MemoryFile, RunState
from memory.review import rescan, rescan_job
from memory.rules import errors
from tests.memory.files import kit
from tests.world import World


@pytest.fixture
def many(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Store four files, where more than two are a job's."""
    monkeypatch.setattr(rescan, "BATCH", 2)
    monkeypatch.setattr(rescan.rescan, "__kwdefaults__", {"after": "", "limit": 2})
    for number in range(1, 5):
        kit.write(world, f"Note {number}.", f"daily/2026-01-0{number}.md")
    return world


def test_many_files_are_scanned_by_a_job(many: World) -> None:
    answer = many.page("operator").post("/quarantine/rescan/")
    run = JobRun.objects.get(name="rescan")
    assert answer.headers["Location"] == f"/jobs/rescan/runs/{run.pk}/"
    assert (run.state, run.done, run.total) == (RunState.DONE, 4, 4)
    assert run.counts == {"scanned": 4, "held": 0, "unreadable": 0}
    headers = {"HX-Request": "true", "HX-Target": "rescan"}
    part = many.page("operator").post("/quarantine/rescan/", headers=headers)
    assert 'class="panel work"' in part.content.decode()


def test_what_it_holds_is_named_by_the_person_who_asked_and_linked(
    many: World,
) -> None:
    many.set(scanner_policy={"source:tool": "allow"})
    kit.write(many, kit.POISON)
    many.set(scanner_policy=None)
    by = many.actor("operator")
    run = rescan_job.begin(by)
    case = HeldFile.objects.get()
    with CaptureQueriesContext(connection) as queries:
        (line,) = work.of_id(by, "rescan", run.pk).lines
    assert not any('"body"' in query["sql"] for query in queries)
    assert (line.text, line.url) == (case.label, f"/quarantine/{case.id}/")
    assert line.why == "held for review"


def test_a_file_that_cannot_be_read_is_named(
    many: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = MemoryFile.objects.order_by("path")[1]
    real = versions.latest

    def latest(file: MemoryFile) -> Any:
        if file.pk == bad.pk:
            raise errors.Conflict("Its bytes are gone.")
        return real(file)

    monkeypatch.setattr(versions, "latest", latest)
    by = many.actor("operator")
    run = rescan_job.begin(by)
    run.refresh_from_db()
    assert run.state == RunState.PARTLY
    (line,) = work.of_id(by, "rescan", run.pk).lines
    assert (line.text, line.why) == (bad.label, "could not be read")
    assert bad.label not in str(run.items)


@pytest.mark.parametrize(
    ("person", "status"), [("viewer", 403), ("compliance", 403), ("nobody", 302)]
)
def test_a_rescan_is_for_operators(many: World, person: str, status: int) -> None:
    assert many.page(person).post("/quarantine/rescan/").status_code == status
    assert not JobRun.objects.exists()


def test_one_runs_at_a_time(many: World) -> None:
    JobRun.objects.create(name="rescan", slot="one", workspace=many.acme)
    answer = many.page("operator").post("/quarantine/rescan/")
    assert answer.status_code == 409
    assert "Scan stored files again is running already." in answer.content.decode()
    headers = {"HX-Request": "true", "HX-Target": "rescan"}
    answer = many.page("operator").post("/quarantine/rescan/", headers=headers)
    part = answer.content.decode()
    assert (answer.status_code, "<html" in part) == (200, False)
    assert 'class="panel work"' in part
