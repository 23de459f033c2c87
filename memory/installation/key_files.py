"""Key and mark files: written atomically, readable by this account only.

Without Django: the settings read keys before Django is loaded, and the storage of
memory files compares marks.
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

MARK: Final = "installation.id"
GROUP_AND_OTHERS: Final = 0o077
_FINGERPRINT: Final = b"crewship key fingerprint v1\x00"
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_MARK_BYTES: Final = 100


def read(path: Path) -> str:
    """Return a key's text, empty when there is no file."""
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return ""


def make(path: Path, text: str) -> str:
    """Create a file; return its content, written by this or by another process.

    Creating a hard link is atomic, so that of two processes one wins.
    """
    temporary = _write_temporary(path, text)
    try:
        os.link(temporary, path)
        _sync(path.parent)
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
    return read(path)


def replace(path: Path, text: str) -> None:
    """Replace a file's content atomically."""
    _write_temporary(path, text).replace(path)
    _sync(path.parent)


def _write_temporary(path: Path, text: str) -> Path:
    """Write a temporary sibling of a file, durably, and return its path."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(temporary, flags, 0o600), "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return temporary


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def fingerprint(name: str, key: str, installation_id: str) -> str:
    """Return a digest that tells keys apart without revealing them."""
    message = _FINGERPRINT + f"{installation_id}\x00{name}".encode()
    return hmac.digest(key.encode(), message, "sha256").hex()


# ── Marks ────────────────────────────────────────────────────────────────────
def mark_in(folder: int) -> str:
    """Return the installation id in a folder, by its handle; empty without one."""
    try:
        handle = os.open(MARK, _READ, dir_fd=folder)
    except OSError:
        return ""
    try:
        return os.read(handle, _MARK_BYTES).decode("ascii", "replace").strip()
    except IsADirectoryError:
        return ""
    finally:
        os.close(handle)


def mark_of(folder: Path) -> str:
    """Return the installation id in a folder, empty when it or the folder is gone."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return mark_in(handle)
    finally:
        os.close(handle)


# ── File modes ───────────────────────────────────────────────────────────────
def _paths(folder: Path) -> Iterator[Path]:
    yield folder
    for below, folders, names in os.walk(folder, followlinks=False):
        yield from (Path(below) / name for name in (*folders, *names))


def tighten(paths: Iterator[Path]) -> Path | None:
    """Remove the rights of group and others; return the first path where that fails.

    Links, and paths that are gone meanwhile, are skipped.
    """
    for path in paths:
        with suppress(FileNotFoundError):
            facts = path.lstat()
            if stat.S_ISLNK(facts.st_mode) or not facts.st_mode & GROUP_AND_OTHERS:
                continue
            try:
                path.chmod(stat.S_IMODE(facts.st_mode) & ~GROUP_AND_OTHERS)
            except PermissionError:
                return path
            if path.lstat().st_mode & GROUP_AND_OTHERS:
                return path
    return None


def tighten_folder(folder: Path) -> Path | None:
    """Do what ``tighten`` does, for a folder and all that is in it."""
    return tighten(_paths(folder))


def readable_by_others(folder: Path) -> Path | None:
    """Return the first path of a folder with rights for group or others, if any."""
    for path in _paths(folder):
        with suppress(FileNotFoundError):
            mode = path.lstat().st_mode
            if not stat.S_ISLNK(mode) and mode & GROUP_AND_OTHERS:
                return path
    return None
