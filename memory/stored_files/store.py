"""What a tree of files can do, whatever keeps its bytes.

Paths are tuples of segments; the first one names the workspace. A write is atomic and
durable when it returns: a reader sees the old bytes or the new.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from memory.rules import errors
from memory.rules.translation import gettext_noop

LOCK_SECONDS: Final = 10.0
READ_LIMIT: Final = 4 * 1024 * 1024


class Unsafe(errors.AppError):
    """A path is a link, a device, or has a second name."""

    code, status, title = "unsafe_path", 409, gettext_noop("Not a plain file")
    sentence = gettext_noop("{label} is not a plain file here, and was not touched.")


class Busy(errors.AppError):
    """Another process has held a file's lock for too long."""

    code, status, title = "file_busy", 503, gettext_noop("Busy")
    sentence = gettext_noop("{label} is being written by somebody else; try again.")


class RootLost(errors.Unavailable):
    """The folder tree is missing or is another installation's."""

    code = "data_folder_lost"
    sentence = gettext_noop(
        "The folder {label} of the data folder is gone or belongs to another"
        " installation; nothing was changed."
    )


@dataclass(frozen=True, slots=True)
class Stored:
    """A file's bytes and their SHA-256."""

    data: bytes
    sha256: str


@dataclass(frozen=True, slots=True)
class RawFile:
    """A file as it is there, whatever its name and size.

    ``read`` raises OSError where the bytes are gone; ``remove`` says whether there was
    such a file.
    """

    tree: str
    parts: tuple[str, ...]
    read: Callable[[], bytes]
    remove: Callable[[], bool]

    @property
    def path(self) -> str:
        """The path below the tree, as text."""
        return "/".join(self.parts)


def digest(data: bytes) -> str:
    """Return the SHA-256 of bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def check_part(part: str) -> None:
    """Raise Unsafe for a segment that could lead elsewhere."""
    if part in ("", ".", "..") or "/" in part or "\\" in part or "\x00" in part:
        raise Unsafe(label="The path")


class Locks(Protocol):
    """Locks by name, across threads and processes."""

    def locked(
        self, name: str, seconds: float = LOCK_SECONDS
    ) -> AbstractContextManager[None]:
        """Hold a lock; raise Busy after that long, never for negative seconds."""

    def forget_lock(self, name: str) -> None:
        """Remove what a lock leaves behind: even a hash of a name can be guessed."""


class Store(Locks, Protocol):
    """One tree of files."""

    def check(self) -> None:
        """Raise RootLost where the tree is not there or not this installation's."""

    def has_folder(self, parts: Sequence[str]) -> bool:
        """Whether a folder is there; a workspace's outlives its last file."""

    def read(self, parts: Sequence[str]) -> Stored | None:
        """Return a file's bytes, None when it is not there; raise TooLarge."""

    def write(self, parts: Sequence[str], data: bytes) -> str:
        """Write a file; return the SHA-256 of its bytes."""

    def remove(self, parts: Sequence[str]) -> bool:
        """Remove a file; return whether there was one."""

    def touch(self, parts: Sequence[str]) -> None:
        """Set a file's time to now, so that it does not count as abandoned."""

    def age(self, parts: Sequence[str]) -> float:
        """Return the seconds since a file was written or touched, 0 for none."""

    def walk(self, parts: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
        """Yield every file below a folder by name, hidden names left out."""

    def raw(self, parts: Sequence[str] = ()) -> Iterator[RawFile]:
        """Yield every file below a folder, hidden and half-written ones as well."""

    def tidy(self) -> int:
        """Remove what a crash left half-written; return how many."""
