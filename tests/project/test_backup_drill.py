"""The drill: a person is erased between backup and restore, and never comes back."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from crewship_memory.backup.envelope import BadBackup, Input
from crewship_memory.backup.frames import Kind, Reader
from tests.project.backup_machines import (
    FIRST,
    KEY,
    Machine,
    aged,
    is_without_maria,
    rewritten,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def machines(
    tmp_path_factory: pytest.TempPathFactory, migrated_database: Path
) -> dict[str, Any]:
    """A machine whose backup was made before Maria was erased."""
    folder = tmp_path_factory.mktemp("drill")
    source = Machine(folder / "source", database=migrated_database)
    assert source.act("begin") == {"otto": "complete", "days": 90}
    file = str(folder / "a.backup")
    made = source.report("backup", file)
    erased = source.act("erase")
    return {"source": source, "file": file, "made": made, "erased": erased}


def empty(folder: Path, database: Path | None, url: str = "") -> Machine:
    return Machine(folder / "restored", url=url, database=database)


def test_an_erased_person_stays_erased_and_the_rest_is_there(
    machines: dict[str, Any], tmp_path: Path, migrated_database: Path
) -> None:
    source, made = machines["source"], machines["made"]
    assert machines["erased"]["state"] == "complete"
    restored = empty(tmp_path, migrated_database)
    erasures = str(source.folder / "erasures")
    report = restored.report("restore", machines["file"], "--erasures", erasures)
    assert report["served"] and report["problems"] == []
    assert report["rows"] == made["rows"] and report["bodies"] == made["bodies"] > 0
    carried_out = report["erasures"]
    assert (carried_out["carried_out"], carried_out["taken_over"]) == (1, 1)
    assert carried_out["erased"] + carried_out["masked"] > 0
    assert carried_out["left"] == []
    assert report["certificates"] == {"count": 1, "verified": 1}
    assert report["chains"]["breaks"] == 0
    assert report["recalls"]["same"] == report["recalls"]["asked"] > 0
    state = restored.act("look")
    is_without_maria(state)
    # The entry on the backup is younger than the backup.
    assert state["types"] == ["installation.restored"]


def test_the_certificate_counts_the_backups_on_record(machines: dict[str, Any]) -> None:
    sentences = machines["erased"]["backups"]
    assert any("was issued: 1, the last of" in sentence for sentence in sentences)


def test_without_the_later_erasures_it_says_until_when_they_are_known(
    machines: dict[str, Any], tmp_path: Path, migrated_database: Path
) -> None:
    """The names are there again: nobody can know of what no record is left."""
    restored = empty(tmp_path, migrated_database)
    report = restored.report("restore", machines["file"])
    assert report["erasures"]["carried_out"] == 0
    assert report["erasures"]["known_until"] < machines["made"]["made_at"]
    assert restored.act("look")["tables"] != []


def test_it_restores_into_nothing_but_an_empty_target(
    machines: dict[str, Any], tmp_path: Path, migrated_database: Path
) -> None:
    source, file = machines["source"], machines["file"]
    before = source.act("look")
    assert "has rows" in source.manage("restore", file, code=1)
    assert source.act("look") == before
    restored = empty(tmp_path, migrated_database)
    (restored.folder / "blobs" / "ws_other").mkdir(parents=True)
    assert "has files in blobs" in restored.manage("restore", file, code=1)
    (restored.folder / "blobs" / "ws_other").rmdir()
    (restored.folder / "keys" / "journal.key").write_text("another key than that one")
    assert "keys of another" in restored.manage("restore", file, code=1)


@pytest.mark.parametrize("step", ["journal_entries", "bodies"])
def test_a_killed_backup_leaves_no_file_that_looks_complete(
    machines: dict[str, Any], tmp_path: Path, step: str
) -> None:
    source, file = machines["source"], tmp_path / "b.backup"
    assert source.kill(step, "backup", str(file)) == -signal.SIGKILL
    assert not file.exists()
    (part,) = tmp_path.iterdir()
    assert part.name.endswith(".part")
    with part.open("rb") as cut_off, pytest.raises(BadBackup):
        list(Reader(Input(cut_off, KEY.encode())))


def test_a_killed_restore_is_not_served_and_goes_on(
    machines: dict[str, Any], tmp_path: Path, migrated_database: Path
) -> None:
    """Killed at one step after the other; each run begins again or goes on."""
    restored = empty(tmp_path, migrated_database)
    command = ["restore", machines["file"], "--erasures"]
    command.append(str(machines["source"].folder / "erasures"))
    for step in ("marked", "memory_versions", "loaded", "erased", "verified"):
        assert restored.kill(step, *command) == -signal.SIGKILL
        if step == "memory_versions":
            assert "being restored" in restored.manage("up", "--port", "0", code=1)
            answer = restored.act("ready")
            assert "being restored" in " ".join(answer["ready"])
            assert not answer["is_served"]
    assert restored.report(*command)["served"]
    is_without_maria(restored.act("look"))


def test_verify_says_what_is_in_it_and_what_is_wrong(
    machines: dict[str, Any], tmp_path: Path
) -> None:
    source, file = machines["source"], machines["file"]
    report = source.report("backup", "--verify", file, "--scratch", str(tmp_path))
    assert report["problems"] == [] and report["chains"]["entries"] > 0
    assert list(tmp_path.iterdir()) == []
    data = bytearray(Path(file).read_bytes())
    data[-1000] ^= 1
    broken = tmp_path / "broken.backup"
    broken.write_bytes(data)
    error = source.manage("backup", "--verify", str(broken), code=2)
    assert "changed or cut off" in error
    key = tmp_path / "key"
    key.write_text("another key that is long enough")
    error = source.manage("backup", "--verify", file, "--key-file", str(key), code=2)
    assert "key does not open" in error


def test_a_backup_without_keys_needs_them_in_the_target(
    machines: dict[str, Any], tmp_path: Path, migrated_database: Path
) -> None:
    source, file = machines["source"], str(tmp_path / "c.backup")
    source.report("backup", file, "--without-keys")
    journal_key = (source.folder / "keys" / "journal.key").read_bytes()
    assert journal_key not in Path(file).read_bytes()
    restored = empty(tmp_path, migrated_database)
    assert "without keys" in restored.manage("restore", file, code=1)
    (restored.folder / "keys").mkdir(exist_ok=True)
    for path in (source.folder / "keys").iterdir():
        (restored.folder / "keys" / path.name).write_bytes(path.read_bytes())
    assert restored.report("restore", file)["served"]


def test_a_backup_of_an_older_version_is_migrated(
    machines: dict[str, Any], tmp_path: Path, migrated_database: Path
) -> None:
    """Loaded at its own schema, which only a database without tables can have."""
    file = aged(machines["file"], tmp_path / "older.backup")
    migrated = Machine(tmp_path / "migrated", database=migrated_database)
    assert "without tables" in " ".join(
        migrated.manage("restore", file, code=1).split()
    )
    restored = Machine(tmp_path / "restored")
    report = restored.report("restore", file)
    assert report["served"] and report["problems"] == []
    assert restored.act("look")["ready"] == []


def test_a_backup_of_a_newer_version_is_refused(
    machines: dict[str, Any], tmp_path: Path, migrated_database: Path
) -> None:
    def renew(kind: Kind, content: Any) -> None:
        if kind == Kind.HEADER:
            content["migrations"].append(["memory", "9999_future"])

    file = rewritten(machines["file"], tmp_path / "newer.backup", renew)
    restored = Machine(tmp_path / "restored", database=migrated_database)
    assert "newer version" in restored.manage("restore", file, code=1)
    assert not restored.act("ready")["ready"]


def test_what_does_not_verify_is_not_served_before_somebody_accepts_it(
    machines: dict[str, Any], tmp_path: Path, migrated_database: Path
) -> None:
    columns: list[str] = []

    def forge(kind: Kind, content: Any) -> None:
        if kind == Kind.HEADER:
            tables = {table["name"]: table for table in content["tables"]}
            of_embeddings = tables["journal_embeddings"]["columns"]
            columns[:] = [name for name, _kind in of_embeddings]
        if kind == Kind.ROWS and content["table"] == "journal_embeddings":
            content["rows"][0][columns.index("dim")] += 1
        if kind == Kind.ROWS and content["table"] == "journal_entries":
            for row in content["rows"]:
                row[:] = [v if v != FIRST else "Boats need no paint" for v in row]

    file = rewritten(machines["file"], tmp_path / "forged.backup", forge)
    restored = empty(tmp_path, migrated_database)
    assert "Not served" in restored.manage("restore", file, code=3)
    answer = restored.act("ready")
    assert answer["ready"] and not answer["is_served"]
    report = restored.report("restore", "--accept")
    assert report["served"] and report["chains"]["breaks"] == 1
    assert any("of a wrong length: 1." in note for note in report["notes"])
    assert restored.act("ready") == {"ready": [], "is_served": True}


def test_rows_that_refer_to_nothing_are_refused(
    machines: dict[str, Any], tmp_path: Path, migrated_database: Path
) -> None:
    def cut(kind: Kind, content: Any) -> None:
        if kind == Kind.HEADER:
            content["tables"] = [t for t in content["tables"] if t["name"] != "crews"]

    file = rewritten(machines["file"], tmp_path / "cut.backup", cut)
    restored = empty(tmp_path, migrated_database)
    assert "refer to rows" in restored.manage("restore", file, code=2)


def test_a_backup_beside_a_writer_is_one_moment(
    tmp_path: Path, migrated_database: Path
) -> None:
    source = Machine(tmp_path / "source", database=migrated_database)
    source.act("begin")
    with source.writing() as acknowledged:
        made = source.report("backup", str(tmp_path / "a.backup"))
    restored = empty(tmp_path, migrated_database)
    report = restored.report("restore", str(tmp_path / "a.backup"))
    assert report["problems"] == [] and made["bodies_missing"] == 0
    bodies = restored.act("bodies")
    assert (bodies["missing"], bodies["stale"]) == ([], [])
    assert set(acknowledged) <= set(bodies["entries"])
