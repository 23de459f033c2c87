"""Safe and atomic file I/O below one root: the only file I/O of the memory tiers.

Everything is opened relative to a directory handle, one segment at a time and never
through a link, so that nothing swapped between a check and an open can lead outside.
A write is a temporary sibling, fsync, an atomic rename, and fsync of the folder:
when it returns, the bytes are on the disk, and a reader sees the old or the new.
"""

from __future__ import annotations

import os
import secrets
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from memory.installation import key_files
from memory.rules import errors
from memory.stored_files.lock_files import LockFiles
from memory.stored_files.store import (
    READ_LIMIT,
    RawFile,
    RootLost,
    Stored,
    Unsafe,
    check_part,
    digest,
)

_OPEN_DIR: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TEMPORARY: Final = ".crewship-tmp-"
TEMPORARY_SECONDS: Final = 600


def _refusal(error: OSError, parts: Sequence[str]) -> errors.AppError:
    """Return the error for a failure: a full disk, or no plain file."""
    if error.errno in errors.NO_ROOM:
        return errors.StorageFull()
    return Unsafe(label="/".join(parts[-2:]))


class FileStore(LockFiles):
    """One folder tree. Paths are tuples of segments below its root.

    ``owner`` is the installation whose mark the root must carry. The mark is read
    through the handle that the path is opened with, so that a file counts as missing
    only in a tree that was ours at that moment.
    """

    def __init__(self, root: Path, locks: Path, owner: str = "") -> None:
        super().__init__(locks)
        self.root, self._owner = root, owner

    def check(self) -> None:
        """Raise RootLost unless the root is there and ours."""
        with self._folder((), make=False):
            return

    def _root(self, *, make: bool) -> int:
        if self._owner:
            try:
                handle = os.open(self.root, _OPEN_DIR)
            except OSError:
                raise RootLost(label=self.root.name) from None
            if key_files.mark_in(handle) == self._owner:
                return handle
            os.close(handle)
            raise RootLost(label=self.root.name)
        if make:
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.open(self.root, _OPEN_DIR)

    # ── Folders ──────────────────────────────────────────────────────────────
    @contextmanager
    def _folder(self, parts: Sequence[str], *, make: bool) -> Iterator[int]:
        """Yield a handle of a folder below the root, made on the way if asked."""
        for part in parts:
            check_part(part)
        handle = self._root(make=make)
        try:
            for part in parts:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, 0o700, dir_fd=handle)
                        # Otherwise a power cut could lose the new folder.
                        os.fsync(handle)
                below = os.open(part, _OPEN_DIR, dir_fd=handle)
                os.close(handle)
                handle = below
            yield handle
        finally:
            os.close(handle)

    def has_folder(self, parts: Sequence[str]) -> bool:
        """Whether a folder is there; raise RootLost unless the root is ours."""
        try:
            with self._folder(parts, make=False):
                return True
        except (FileNotFoundError, NotADirectoryError):
            return False

    # ── Reading ──────────────────────────────────────────────────────────────
    def read(self, parts: Sequence[str]) -> Stored | None:
        """Return a file's bytes, None when it is not there; raise Unsafe."""
        try:
            with self._folder(parts[:-1], make=False) as folder:
                return self._read(folder, parts[-1])
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _refusal(error, parts) from error

    def _read(self, folder: int, name: str) -> Stored:
        check_part(name)
        handle = os.open(name, _OPEN_FILE, dir_fd=folder)
        try:
            facts = os.fstat(handle)
            # A second name for the same bytes may lie outside the tree.
            if not stat.S_ISREG(facts.st_mode) or facts.st_nlink > 1:
                raise Unsafe(label=name)
            with os.fdopen(handle, "rb", closefd=False) as file:
                data = file.read(READ_LIMIT + 1)
        finally:
            # Of a folder ``fdopen`` raises, and would leave the handle open.
            os.close(handle)
        if len(data) > READ_LIMIT:
            raise errors.TooLarge(what=name, limit=READ_LIMIT, size=facts.st_size)
        return Stored(data, digest(data))

    # ── Writing ──────────────────────────────────────────────────────────────
    def write(self, parts: Sequence[str], data: bytes) -> str:
        """Write a file durably and atomically; return the SHA-256 of its bytes."""
        try:
            with self._folder(parts[:-1], make=True) as folder:
                self._refuse_odd(folder, parts[-1])
                self._replace(folder, parts[-1], data)
        except OSError as error:
            raise _refusal(error, parts) from error
        return digest(data)

    def _refuse_odd(self, folder: int, name: str) -> None:
        """Refuse a link, a device or a second name where the file should be."""
        check_part(name)
        try:
            facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return
        if not stat.S_ISREG(facts.st_mode) or facts.st_nlink > 1:
            raise Unsafe(label=name)

    def _replace(self, folder: int, name: str, data: bytes) -> None:
        temporary = f"{_TEMPORARY}{secrets.token_hex(8)}"
        handle = os.open(temporary, _CREATE, 0o600, dir_fd=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
            raise
        os.fsync(folder)

    def remove(self, parts: Sequence[str]) -> bool:
        """Remove a file; return whether there was one."""
        try:
            with self._folder(parts[:-1], make=False) as folder:
                self._refuse_odd(folder, parts[-1])
                os.unlink(parts[-1], dir_fd=folder)
                os.fsync(folder)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _refusal(error, parts) from error
        return True

    def touch(self, parts: Sequence[str]) -> None:
        """Set a file's time to now, so that it does not count as abandoned."""
        with self._folder(parts[:-1], make=False) as folder:
            os.utime(parts[-1], dir_fd=folder, follow_symlinks=False)

    def age(self, parts: Sequence[str]) -> float:
        """Return the seconds since a file was written or touched, 0 for none."""
        try:
            with self._folder(parts[:-1], make=False) as folder:
                facts = os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
        except OSError:
            return 0.0
        return time.time() - facts.st_mtime

    # ── Listing ──────────────────────────────────────────────────────────────
    def walk(self, parts: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
        """Yield every plain file below a folder, links and hidden names left out."""
        try:
            with self._folder(parts, make=False) as folder:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
                names = [
                    (entry.name, entry.is_dir(follow_symlinks=False))
                    for entry in entries
                    if not entry.name.startswith(".") and not entry.is_symlink()
                ]
        except (FileNotFoundError, NotADirectoryError):
            return
        for name, is_folder in names:
            if is_folder:
                yield from self.walk((*parts, name))
            else:
                yield (*parts, name)

    def raw(self, parts: Sequence[str] = ()) -> Iterator[RawFile]:
        """Yield every plain file below a folder, hidden and temporary ones as well.

        The mark of the installation is no file of the tree.
        """
        self.check()
        for folder, _, names in os.walk(self.root.joinpath(*parts), followlinks=False):
            for name in sorted(names):
                path = Path(folder) / name
                below = path.relative_to(self.root).parts
                if below == (key_files.MARK,):
                    continue
                if path.is_file() and not path.is_symlink():
                    yield RawFile(
                        self.root.name, below, path.read_bytes, partial(_unlink, path)
                    )

    def tidy(self) -> int:
        """Remove temporary files that a crash left behind; return how many.

        Recent ones may belong to a running write.
        """
        self.check()
        count, edge = 0, time.time() - TEMPORARY_SECONDS
        for folder, _, names in os.walk(self.root, followlinks=False):
            for name in names:
                path = Path(folder) / name
                if not name.startswith(_TEMPORARY):
                    continue
                with suppress(OSError):
                    if path.lstat().st_mtime < edge:
                        path.unlink()
                        count += 1
        return count


def _unlink(path: Path) -> bool:
    with suppress(FileNotFoundError):
        path.unlink()
        return True
    return False
