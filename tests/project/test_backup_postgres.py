"""The drill where machines share no disk: bodies, keys and records in PostgreSQL."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction

from crewship_memory.backup import derived_data, indexes, snapshot, target_lock, vectors
from episodic.index import sweep as index
from episodic.models import Embedding, State
from episodic.vectors import pg_pages, pg_store
from memory.installation import restore_mark
from memory.stored_files.advisory_locks import number_of
from tests.project.backup_machines import Machine, aged, is_without_maria, new_postgres
from tests.world import World

pytestmark = [pytest.mark.slow, pytest.mark.postgres, pytest.mark.django_db]
KEYS = ["exports", "gateway", "journal"]


@pytest.fixture(scope="module")
def embedded(
    tmp_path_factory: pytest.TempPathFactory, migrated_database: Path
) -> dict[str, Any]:
    """An embedded machine, and its backup from before Maria was erased."""
    folder = tmp_path_factory.mktemp("embedded")
    source = Machine(folder / "source", database=migrated_database)
    source.act("begin")
    file = str(folder / "a.backup")
    return {"source": source, "file": file, "made": source.report("backup", file)}


@pytest.fixture
def databases() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def machine(folder: Path, stack: ExitStack, **changes: str) -> Machine:
    fresh = Machine(folder, url=stack.enter_context(new_postgres()))
    fresh.env |= changes
    return fresh


def is_in_database(state: dict[str, Any]) -> None:
    """Bodies, keys and records are in tables; the folder has ids and copies alone."""
    place = state["place"]
    assert place["recorded"] == "database" and place["rows"] > 0
    signing = [name for name in place["sealed"] if name not in KEYS]
    assert set(KEYS) < set(place["sealed"])
    assert signing and all(name.startswith("certificates-") for name in signing)
    assert set(place["keys"]) <= {"installation.id", "secret.key"}
    assert set(place["folder"]) <= {"keys", "erasures", "locks", "static"}
    has_vectors(state)


def is_in_folder(state: dict[str, Any]) -> None:
    place = state["place"]
    assert (place["recorded"], place["rows"], place["sealed"]) == ("folder", 0, [])
    assert {"blobs", "files"} < set(place["folder"])
    assert {f"{name}.key" for name in KEYS} < set(place["keys"])


def has_vectors(state: dict[str, Any]) -> None:
    """Each vector is where it is searched, once, and the graphs are there."""
    place = state["place"]
    assert place["vectors"] == place["embeddings"] > 0
    assert place["in_column"] == 0
    # One of the parent and one of each partition, for three lengths.
    assert place["indexes"] == 3 * 33


def test_an_erased_person_stays_erased_wherever_bodies_are(
    embedded: dict[str, Any],
    tmp_path: Path,
    migrated_database: Path,
    databases: ExitStack,
) -> None:
    """From an embedded machine to PostgreSQL, and from there to each other kind.

    Maria is erased after the second backup. Each target is given another secret, or
    none, and no schema.
    """
    one = machine(tmp_path / "one", databases, CREWSHIP_SECRET_KEY="s" * 50)
    one.env["DRILL_WORLD"] = embedded["source"].env["DRILL_WORLD"]
    report = one.report("restore", embedded["file"])
    assert report["served"] and report["problems"] == []
    assert report["bodies"] == embedded["made"]["bodies"] > 0
    before = one.act("look")
    is_in_database(before)
    assert "secret.key" not in before["place"]["keys"]
    assert [text for text in before["memory"] if "- Boats" in text]
    file = str(tmp_path / "b.backup")
    backup = one.report("backup", file)
    assert (
        backup["bodies"] == embedded["made"]["bodies"] and not backup["bodies_missing"]
    )
    assert "sealed in the database" in one.manage(
        "backup", str(tmp_path / "c.backup"), "--without-keys", code=1
    )
    assert one.act("erase")["state"] == "complete"
    assert one.act("look")["place"]["lines"] == before["place"]["lines"] + 1
    targets = {
        "other": machine(tmp_path / "other", databases),
        "third": machine(tmp_path / "third", databases, CREWSHIP_BODIES="folder"),
        "back": Machine(tmp_path / "back", database=migrated_database),
        "rows": Machine(tmp_path / "rows", database=migrated_database),
    }
    targets["rows"].env["CREWSHIP_BODIES"] = "database"
    for name, target in targets.items():
        erasures = str(one.folder / "erasures")
        report = target.report("restore", file, "--erasures", erasures)
        assert report["served"] and report["problems"] == [], name
        assert report["rows"] == backup["rows"]
        carried_out = report["erasures"]
        assert (carried_out["carried_out"], carried_out["taken_over"]) == (1, 1)
        state = target.act("look")
        is_without_maria(state)
        assert len(state["memory"]) == len(before["memory"])
        if name in ("third", "back"):
            is_in_folder(state)
        assert state["place"]["vectors"] == state["place"]["embeddings"] > 0
    state = targets["other"].act("look")
    is_in_database(state)
    assert state["place"]["lines"] == before["place"]["lines"] + 1
    assert "has rows" in targets["other"].manage("restore", file, code=1)


def test_verify_takes_a_backup_of_the_database_apart(
    embedded: dict[str, Any], tmp_path: Path, databases: ExitStack
) -> None:
    one = machine(tmp_path / "one", databases, CREWSHIP_SECRET_KEY="s" * 50)
    one.report("restore", embedded["file"])
    backup = one.report("backup", str(tmp_path / "b.backup"))
    report = one.report("backup", "--verify", str(tmp_path / "b.backup"))
    assert report["problems"] == [] and report["bodies"] == backup["bodies"]
    assert report["certificates"] == {"count": 1, "verified": 1}


def test_a_killed_restore_goes_on_and_leaves_nothing_in_the_folder(
    embedded: dict[str, Any], tmp_path: Path, databases: ExitStack
) -> None:
    restored = machine(tmp_path / "restored", databases)
    steps = ("memory_versions", "loaded", "at_head", "copied", "placed", "derived")
    for step in steps:
        code = restored.kill(step, "restore", embedded["file"])
        assert code == -signal.SIGKILL
        assert not restored.act("ready")["is_served"]
    assert restored.report("restore", embedded["file"])["served"]
    is_in_database(restored.act("look"))


def test_another_machine_does_not_end_a_restore_whose_bodies_it_lacks(
    embedded: dict[str, Any], tmp_path: Path, databases: ExitStack
) -> None:
    first = machine(tmp_path / "first", databases)
    assert first.kill("loaded", "restore", embedded["file"]) == -signal.SIGKILL
    second = Machine(tmp_path / "second", url=first.env["DATABASE_URL"])
    assert "not in this data folder" in " ".join(
        second.manage("restore", code=1).split()
    )
    assert first.report("restore")["served"]
    is_in_database(first.act("look"))


def test_one_restore_at_a_time_into_a_database(
    embedded: dict[str, Any], tmp_path: Path, databases: ExitStack
) -> None:
    """The machines have folders of their own; the second one changes nothing."""
    target = machine(tmp_path / "target", databases)
    url = target.env["DATABASE_URL"]
    there = connection.copy()
    there.settings_dict = there.settings_dict | {"NAME": url.rpartition("/")[2]}
    with snapshot.connected(there) as first:
        first.autocommit = True
        number = number_of(target_lock.NAME)
        first.execute("SELECT pg_advisory_lock(%s)", [number])
        for error in (
            target.manage("restore", embedded["file"], code=1),
            embedded["source"].manage("move_to_postgres", "--to", url, code=1),
        ):
            assert target_lock.Busy.sentence in " ".join(error.split())
        mark = f"SELECT to_regclass('{restore_mark.TABLE}')"
        assert first.execute(mark).fetchone() == (None,)


@pytest.mark.django_db
def test_the_lock_of_a_restore_holds_no_snapshot() -> None:
    """Whoever makes an index concurrently waits for the end of each."""
    sql = (
        "SELECT state, backend_xmin FROM pg_stat_activity"
        " WHERE query LIKE 'SELECT pg_try_advisory_xact_lock%'"
    )
    with target_lock.held(connection), connection.cursor() as cursor:
        cursor.execute(sql)
        assert cursor.fetchall() == [("idle in transaction", None)]


def test_a_database_that_is_away_is_an_error_that_commands_know(
    tmp_path: Path,
) -> None:
    away = connection.copy()
    away.settings_dict = away.settings_dict | {"HOST": str(tmp_path)}
    with pytest.raises(OperationalError), target_lock.held(away):
        pass


def test_indexes_are_made_with_no_less_memory_than_the_server_gives() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        for size, used in (("64MB", "512MB"), ("1GB", "1GB")):
            cursor.execute(f"SET LOCAL maintenance_work_mem = '{size}'")
            with indexes.left_out(connection, vectors.EMBEDDINGS):
                pass
            cursor.execute("SHOW maintenance_work_mem")
            assert cursor.fetchone() == (used,)


@pytest.mark.django_db(transaction=True)
def test_pages_of_restored_vectors_are_as_full_as_their_length_wants(
    world: World,
) -> None:
    row, blob = world.indexed().embedding, b"\0\0\0\x3f" * 1_024
    Embedding.objects.filter(pk=row.pk).update(dim=1_024, vector=blob)
    vectors.fill()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT reloptions, (SELECT dim FROM journal_vectors) FROM pg_class"
            " WHERE oid = %s::regclass",
            [pg_store.partition(world.acme.id)],
        )
        assert cursor.fetchone() == (["fillfactor=80"], 1_024)
    pg_pages.fit(world.acme.id, 384)


@pytest.mark.django_db(transaction=True)
def test_what_has_no_vector_of_its_length_is_embedded_again(world: World) -> None:
    rows = [world.indexed("Refund denied"), world.indexed("Boats need paint")]
    embeddings = Embedding.objects.filter(pk__in=[row.pk for row in rows])
    dim = embeddings[0].dim
    # As they stand once they are loaded.
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM journal_vectors")
    embeddings.update(vector=b"\0\0\0\x3f" * dim)
    embeddings.filter(pk=rows[0].pk).update(vector=b"\0\0\0\x3f")
    assert derived_data.fill() == 1
    states = dict(embeddings.values_list("pk", "state"))
    assert states == {rows[0].pk: State.PENDING, rows[1].pk: State.INDEXED}
    assert index.sweep().indexed == 1
    assert derived_data.fill() == 0


def test_a_restore_that_lost_its_lock_does_not_serve() -> None:
    with pytest.raises(target_lock.Lost), target_lock.held(connection) as locked:
        locked()
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks"
                " WHERE locktype = 'advisory' AND objsubid = 1 AND database ="
                " (SELECT oid FROM pg_database WHERE datname = current_database())"
            )
        locked()


def test_a_sealed_key_makes_a_target_one_that_is_not_empty(
    embedded: dict[str, Any], tmp_path: Path, databases: ExitStack
) -> None:
    target = machine(tmp_path / "target", databases)
    target.manage("migrate", "--no-input", "--verbosity", "0")
    code = "from memory.models import SealedKey as S; S.objects.create(name='journal')"
    target.manage("shell", "-c", code)
    error = target.manage("restore", embedded["file"], code=1)
    assert "sealed_keys of the database has rows" in " ".join(error.split())


def test_a_backup_of_an_older_version_is_migrated(
    embedded: dict[str, Any], tmp_path: Path, databases: ExitStack
) -> None:
    """Vectors from the column, keys by workspace, bodies into rows."""
    file = aged(embedded["file"], tmp_path / "older.backup")
    restored = machine(tmp_path / "restored", databases)
    report = restored.report("restore", file)
    assert report["served"] and report["problems"] == []
    state = restored.act("look")
    is_in_database(state)
    assert state["ready"] == []


@pytest.mark.parametrize("place", ["database", "folder"])
def test_a_move_to_postgresql_goes_on_where_it_was_killed(
    embedded: dict[str, Any], tmp_path: Path, databases: ExitStack, place: str
) -> None:
    """What is moved stays as it was: the old one can serve until it is deleted."""
    source: Machine = embedded["source"]
    url = databases.enter_context(new_postgres())
    source.env["CREWSHIP_BODIES"] = "folder"
    with source.writing():
        assert "in use" in source.manage("move_to_postgres", "--to", url, code=1)
    before = source.act("look")
    content = (source.folder / "crewship.sqlite3").read_bytes()
    if place == "database":
        del source.env["CREWSHIP_BODIES"]
    code = source.kill("memory_versions", "move_to_postgres", "--to", url)
    assert code == -signal.SIGKILL
    target = Machine(tmp_path / "target", url=url)
    assert "being restored" in target.manage("up", "--port", "0", code=1)
    report = source.report("move_to_postgres", "--to", url)
    assert report["served"] and report["problems"] == []
    assert (source.folder / "crewship.sqlite3").read_bytes() == content
    if place == "database":
        # The folder of a machine that has nothing but the secret.
        secret = (source.folder / "keys" / "secret.key").read_text()
        target.env["CREWSHIP_SECRET_KEY"] = secret
    else:
        target.env |= {
            "CREWSHIP_DATA_DIR": str(source.folder),
            "CREWSHIP_BODIES": "folder",
        }
    state = target.act("look")
    assert state["ready"] == [] and state["entries"] == before["entries"] + 1
    assert "installation.moved" in state["types"]
    assert (state["memory"], state["chain"]) == (before["memory"], True)
    assert state["recalled"] == before["recalled"]
    has_vectors(state)
    if place == "database":
        is_in_database(state)
    assert "rows" in source.manage("move_to_postgres", "--to", url, code=1)
    assert source.act("look") == before
