"""Packed files are opened within limits; the others are counted as not searched."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gdpr import encrypted_file
from gdpr.verification import byte_search, file_scan, packed_files, statements
from gdpr.verification.byte_search import Finder
from gdpr.verification.report import Report

MAIL = "maria.lopez@canary.example"
TEXT = b"x" * 5_000 + MAIL.encode() + b"y" * 5_000


def _zip(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("notes.txt", data)
    return buffer.getvalue()


def _tar(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        info = tarfile.TarInfo("notes.txt")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def _named(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"{MAIL}.txt", data[:10])
    return buffer.getvalue()


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zip": _zip,
    "name of a member": _named,
    "tar in gzip": lambda data: gzip.compress(_tar(data)),
    "gzip in zip": lambda data: _zip(gzip.compress(data)),
}


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


def _search() -> tuple[dict[bytes, str], Report]:
    report = Report()
    finder = Finder(byte_search.of_alias(MAIL))
    return file_scan.search(finder, Finder([]), report, lambda _: False), report


@pytest.mark.parametrize("form", PACKED)
def test_what_is_packed_is_found(folder: Path, form: str) -> None:
    (folder / "old").write_bytes(PACKED[form](TEXT))
    hits, report = _search()
    assert hits[MAIL.encode()] == "old"
    assert report.unpacked == 1
    assert not report.not_read


def _deep(data: bytes) -> bytes:
    for _ in range(packed_files.MAX_DEPTH + 1):
        data = gzip.compress(data)
    return data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x28\xb5\x2f\xfd" + bytes(40), "zstd"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(40), "7z"),
        (gzip.compress(TEXT)[:40], "gzip"),
        (b"PK\x03\x04" + bytes(60), "zip"),
        (_deep(TEXT), "too deep"),
        (encrypted_file.MAGIC + bytes(60), file_scan.ENCRYPTED),
    ],
    ids=["zstd", "7z", "cut gzip", "cut zip", "nested", "encrypted"],
)
def test_what_cannot_be_opened_is_counted(
    folder: Path, data: bytes, reason: str
) -> None:
    (folder / "old").write_bytes(data)
    _, report = _search()
    assert report.not_read == {reason: 1}
    assert report.unpacked == 0


def test_a_file_that_swells_is_not_read_to_its_end(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed_files, "MAX_BYTES", 100_000)
    (folder / "bomb").write_bytes(gzip.compress(bytes(3_000_000)))
    _, report = _search()
    assert report.not_read == {"too large": 1}


def test_a_file_that_may_not_be_read_is_counted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = file_scan._of_file

    def refuse(path: Path) -> Iterator[bytes]:
        if path.name == "secret":
            raise PermissionError
        return read(path)

    (folder / "secret").write_bytes(TEXT)
    monkeypatch.setattr(file_scan, "_of_file", refuse)
    hits, report = _search()
    assert not hits
    assert report.not_read == {file_scan.UNREADABLE: 1}


@pytest.mark.django_db
def test_the_report_names_what_was_not_opened() -> None:
    report = Report()
    report.not_read.update({"zstd": 2, "7z": 1, file_scan.ENCRYPTED: 3})
    sentences = statements.not_searched(report, 1, 1)
    assert statements.NOT_OPENED.format(count=3, kinds="7z 1, zstd 2") in sentences
    assert statements.SEALED.format(count=3) in sentences
