"""The page that takes a file of entries: by role, by size, and what it says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from memory import journal_upload
from memory.models import JobRun, JournalEntry
from memory.web import import_views
from tests.world import World

URL = "/journal/import/"
ROW = {"entry_type": "peer.escalation", "summary": "The till is stuck"}


def upload(world: World, content: bytes, person: str = "owner") -> Any:
    file = SimpleUploadedFile("entries.jsonl", content)
    return world.page(person).post(URL, {"file": file})


def test_a_file_is_taken_and_its_run_shown(world: World) -> None:
    answer = upload(world, json.dumps(ROW).encode())
    run = JobRun.objects.get(name=journal_upload.JOB)

    assert answer.headers["Location"] == f"/jobs/journal_import/runs/{run.pk}/"
    assert JournalEntry.objects.filter(summary=ROW["summary"]).count() == 1
    assert "1 appended" in world.page("owner").get(URL).content.decode()


def test_the_example_on_the_page_can_be_imported(world: World) -> None:
    upload(world, import_views.EXAMPLE.encode())
    assert JobRun.objects.get(name=journal_upload.JOB).counts["appended"] == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "The submitted file is empty."), (b"  \n", "The file has no lines.")],
)
def test_a_file_with_nothing_in_it_is_refused(
    world: World, content: bytes, words: str
) -> None:
    answer = upload(world, content)
    assert (answer.status_code, words in answer.content.decode()) == (422, True)
    assert not JobRun.objects.exists()


def test_a_file_that_is_too_large_is_refused_unread(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_views, "FILE_BYTES", 10)
    answer = upload(world, json.dumps(ROW).encode())
    assert answer.status_code == 422
    assert "A file has at most 10" in answer.content.decode()


def test_a_second_upload_while_one_runs_is_told_so(world: World) -> None:
    JobRun.objects.create(name=journal_upload.JOB, slot="one", workspace=world.acme)
    answer = upload(world, json.dumps(ROW).encode())
    assert answer.status_code == 422
    assert "is running already" in answer.content.decode()


@pytest.mark.parametrize(
    ("person", "status"),
    [("operator", 403), ("viewer", 403), ("compliance", 403), ("nobody", 302)],
)
def test_others_neither_see_nor_use_it(world: World, person: str, status: int) -> None:
    assert world.page(person).get(URL).status_code == status
    assert upload(world, json.dumps(ROW).encode(), person).status_code == status
    assert not JobRun.objects.exists()
