"""The file of a backup: what is not whole, not ours or hostile is refused."""

from __future__ import annotations

import io
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, transaction
from pytest_django import Settings

from crewship_memory.backup import (
    bodies,
    envelope,
    fingerprints,
    header,
    indexes,
    key_store,
    snapshot,
    tables,
    vectors,
)
from crewship_memory.backup import rows as backup_rows
from crewship_memory.backup.envelope import BadBackup, BadKey, Input
from crewship_memory.backup.frames import MAX_OBJECT, Frame, Kind, Reader, Writer
from crewship_memory.backup.tables import Column, Table
from crewship_memory.management.commands import move_to_postgres
from gdpr import bundle_files
from gdpr.erasure import tombstones
from gdpr.models import Export
from memory.models import JournalEntry, Workspace
from memory.stored_files import pieces
from memory.stored_files.database import DatabaseStore
from memory.stored_files.folder import FileStore
from tests import database
from tests.gdpr.test_shared_tombstones import record
from tests.world import World

SECRET = b"a key that is long enough"
EMBEDDINGS = vectors.EMBEDDINGS
NOTES = Table("notes", (Column("id", "int"), Column("body", "bytes")), "id")


@pytest.fixture(autouse=True)
def _cheap_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(envelope, "SCRYPT_COST", 16)


def written(*frames: Frame, secret: bytes = SECRET) -> bytes:
    target = io.BytesIO()
    with envelope.output(target, secret) as output:
        writer = Writer(output.write)
        for frame in frames:
            writer.put(frame.kind, frame.content, frame.data, pack=True)
        writer.put(Kind.END, {"sha256": writer.digest.hexdigest()})
    return target.getvalue()


def read(data: bytes, secret: bytes = SECRET) -> list[Frame]:
    return list(Reader(Input(io.BytesIO(data), secret)))[:-1]


FRAMES = (
    Frame(Kind.HEADER, {"a": "é" * 40_000}),
    Frame(Kind.BODY, {"last": True}, b"plain words " * 20_000),
)


def test_what_was_written_is_read() -> None:
    assert read(written(*FRAMES)) == list(FRAMES)


def test_no_byte_can_be_changed_and_none_be_missing() -> None:
    data = written(*FRAMES)
    places = [*range(60), *range(60, len(data), 97), len(data) - 1]
    for place in places:
        changed = bytearray(data)
        changed[place] ^= 1
        with pytest.raises((BadBackup, BadKey)):
            read(bytes(changed))
    for length in (0, 5, 40, 60, len(data) // 2, len(data) - 1):
        with pytest.raises((BadBackup, BadKey)):
            read(data[:length])
    with pytest.raises(BadBackup):
        read(data + b"x")


def test_another_key_is_named_as_the_reason() -> None:
    with pytest.raises(BadKey, match="key does not open"):
        read(written(*FRAMES), b"another key that is long")


@pytest.mark.parametrize("text", ["", "short"])
def test_a_key_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadKey):
        envelope.key_from(None, text)


def test_a_key_comes_from_its_file_first(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_bytes(SECRET + b"\n")
    assert envelope.key_from(file, "the setting is another one") == SECRET
    with pytest.raises(BadKey):
        envelope.key_from(tmp_path / "none", "the setting is another one")


def test_a_file_is_there_when_it_is_complete_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "a.backup"
    with pytest.raises(ZeroDivisionError), envelope.output(path, SECRET) as output:
        output.write(b"x" * 200_000)
        assert not path.exists()
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    with envelope.output(path, SECRET) as output:
        output.write(b"x")
    assert path.stat().st_mode & 0o777 == 0o600
    assert output.size == path.stat().st_size


# ── Frames ───────────────────────────────────────────────────────────────────
def raw(*parts: bytes) -> bytes:
    target = io.BytesIO()
    with envelope.output(target, SECRET) as output:
        for part in parts:
            output.write(part)
    return target.getvalue()


def head(kind: int, object_size: int, size: int = 0, *, packed: bool = False) -> bytes:
    return struct.pack(">BII?", kind, object_size, size, packed)


BOMB = zlib.compress(b" " * (MAX_OBJECT + 1), 9)
EMPTY = zlib.compress(b"{}")


@pytest.mark.parametrize(
    "data",
    [
        head(4, 2**32 - 1),
        head(4, 10, 2**32 - 1),
        head(4, len(BOMB)) + BOMB,
        head(4, len(EMPTY), len(BOMB), packed=True) + EMPTY + BOMB,
        head(77, len(EMPTY)) + EMPTY,
        head(4, 3) + b"abc",
        head(4, len(zlib.compress(b"[]"))) + zlib.compress(b"[]"),
        head(4, len(zlib.compress(b"[" * 99_999))) + zlib.compress(b"[" * 99_999),
        head(9, len(EMPTY)) + EMPTY,
    ],
    ids="huge huge_bytes bomb bomb_bytes unknown no_zlib list deep end".split(),
)
def test_a_frame_that_cannot_be_is_refused_before_it_is_unpacked(data: bytes) -> None:
    with pytest.raises(BadBackup):
        read(raw(data, head(9, len(EMPTY)) + EMPTY))


# ── Rows ─────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("rows", "data"),
    [
        ("text", b""),
        ([[1]], b""),
        ([[1, 2, 3]], b""),
        ([["1", None]], b""),
        ([[True, None]], b""),
        ([[1, 5]], b"1234"),
        ([[1, -1]], b""),
        ([[1, 2]], b"123"),
        ([[1, None]] * 1_001, b""),
    ],
)
def test_rows_that_do_not_fit_their_table_are_refused(rows: Any, data: bytes) -> None:
    with pytest.raises(BadBackup):
        backup_rows.unpacked(NOTES, rows, data)


def test_batches_are_bounded_by_bytes() -> None:
    rows = [(n, b"x" * 900_000) for n in range(9)]
    batches = list(backup_rows.batches(NOTES, rows))
    assert [len(batch.rows) for batch in batches] == [3, 3, 3]
    unpacked = [
        row
        for batch in batches
        for row in backup_rows.unpacked(
            NOTES, json.loads(json.dumps(batch.rows)), bytes(batch.data)
        )
    ]
    assert unpacked == rows


@pytest.mark.django_db(transaction=True)
def test_rows_come_back_as_they_were(shared_world: World) -> None:
    """Read in the portable form, emptied, written, and read again by Django."""
    shared_world.indexed("Refunds – naïve “quotes”", payload={"n": 1.5, "s": "a\tb\\N"})
    all_tables = tables.all_tables()

    def contents() -> dict[str, list[Any]]:
        with snapshot.taken() as moment:
            return {table.name: list(moment.rows(table)) for table in all_tables}

    def by_django() -> list[Any]:
        return [
            list(model.objects.order_by("pk").values_list())
            for model in (Workspace, JournalEntry)
        ]

    def index_count() -> int:
        with connection.cursor() as cursor:
            return len(connection.introspection.get_constraints(cursor, EMBEDDINGS))

    before, seen_by_django = contents(), by_django()
    indexes_before = index_count()
    connection.disable_constraint_checking()
    with transaction.atomic():
        for table in reversed(all_tables):
            with connection.cursor() as cursor:
                cursor.execute(f'DELETE FROM "{table.name}"')
        for table in all_tables:
            size = indexes.LARGE if table.name == EMBEDDINGS else 0
            with indexes.left_out(connection, table.name, size):
                count = backup_rows.insert(connection, table, [before[table.name]])
            assert count == len(before[table.name])
    connection.enable_constraint_checking()
    connection.check_constraints()
    vectors.fill()
    assert index_count() == indexes_before
    assert contents() == before
    assert by_django() == seen_by_django
    backup_rows.reset_sequences(connection, all_tables)
    if database.is_postgres():
        shared_world.indexed("The numbers go on")


def test_every_table_is_in_a_backup_or_says_why_not() -> None:
    names = {table.name for table in tables.all_tables()}
    stored = apps.get_models(include_auto_created=True)
    absent = {m._meta.label for m in stored if m._meta.db_table not in names}
    assert absent == set(tables.LEFT_OUT)


# ── Hostile places ───────────────────────────────────────────────────────────
@pytest.fixture
def folder(tmp_path: Path, settings: Settings) -> Path:
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()
    return tmp_path


SHA = "ab" * 32


@pytest.mark.parametrize(
    ("place", "parts"),
    [
        ("blobs", ["..", "ab", SHA]),
        ("blobs", ["ws_1", "..", SHA]),
        ("blobs", ["ws_1", "ab", "../../" + SHA]),
        ("blobs", ["ws_1", "ab", SHA, "more"]),
        ("blobs", ["/etc", "ab", SHA]),
        ("blobs", "ws_1"),
        ("keys", ["secret.key"]),
        ("../out", ["ws_1", "x.sealed"]),
        ("exports", ["ws_1", "../x.sealed"]),
        ("exports", ["ws_1", "x.key"]),
        ("exports", ["..", "x.sealed"]),
        (None, None),
    ],
)
def test_a_body_goes_nowhere_but_to_its_place(
    folder: Path, place: Any, parts: Any
) -> None:
    target = bodies.Target(FileStore(folder / "data/blobs", folder / "data/locks"))
    with pytest.raises(BadBackup):
        target.add({"folder": place, "parts": parts, "last": True}, b"x")
    assert list(folder.rglob("*")) == [folder / "data"]


def test_a_version_has_the_bytes_that_its_name_says(folder: Path) -> None:
    target = bodies.Target(FileStore(folder / "data/blobs", folder / "data/locks"))
    with pytest.raises(BadBackup, match="other bytes"):
        parts = ["ws_1", "ab", SHA]
        target.add({"folder": "blobs", "parts": parts, "last": True}, b"x")


@pytest.mark.parametrize(
    "texts",
    [
        {"../secret.key": "x"},
        {"installation.id": "x"},
        {"certificates-/../x.pem": "x"},
        {"secret.key": 7},
        {"secret.key": "é"},
        {"secret.key": "x" * 20_000},
    ],
)
def test_a_key_goes_nowhere_but_to_its_place(
    folder: Path, settings: Settings, texts: dict[str, Any]
) -> None:
    settings.KEYS_FROM_ENVIRONMENT = set()
    with pytest.raises(BadBackup):
        key_store.restore(texts)
    assert list(folder.rglob("*")) == [folder / "data"]


@pytest.mark.parametrize("name", ["../x.jsonl", "x", "a/b.jsonl", ".jsonl", "r.lock"])
def test_an_erasures_file_goes_nowhere_but_to_its_place(
    folder: Path, name: str
) -> None:
    with pytest.raises(BadBackup):
        fingerprints.Target().add(fingerprints.Piece(name, b"x\n", is_last=True))
    assert list(folder.rglob("*")) == [folder / "data"]


@pytest.mark.django_db
def test_no_record_of_an_erasure_is_lost_whichever_file_has_it(
    world: World, tmp_path: Path, settings: Settings
) -> None:
    """Of two lists that are no continuation of each other both count."""
    folders = [tmp_path / name for name in ("one", "other")]
    for folder, cases in zip(folders, ((1, 2), (1, 3)), strict=True):
        settings.DATA_DIR = folder
        for number in cases:
            tombstones.announce(record(world, f"c_{number}"))
    settings.DATA_DIR = folders[0]
    other = folders[1] / "erasures"
    assert fingerprints.add_folder(other) == 1
    assert fingerprints.add_folder(other) == 0
    joined = [row.case_id for row in tombstones.read(world.acme.id)]
    assert joined == ["c_1", "c_2", "c_3"]
    before = tombstones.lines(world.acme.id)
    with (other / f"{world.acme.id}.jsonl").open("ab") as file:
        file.write(b'{"body": "{}", "mac": "forged"}\n')
    with pytest.raises(tombstones.Damaged):
        fingerprints.add_folder(other)
    assert tombstones.lines(world.acme.id) == before


@pytest.mark.django_db
def test_a_bundle_that_is_deleted_while_it_is_read_is_missing(
    world: World, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BODIES = "database"
    export = Export(workspace=world.acme)
    content = io.BytesIO(b"x" * (2 * pieces.PIECE))
    pieces.put(bundle_files._rows(), bundle_files.parts(export), content)
    real = DatabaseStore.read

    def read(store: DatabaseStore, parts: Any) -> Any:
        stored = real(store, parts)
        bundle_files.erase(export)
        return stored

    counts = bodies.Counts()
    assert len(list(bodies._export_pieces(export, counts))) == 2
    monkeypatch.setattr(DatabaseStore, "read", read)
    assert list(bodies._export_pieces(export, counts)) == []
    assert (counts.bodies, counts.missing) == (1, 1)


@pytest.mark.parametrize(("place", "is_named"), [("folder", False), ("database", True)])
def test_a_move_says_what_is_left_to_delete(place: str, is_named: bool) -> None:
    text = move_to_postgres._next(place)
    assert ("blobs" in text, "secret.key" in text) == (is_named, is_named)
    assert ("keep" in text) is not is_named


GOOD = {
    "format": 1,
    "backup_id": "bkp_1",
    "installation_id": "inst_1",
    "version": "1",
    "engine": "sqlite",
    "made_at": "now",
    "has_keys": True,
    "keys": {},
    "migrations": [["memory", "0001_schema"]],
    "tables": [{"name": "notes", "key": "id", "columns": [["id", "int"]], "rows": 1}],
}


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"tables": 7},
        {"tables": [{"name": 'x"; DROP', "key": "id", "columns": [], "rows": 1}]},
        {"tables": [GOOD["tables"][0] | {"columns": [["id", "code"]]}]},  # type: ignore[index]
        {"tables": [GOOD["tables"][0] | {"columns": [['a"b', "int"]]}]},  # type: ignore[index]
        {"tables": [{}] * 10_001},
        {"migrations": [["memory"]]},
        {"keys": 7},
    ],
)
def test_a_header_has_plain_names_only(change: dict[str, Any]) -> None:
    assert header.parsed(GOOD).tables["notes"].columns == (Column("id", "int"),)
    with pytest.raises(BadBackup):
        header.parsed(GOOD | change)
