"""Encrypted files: decrypted as written, or refused."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from gdpr import encrypted_file
from gdpr.cases import case_files, sealed_names
from gdpr.models import Case

KEY = encrypted_file.key_for(b"m" * 32, "exp_1")


def _sealed(*pieces: bytes, key: bytes = KEY) -> bytes:
    target = io.BytesIO()
    sealer = encrypted_file.Sealer(target, key)
    for piece in pieces:
        sealer.write(piece)
    sealer.close()
    return target.getvalue()


def _opened(data: bytes, key: bytes = KEY) -> bytes:
    return b"".join(encrypted_file.decrypted_pieces(io.BytesIO(data), key))


@given(st.lists(st.binary(max_size=400), max_size=5), st.integers(0, 3))
def test_what_was_written_is_read(pieces: list[bytes], fill: int) -> None:
    pieces = [*pieces, b"x" * (fill * encrypted_file.PIECE)]
    assert _opened(_sealed(*pieces)) == b"".join(pieces)


@pytest.mark.parametrize(
    "size",
    [0, 1, encrypted_file.PIECE - 1, encrypted_file.PIECE, 3 * encrypted_file.PIECE],
)
def test_every_size_around_a_piece_survives(size: int) -> None:
    assert len(_opened(_sealed(b"a" * size))) == size


def test_no_plain_word_is_in_the_file() -> None:
    assert b"maria@example.org" not in _sealed(b"maria@example.org " * 100)


@given(st.data())
def test_a_changed_byte_does_not_open(data: st.DataObject) -> None:
    sealed = bytearray(_sealed(b"about Maria" * 50))
    at = data.draw(st.integers(0, len(sealed) - 1))
    sealed[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(encrypted_file.Broken):
        _opened(bytes(sealed))


def test_a_file_cut_off_between_pieces_does_not_open() -> None:
    sealed = _sealed(b"b" * (2 * encrypted_file.PIECE))
    head = len(encrypted_file.MAGIC) + encrypted_file.PREFIX
    with pytest.raises(encrypted_file.Broken):
        _opened(sealed[: head + encrypted_file.PIECE + encrypted_file.TAG])


def test_pieces_that_change_places_do_not_open() -> None:
    sealed = _sealed(b"c" * encrypted_file.PIECE, b"d" * encrypted_file.PIECE, b"e")
    head, size = (
        len(encrypted_file.MAGIC) + encrypted_file.PREFIX,
        encrypted_file.PIECE + encrypted_file.TAG,
    )
    first, second = sealed[head : head + size], sealed[head + size : head + 2 * size]
    with pytest.raises(encrypted_file.Broken):
        _opened(sealed[:head] + second + first + sealed[head + 2 * size :])


def test_another_export_has_another_key() -> None:
    other = encrypted_file.key_for(b"m" * 32, "exp_2")
    assert other != KEY
    with pytest.raises(encrypted_file.Broken):
        _opened(_sealed(b"secret"), other)


@pytest.mark.parametrize(
    "data", [b"", b"CMX1", b"PK\x03\x04 a zip", b"CMX1" + b"0" * 7]
)
def test_what_is_no_sealed_file_is_named(data: bytes) -> None:
    with pytest.raises(encrypted_file.Broken):
        _opened(data)


# ── Durability ───────────────────────────────────────────────────────────────
def test_a_file_is_synced_before_it_has_its_name_and_its_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, steps = tmp_path / "sealed" / "case.names", list[tuple[str, bool, bool]]()

    def sync(handle: int) -> None:
        facts = os.fstat(handle)
        kind = "folder" if stat.S_ISDIR(facts.st_mode) else "file"
        steps.append((kind, facts.st_size > 0, path.exists()))

    monkeypatch.setattr(os, "fsync", sync)
    with encrypted_file.sealed(path, KEY) as sealer:
        sealer.write(b"Maria")
    assert steps == [("file", True, False), ("folder", True, True)]
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert _opened(path.read_bytes()) == b"Maria"


def test_after_a_fault_nothing_of_a_file_is_left(tmp_path: Path) -> None:
    path = tmp_path / "case.names"
    with pytest.raises(OSError, match="full"), encrypted_file.sealed(path, KEY) as file:
        file.write(b"Maria")
        raise OSError("full")
    assert list(tmp_path.iterdir()) == []


def test_a_deletion_that_a_killed_runner_did_not_sync_is_synced_by_the_next(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = tmp_path
    folder, synced = tmp_path / case_files.FOLDER, list[Path]()
    monkeypatch.setattr(encrypted_file, "sync", synced.append)
    sealed_names.drop_names(Case(id="case_1"))
    assert synced == []
    folder.mkdir(exist_ok=True)
    sealed_names.drop_names(Case(id="case_1"))
    sealed_names.drop(Case(id="case_1"))
    assert synced == [folder, folder]
