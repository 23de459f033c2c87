"""The data folder: is it usable, and which other accounts can read it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from django.conf import settings

from memory.installation import key_files

DATABASE_SUFFIXES: Final = ("", "-wal", "-shm", "-journal")


def unusable(path: Path, reason: str) -> SystemExit:
    """Return the one-line message with which a command exits."""
    return SystemExit(
        f"The data folder {path} cannot be used: {reason}. "
        "Mend it, or set CREWSHIP_DATA_DIR to a folder that this account may write to."
    )


def prepared(folder: Path) -> Path:
    """Return the data folder, made if missing, or exit with one line."""
    folder = folder.absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = folder.resolve()
        (folder / "keys").mkdir(exist_ok=True, mode=0o700)
    except FileExistsError:
        raise unusable(folder, "something that is no folder is in its place") from None
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or "its path leads in a circle"
        raise unusable(folder, reason) from None
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise unusable(folder, "it cannot be written to")
    return folder


def _database_files() -> Iterator[Path]:
    """Return the files of the SQLite database, inside or outside of the folder."""
    config = settings.DATABASES["default"]
    if str(config["ENGINE"]).endswith("sqlite3"):
        name = str(config["NAME"])
        yield from (Path(f"{name}{end}") for end in DATABASE_SUFFIXES)


def _owner_fault(folder: Path) -> str | None:
    owner = folder.stat().st_uid
    if owner == os.geteuid():
        return None
    return (
        f"The data folder {folder} belongs to another account ({owner}), which can read"
        f" it: chown it to account {os.geteuid()}, or set CREWSHIP_DATA_DIR."
    )


def make_private() -> str | None:
    """Remove other accounts' permissions; return a one-line reason when that fails."""
    folder = Path(settings.DATA_DIR)
    if fault := _owner_fault(folder):
        return fault
    exposed_paths = key_files.tighten_folder(folder) or key_files.tighten(
        _database_files()
    )
    if exposed_paths is None:
        return None
    return (
        f"Others can still read {exposed_paths}, and this account may not change that:"
        f" chown it to account {os.geteuid()} or chmod go= it; the data folder"
        " (CREWSHIP_DATA_DIR) has to be private."
    )


def exposed() -> str | None:
    """Return a sentence that names what other accounts can read, else None."""
    folder = Path(settings.DATA_DIR)
    if fault := _owner_fault(folder):
        return fault
    exposed_paths = key_files.readable_by_others(folder)
    if exposed_paths is None:
        return None
    return f"Other accounts have rights on {exposed_paths}."
