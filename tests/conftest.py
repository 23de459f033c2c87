"""A clean environment, a database, and the small world the tests walk in.

The environment is made before Django reads it: its own data folder for every process,
and an embedder that needs no model, so that tests are fast and know no network.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django
import hypothesis
import pytest
from django.db import transaction

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker

    from tests.database import Template
    from tests.world import World

Row = Callable[..., contextlib.AbstractContextManager["World"]]
DATA_DIR = Path(tempfile.mkdtemp(prefix="crewship-tests-"))
METRICS_DIR = Path(tempfile.mkdtemp(prefix="crewship-tests-metrics-"))
# What a test leaves of the data folder; memory files and blobs go.
LASTING = {"keys", "static"}
# What takes long: files with such a test, and files with as many cases.
SLOW = ("browser", "clients", "slow")
LARGE = 100


def _clean_environment() -> None:
    """Leave nothing of the caller's environment but the database it may have chosen."""
    # Every process that a test starts would compile every module again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    for name in list(os.environ):
        if name.startswith(("CREWSHIP_", "OLLAMA_")) or name == "REDIS_URL":
            del os.environ[name]
    os.environ["CREWSHIP_DATA_DIR"] = str(DATA_DIR)
    os.environ["CREWSHIP_METRICS_DIR"] = str(METRICS_DIR)
    os.environ["CREWSHIP_EMBEDDER"] = "hashing"
    # Tests edit memory files by hand; those about rows choose the database themselves.
    os.environ["CREWSHIP_BODIES"] = "folder"
    os.environ["DJANGO_SETTINGS_MODULE"] = "crewship_memory.settings"


def _set_up_django() -> None:
    """Load the settings; pages link to static files as they are, without a manifest."""
    from django.conf import settings

    plain = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.STORAGES["staticfiles"] = {"BACKEND": plain}
    settings.STATIC_ROOT.mkdir(exist_ok=True)
    settings.PASSWORD_HASHERS.insert(0, "django.contrib.auth.hashers.MD5PasswordHasher")
    _trust_the_machine(settings.DATABASES["default"])
    django.setup()
    _know_the_installation()


def _trust_the_machine(config: dict[str, Any]) -> None:
    """Wait for no disk: a test outlives processes, but not the machine."""
    pytest.MonkeyPatch().setattr(os, "fsync", lambda _: None)
    if "init_command" in config["OPTIONS"]:
        command = f"{config['OPTIONS']['init_command']} PRAGMA synchronous=OFF;"
        config["OPTIONS"] = {**config["OPTIONS"], "init_command": command}


def _know_the_installation() -> None:
    """Look at the keys once, and mark every data folder that a test chooses."""
    from django.core.signals import setting_changed

    from gdpr.erasure import readiness
    from memory.installation import identity as installation

    # A test counts queries, and no test changes keys behind another's back.
    installation.CHECK_SECONDS = 3_600.0
    readiness.CHECK_SECONDS = 3_600.0

    def mark(*, setting: str, value: Any, **_: Any) -> None:
        if setting == "DATA_DIR" and value is not None and Path(value).is_dir():
            _mark(Path(value))
        if setting == "BODIES":
            installation.forget()

    setting_changed.connect(mark, weak=False)


_clean_environment()
_set_up_django()
# No example is too slow: a machine's speed is no property of the code.
hypothesis.settings.register_profile(
    "untimed",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("untimed")
for folder in (DATA_DIR, METRICS_DIR):
    atexit.register(shutil.rmtree, folder, ignore_errors=True)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Let every worker come here first and make its own environment."""
    os.environ.pop("DJANGO_SETTINGS_MODULE", None)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Run on each database what depends on it; begin with what takes longest.

    What visits no database is proved on SQLite, and does not run again on PostgreSQL.
    """
    if os.environ.get("DATABASE_URL", "").startswith("postgres"):
        elsewhere = [item for item in items if not _visits_postgres(item)]
    else:
        elsewhere = [item for item in items if item.get_closest_marker("postgres")]
    config.hook.pytest_deselected(items=elsewhere)
    left_out = set(elsewhere)
    items[:] = [item for item in items if item not in left_out]
    cases = Counter(item.path for item in items)
    slow = {i.path for i in items if any(map(i.get_closest_marker, SLOW))}
    # Otherwise the one process ends long before the other.
    items.sort(key=lambda item: (item.path not in slow, cases[item.path] < LARGE))


def _visits_postgres(item: pytest.Item) -> bool:
    if item.get_closest_marker("sqlite"):
        return False
    if item.get_closest_marker("postgres") or item.get_closest_marker("django_db"):
        return True
    names = set(getattr(item, "fixturenames", ()))
    return not names.isdisjoint({"db", "transactional_db", "live_server"})


# ── The database ─────────────────────────────────────────────────────────────
@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all processes of this run share, and runs inside of it."""
    if folder_of_the_caller := os.environ.get("TESTS_FOLDER"):
        return Path(folder_of_the_caller)
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def template(run_folder: Path, testrun_uid: str) -> Template:
    """Return the migrated database that this run copies."""
    from tests import database

    if database.is_postgres():
        return database.PostgresTemplate(run_folder, testrun_uid)
    return database.SQLiteTemplate(run_folder)


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """Let Django take the copied file as it is; it goes with the data folder."""
    from tests import database

    return not database.is_postgres()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, template: Template
) -> Iterator[None]:
    """Begin with the run's template, in a file as in production: processes read it."""
    from django.db import connections

    config = connections.settings["default"]
    if config["ENGINE"].endswith("sqlite3"):
        config["TEST"]["NAME"] = str(DATA_DIR / "tests.sqlite3")
    with template.turn(config):
        yield


@pytest.fixture(scope="session")
def django_db_setup(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, template: Template
) -> Iterator[None]:
    """Build the world once, committed; every test starts from it."""
    from django.core.management.commands import flush

    from tests import database, world

    with django_db_blocker.unblock():
        template.make()
        world.stand()
        command = database.restoring_flush(database.snapshot())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flush, "Command", command)
        yield
    with django_db_blocker.unblock():
        template.drop()
    _forget()


@pytest.fixture(scope="session")
def migrated_database(run_folder: Path) -> Path:
    """Return an SQLite file to begin an installation with, as a migration leaves it."""
    from tests import database

    return database.migrated_sqlite(run_folder)


# ── What a process remembers between requests ────────────────────────────────
def _forget() -> None:
    """Empty everything that outlives a request."""
    from django.core.cache import cache

    from crewship_memory import shared_cache, throttle
    from crewship_memory.celery import app
    from episodic import tasks
    from episodic.index import engine, reference_counts
    from episodic.recall import name_index
    from episodic.recall.question_log import question_log
    from gdpr.erasure import catch_up, readiness, shared_tombstones
    from memory import outages
    from memory.installation import identity as installation
    from memory.installation import schema_version
    from memory.jobs import dispatch
    from memory.word_index.cache import indexes

    with engine._lock:
        for name in engine._Parts.__slots__:
            setattr(engine._parts, name, None)
    indexes.clear()
    name_index.clear()
    reference_counts.reference_counts._counts.clear()
    # A thread that seems to run keeps the buffer from starting one; tests flush.
    reference_counts.reference_counts._thread = threading.main_thread()
    question_log._waiting.clear()
    question_log._thread = threading.main_thread()
    tasks.nudge._last = 0.0
    # An index thread of another test that was not stopped would take the calls.
    tasks.nudge.wake = None
    app.conf.crewship_delivers = False
    cache.clear()
    throttle.anonymous.clear()
    shared_cache.link.answered()
    dispatch.broker.reset()
    outages.damage.clear()
    outages.refusal.clear()
    readiness._state = readiness._State(checked_at=time.monotonic())
    shared_tombstones.forget()
    catch_up._left.clear()
    catch_up._rests_until = 0.0
    # What was wrong while a test kept bodies elsewhere.
    if installation._state.bodies_problem or installation._state.keys_problem:
        installation.forget()
    # No look in the middle of a test that counts queries.
    schema_version.guard.look_again_at(math.inf)
    _empty(DATA_DIR)


def _empty(folder: Path) -> None:
    """Remove what a test left of the data folder, but the marks of the installation."""
    from memory.installation import key_files

    for path in folder.iterdir():
        if path.is_symlink():
            path.unlink()
        elif path.is_dir() and path.name not in LASTING:
            for child in path.iterdir():
                if child.is_dir() and not child.is_symlink():
                    shutil.rmtree(child, ignore_errors=True)
                elif child.name != key_files.MARK:
                    child.unlink()
            if not (path / key_files.MARK).exists():
                path.rmdir()
    _mark(folder)


def _mark(folder: Path) -> None:
    """Make a folder this installation's, once the database has said which that is."""
    from memory.installation import folders, key_files

    if mark := key_files.mark_of(DATA_DIR / "keys"):
        folders.mark_folders(folder, mark)


@pytest.fixture(autouse=True)
def _fresh_process() -> Iterator[None]:
    """Start every test as a process that has just begun."""
    yield
    _forget()


@pytest.fixture(autouse=True, scope="session")
def _first_process() -> None:
    """Start the first test like every other."""
    _forget()


@pytest.fixture(autouse=True)
def _nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no thread behind a test that would read the next test's tables."""
    from crewship_memory import sqlite_integrity
    from gdpr.erasure import process_caches

    monkeypatch.setattr(process_caches, "listen", lambda: None)
    monkeypatch.setattr(sqlite_integrity, "watch", lambda: None)


@pytest.fixture
def world(db: None) -> World:
    """Two workspaces, their crews, agents and people, and every kind of key."""
    from tests import world

    return world.shared_worlds()


@pytest.fixture
def row(db: None, subtests: pytest.Subtests) -> Row:
    """Return a context for one row of a table, and a world of its own.

    What a row does is taken back at its end, and a row that fails is reported with its
    name while the others go on.
    """
    from tests import world

    @contextlib.contextmanager
    def build(**names: Any) -> Iterator[World]:
        with subtests.test(**names):
            try:
                with transaction.atomic():
                    yield world.shared_worlds()
                    transaction.set_rollback(True)
            finally:
                _forget()

    return build


@pytest.fixture
def shared_world(transactional_db: None) -> World:
    """The world in committed rows, for tests with threads or other processes."""
    from tests import world

    return world.shared_worlds()


@pytest.fixture
def patient_health(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a provider's health check and a wire the time that a busy machine needs.

    A check of the parity suite that hangs on purpose keeps its own deadline.
    """
    from memory.integrations import selftest_server
    from memory.providers import base, deadline, parity_harness
    from memory.providers.parity import health as health_checks
    from tests.waiting import LIMIT_SECONDS

    hung_providers: list[base.Provider] = []
    check_health = deadline.check_health

    def patient(provider: base.Provider, seconds: float) -> base.HealthStatus:
        is_hung = any(provider is provider_name for provider_name in hung_providers)
        return check_health(provider, seconds if is_hung else LIMIT_SECONDS)

    def remembering(make: Callable[[Any], base.Provider]) -> Any:
        def build(harness: Any) -> base.Provider:
            hung_providers.append(make(harness))
            return hung_providers[-1]

        return build

    for kind in (
        parity_harness.FilesHarness,
        parity_harness.RecordsHarness,
        parity_harness.RemoteHarness,
    ):
        monkeypatch.setattr(kind, "hanging", remembering(kind.hanging))
    monkeypatch.setattr(deadline, "check_health", patient)
    monkeypatch.setattr(base, "REMOTE_SECONDS", LIMIT_SECONDS)
    monkeypatch.setattr(health_checks, "SLACK", LIMIT_SECONDS)
    monkeypatch.setattr(selftest_server, "SECONDS", LIMIT_SECONDS)


@pytest.fixture
def minilm() -> Iterator[Any]:
    """The model that comes with the project, for tests of meaning."""
    from episodic.embedders import registry
    from episodic.index import engine

    engine.use(registry.build("local", local_model="minilm", threads=1))
    yield engine.embedder()
    engine.use(None)
