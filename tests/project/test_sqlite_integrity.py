"""A damaged page is found in the background; an older version writes nothing."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection
from django.db.migrations.recorder import MigrationRecorder

from crewship_memory import celery, sqlite_integrity
from crewship_memory.management.commands import up
from memory import outages
from memory.accounts import workspaces
from memory.installation import schema_version
from memory.jobs import registry as jobs
from memory.models import Workspace

PAGE = 4_096


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a database file of some hundred pages."""
    path = tmp_path / "a.sqlite3"
    with sqlite3.connect(path) as link:
        link.execute("CREATE TABLE a (id INTEGER PRIMARY KEY, text TEXT)")
        link.execute("CREATE INDEX b ON a (text)")
        rows = [(f"{number} " + "x" * 300,) for number in range(2_000)]
        link.executemany("INSERT INTO a (text) VALUES (?)", rows)
    link.close()
    return path


def overwrite(path: Path, page: int) -> None:
    """Overwrite a page with noise, as a failing disk would."""
    with path.open("r+b") as file:
        file.seek(page * PAGE)
        file.write(b"\xa5" * PAGE)


def test_a_whole_file_is_not_damaged(file: Path) -> None:
    assert sqlite_integrity.Inspector(file).look() is False
    assert not outages.damage.is_noted


@pytest.mark.parametrize("page", [0, 5, 100])
def test_an_overwritten_page_is_found_and_noted(file: Path, page: int) -> None:
    overwrite(file, page)
    assert sqlite_integrity.Inspector(file).look() is True
    assert outages.damage.is_noted


def test_a_request_that_meets_it_says_so(file: Path) -> None:
    overwrite(file, 0)
    with sqlite3.connect(file) as link, pytest.raises(sqlite3.DatabaseError) as caught:
        link.execute("SELECT count(*) FROM a")
    error = DatabaseError(str(caught.value))
    error.__cause__ = caught.value
    error_meaning = outages.meaning(error)
    assert (
        error_meaning is not None and error_meaning.problem_code == "database_damaged"
    )


def test_the_thread_ends_with_the_process(file: Path) -> None:
    inspector = sqlite_integrity.Inspector(file)
    inspector.start()
    inspector.stop()
    assert not inspector.is_alive()
    assert not outages.damage.is_noted


# ── A newer schema ───────────────────────────────────────────────────────────
@pytest.fixture
def newer(db: None) -> None:
    MigrationRecorder(connection).record_applied("episodic", "9999_from_later")


@pytest.mark.usefixtures("newer")
def test_up_leaves_a_newer_database_alone() -> None:
    with pytest.raises(CommandError, match=r"episodic\.9999_from_later"):
        up.migrate(lambda _message: None)


@pytest.mark.usefixtures("newer")
def test_a_worker_and_a_clock_end_before_their_first_task() -> None:
    with pytest.raises(SystemExit, match="Start the newer version"):
        celery.refuse_newer_schema()


@pytest.mark.usefixtures("newer")
def test_doctor_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandError):
        call_command("doctor")
    assert "episodic.9999_from_later" in capsys.readouterr().out


@pytest.mark.usefixtures("newer")
def test_a_command_writes_nothing() -> None:
    schema_version.guard.look_again_at(0.0)
    with pytest.raises(schema_version.Newer):
        workspaces.ensure_workspace("later-shop", "Later")
    assert not Workspace.objects.filter(slug="later-shop").exists()


@pytest.mark.usefixtures("newer")
def test_no_job_runs() -> None:
    schema_version.guard.look_again_at(0.0)
    with pytest.raises(schema_version.Newer):
        jobs.note("index_sweep", lambda: pytest.fail("it ran"))
    with pytest.raises(schema_version.Newer):
        jobs.tick()
    with pytest.raises(schema_version.Newer):
        jobs.run_requested(1)
