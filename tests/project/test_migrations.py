"""The tables are what the models say, and every step can be taken back."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from tests.project.source import APPS, ROOT

SETUP = """
import os, django
os.environ["DJANGO_SETTINGS_MODULE"] = "crewship_memory.settings"
django.setup()
from django.core.management import call_command
"""


@pytest.mark.django_db
def test_no_model_changed_without_a_migration() -> None:
    out = io.StringIO()
    call_command("makemigrations", check=True, dry_run=True, stdout=out, no_color=True)
    assert "No changes detected" in out.getvalue()


@pytest.mark.django_db
def test_every_app_has_one_last_migration() -> None:
    graph = MigrationLoader(connection).graph
    for app in APPS:
        assert len([node for node in graph.leaf_nodes() if node[0] == app]) <= 1, app


def test_a_migration_in_several_transactions_can_be_broken_off() -> None:
    """Those named here have tests of their own, in ``test_pg_upgrade``."""
    steps = MigrationLoader(None).disk_migrations
    apart = {key for key, step in steps.items() if key[0] in APPS and not step.atomic}
    assert apart == {
        ("memory", "0010_words_by_workspace"),
        ("memory", "0012_counted_entries"),
    }


@pytest.mark.slow
def test_every_step_can_be_taken_back_and_again(tmp_path: Path) -> None:
    steps = [[], *([app, "zero"] for app in ("gdpr", "episodic", "memory")), []]
    calls = "\n".join(
        f"call_command('migrate', *{step}, verbosity=0)" for step in steps
    )
    process = subprocess.run(
        [sys.executable, "-c", f"{SETUP}\n{calls}"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": f"sqlite:///{tmp_path / 'steps.sqlite3'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
