"""The folder in which the processes of a machine keep their figures.

It lies in memory where the system has a file system for that: the files are mapped,
and a mapped file on a full disk ends the process that writes to it. Nothing of
Prometheus is imported here: its client looks for the folder when it is imported.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import stat
import tempfile
from pathlib import Path
from typing import Final

IN_MEMORY: Final = Path("/dev/shm")  # noqa: S108  (its owner and mode are checked)
# Below this nothing is mapped: each process then counts for itself.
LEAST_BYTES: Final = 16 * 1024**2
HOME: Final = "data_folder"


class _ProcessFolder:
    """The folder that the settings chose."""

    path: Path | None = None


_process_folder = _ProcessFolder()


def default(data_folder: Path) -> Path:
    """Return the folder of an installation's processes on this machine.

    Containers that share a file system in memory have different host names.
    """
    home = f"{data_folder}\n{socket.gethostname()}"
    digest = hashlib.sha256(home.encode()).hexdigest()[:16]
    parent = IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else Path(tempfile.gettempdir())
    return parent / f"{_prefix()}{digest}"


def _prefix() -> str:
    return f"crewship-metrics-{os.geteuid()}-"


def prepared(folder: Path, data_folder: Path) -> Path | None:
    """Choose the folder, made if missing; None where it cannot be used safely."""
    _process_folder.path = None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
        is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
        if not is_own or shutil.disk_usage(folder).free < LEAST_BYTES:
            return None
        folder.chmod(0o700)
        (folder / HOME).write_text(str(data_folder), encoding="utf-8")
    except OSError:
        return None
    _process_folder.path = folder
    return folder


def current() -> Path | None:
    """Return the folder of this process, None where each process counts for itself."""
    path = _process_folder.path
    return path if path is not None and path.is_dir() else None


def remove_forsaken(folder: Path) -> None:
    """Remove this account's folders whose data folder is gone."""
    for other in folder.parent.glob(f"{_prefix()}*"):
        # In a place where anybody may write, a name proves no owner.
        is_own = other.lstat().st_uid == os.geteuid()
        home = other / HOME
        if not is_own or other == folder or not home.is_file():
            continue
        if not Path(home.read_text(encoding="utf-8")).exists():
            shutil.rmtree(other, ignore_errors=True)
