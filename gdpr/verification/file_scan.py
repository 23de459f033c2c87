"""Searching the bytes of every file, as a reader of the raw disk would."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import connection
from django.utils.translation import gettext_noop

from gdpr import encrypted_file
from gdpr.data_map.base import Trace
from gdpr.verification import packed_files
from gdpr.verification.byte_search import Finder
from gdpr.verification.report import Beat, Report, no_beat

# A piece's intermediate results have to fit into the processor's cache.
PIECE: Final = 1024 * 1024
# The context of a short name that is needed to tell it from chance.
MARGIN: Final = 8
# Why the content of a file was not searched, beside the kinds of ``packed_files``.
ENCRYPTED: Final = "encrypted"
UNREADABLE: Final = "unreadable"
DATABASE_SUFFIXES: Final = ("", "-wal", "-shm", "-journal")


def files(*roots: Path) -> Iterator[Path]:
    """Yield every regular file of the installation and its database."""
    visited = set()
    for root in (Path(settings.DATA_DIR), *roots):
        for folder, _, names in os.walk(root, followlinks=False):
            for name in sorted(names):
                path = Path(folder) / name
                if path.is_file() and not path.is_symlink():
                    visited.add(path)
                    yield path
    if connection.vendor == "sqlite":
        database = Path(str(connection.settings_dict["NAME"]))
        for ending in DATABASE_SUFFIXES:
            path = database.with_name(database.name + ending)
            if path.is_file() and path not in visited:
                yield path


def display_path(path: Path, finder: Finder) -> str:
    """Return a file's path; a path that names a person is replaced by a digest."""
    root = Path(settings.DATA_DIR)
    relative = str(path.relative_to(root)) if path.is_relative_to(root) else path.name
    if not finder.find(relative.encode("utf-8", "surrogateescape")):
        return relative
    top = Path(relative).parts[0]
    return (
        f"{top}/…{hashlib.sha256(relative.encode(errors='replace')).hexdigest()[:12]}"
    )


def _is_database(path: Path) -> bool:
    """Whether SQLite of this process may hold locks on a file."""
    if connection.vendor != "sqlite":
        return False
    name = Path(str(connection.settings_dict["NAME"])).name
    return path.name in {name + ending for ending in DATABASE_SUFFIXES}


# Descriptors of the database's files, by device and inode, open until the process
# ends: closing *any* descriptor of a file drops every POSIX lock that the process holds
# on it (sqlite.org/howtocorrupt.html, 2.2). Another process could then believe to be
# the last one and delete the log that this one still writes to.
_kept_open: dict[tuple[int, int], int] = {}
_opening = threading.Lock()


def _descriptor(path: Path) -> int:
    """Return a descriptor of a database file, which must never be closed."""
    with _opening:
        stat = path.stat()
        key = (stat.st_dev, stat.st_ino)
        if key not in _kept_open:
            _kept_open[key] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        return _kept_open[key]


def _of_database(path: Path) -> Iterator[bytes]:
    descriptor, offset = _descriptor(path), 0
    while data := os.pread(descriptor, PIECE, offset):
        yield data
        offset += len(data)


def _of_file(path: Path) -> Iterator[bytes]:
    with path.open("rb", buffering=0) as file:
        while data := file.read(PIECE):
            yield data


def pieces(path: Path, overlap: int) -> Iterator[bytes]:
    """Yield a file in overlapping pieces; a file deleted meanwhile just ends.

    Raises OSError when it cannot be read.
    """
    tail = b""
    try:
        for data in _of_database(path) if _is_database(path) else _of_file(path):
            yield tail + data
            tail = data[-overlap:] if overlap else b""
    except FileNotFoundError:
        return


def _unpacked(path: Path, overlap: int, report: Report) -> Iterator[bytes]:
    """Yield what is in a packed file; count in the report what was not opened."""
    if _is_database(path):
        return
    with path.open("rb") as file:
        head = file.read(packed_files.HEAD)
        file.seek(0)
        if head.startswith(encrypted_file.MAGIC):
            report.not_read[ENCRYPTED] += 1
        elif packed_files.kind(head):
            try:
                yield from packed_files.contents(file, overlap)
                report.unpacked += 1
            except packed_files.NotOpened as reason:
                report.not_read[str(reason)] += 1


def _all_pieces(path: Path, overlap: int, report: Report) -> Iterator[bytes]:
    """Yield a file as it lies on the disk, and unpacked if it is packed."""
    try:
        yield from pieces(path, overlap)
        yield from _unpacked(path, overlap, report)
    except FileNotFoundError:
        return
    except OSError:
        report.not_read[UNREADABLE] += 1


def search(
    finder: Finder,
    names: Finder,
    report: Report,
    skip: Callable[[Path], bool],
    roots: Sequence[Path] = (),
    beat: Beat = no_beat,
) -> dict[bytes, str]:
    """Search every file for byte strings; return each found one with its file's path.

    ``skip`` excludes files. A pattern is dropped once found. A path with one of the
    ``names`` is added to the report as a trace. ``beat`` is called for every piece and
    may raise to stop the search.
    """
    overlap = max(0, finder.longest - 1) + MARGIN
    first: dict[bytes, str] = {}
    for path in files(*roots):
        place = display_path(path, names)
        if "…" in place:
            report.traces.append(Trace("files", place, gettext_noop("name of a file")))
        if skip(path):
            report.skipped += 1
            continue
        report.files += 1
        for piece in _all_pieces(path, overlap, report):
            beat()
            report.bytes += len(piece)
            hits = finder.find(piece)
            if hits:
                first.update(dict.fromkeys(hits - first.keys(), place))
                finder.drop(hits)
    return first


def holding(
    finder: Finder, paths: Iterable[Path], beat: Beat = no_beat
) -> dict[Path, set[bytes]]:
    """Return the files that hold some of the byte strings, with those they hold."""
    overlap = max(0, finder.longest - 1) + MARGIN
    hits_by_path: dict[Path, set[bytes]] = {}
    for path in paths:
        for piece in pieces(path, overlap):
            beat()
            if hits := finder.find(piece):
                hits_by_path.setdefault(path, set()).update(hits)
    return hits_by_path
