"""A clean environment, a database, and the small world the tests walk in.

The environment is made before Django reads it: its own data folder for every process,
and an embedder that needs no model, so that tests are fast and know no network.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django
import pytest

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker

    from tests.world import World

DATA_DIR = Path(tempfile.mkdtemp(prefix="crewship-tests-"))
# What a test leaves of the data folder; memory files and blobs go.
KEPT = {"keys", "static"}


def _clean_environment() -> None:
    """Leave nothing of the caller's environment but the database it may have chosen."""
    for name in list(os.environ):
        if name.startswith(("CREWSHIP_", "OLLAMA_")) or name == "REDIS_URL":
            del os.environ[name]
    os.environ["CREWSHIP_DATA_DIR"] = str(DATA_DIR)
    os.environ["CREWSHIP_EMBEDDER"] = "hashing"
    os.environ["DJANGO_SETTINGS_MODULE"] = "crewship_memory.settings"


def _set_up_django() -> None:
    """Load the settings; pages link to static files as they are, without a manifest."""
    from django.conf import settings

    plain = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.STORAGES["staticfiles"] = {"BACKEND": plain}
    settings.STATIC_ROOT.mkdir(exist_ok=True)
    django.setup()
    _know_the_installation()


def _know_the_installation() -> None:
    """Look at the keys once, and mark every data folder that a test chooses."""
    from django.core.signals import setting_changed

    from memory import installation

    # A test counts queries, and no test changes keys behind another's back.
    installation.CHECK_SECONDS = 3_600.0

    def mark(*, setting: str, value: Any, **_: Any) -> None:
        if setting == "DATA_DIR" and value is not None and Path(value).is_dir():
            _mark(Path(value))

    setting_changed.connect(mark, weak=False)


_clean_environment()
_set_up_django()
atexit.register(shutil.rmtree, DATA_DIR, ignore_errors=True)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Let every worker come here first and make its own environment."""
    os.environ.pop("DJANGO_SETTINGS_MODULE", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run on the database at hand what needs a certain one, and skip it elsewhere."""
    postgres = os.environ.get("DATABASE_URL", "").startswith("postgres")
    for item in items:
        if item.get_closest_marker("postgres") and not postgres:
            item.add_marker(pytest.mark.skip(reason="needs PostgreSQL"))
        if item.get_closest_marker("sqlite") and postgres:
            item.add_marker(pytest.mark.skip(reason="needs SQLite"))


# ── The database ─────────────────────────────────────────────────────────────
@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None,
) -> None:
    """Keep the test database in a file, as in production: other processes read it."""
    from django.db import connections

    for config in connections.settings.values():
        if config["ENGINE"].endswith("sqlite3"):
            config["TEST"]["NAME"] = str(DATA_DIR / "tests.sqlite3")


@pytest.fixture(scope="session")
def django_db_setup(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[None]:
    """Build the world once, committed; every test starts from it."""
    from tests import world

    with django_db_blocker.unblock():
        world.stand()
    yield
    _forget()


# ── What a process remembers between requests ────────────────────────────────
def _forget() -> None:
    """Empty everything that outlives a request."""
    from django.core.cache import cache

    from crewship_memory.celery import app
    from episodic import engine, marks, tasks
    from memory import lexical

    with engine._lock:
        for name in engine._Parts.__slots__:
            setattr(engine._parts, name, None)
    lexical.frequencies.clear()
    marks.marks._counts.clear()
    # A thread that seems to run keeps the buffer from starting one; tests flush.
    marks.marks._thread = threading.main_thread()
    tasks.nudge._last = 0.0
    app.conf.crewship_delivers = False
    cache.clear()
    for path in DATA_DIR.iterdir():
        if path.is_dir() and path.name not in KEPT:
            shutil.rmtree(path, ignore_errors=True)
    _mark(DATA_DIR)


def _mark(folder: Path) -> None:
    """Make a folder this installation's, once the database has said which that is."""
    from memory import key_files
    from memory.installation import folders

    if mark := key_files.mark_of(DATA_DIR / "keys"):
        folders.mark_folders(folder, mark)


@pytest.fixture(autouse=True)
def _fresh_process() -> Iterator[None]:
    """Start every test as a process that has just begun."""
    _forget()
    yield
    _forget()


@pytest.fixture(autouse=True)
def _nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no thread behind a test that would read the next test's tables."""
    from gdpr import remembering

    monkeypatch.setattr(remembering, "listen", lambda: None)


@pytest.fixture
def world(db: None) -> World:
    """Two workspaces, their crews, agents and people, and every kind of key."""
    from tests import world

    return world.standing()


@pytest.fixture
def shared_world(transactional_db: None) -> World:
    """The world in committed rows, for tests with threads or other processes."""
    from tests import world

    return world.standing()


@pytest.fixture
def minilm() -> Iterator[Any]:
    """The model that comes with the project, for tests of meaning."""
    from episodic import engine
    from episodic.embedders import registry

    engine.use(registry.build("local", local_model="minilm", threads=1))
    yield engine.embedder()
    engine.use(None)
