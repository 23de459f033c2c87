"""A disk in memory that can be full: mounting one takes root."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import pytest

from tests import waiting

LARGE_BYTES: Final = 2**30
# A page or two may be taken between a look and the change.
ROOM_BYTES: Final = 2**18


class SmallDisk:
    """A tmpfs in a folder of its own; where none may be mounted the test is skipped."""

    def __init__(self) -> None:
        # Not in pytest's folder, which each run closes to other accounts: the server's
        # is one.
        self.folder = folder = Path(tempfile.mkdtemp(prefix="crewship-disk-"))
        options = ["-t", "tmpfs", "-o", f"size={LARGE_BYTES}", "tmpfs", str(folder)]
        if os.geteuid() != 0 or not _run("mount", *options):
            folder.rmdir()
            pytest.skip("a small disk cannot be mounted here: that takes root")

    def fill(self) -> None:
        """Leave hardly any room, while others may be writing."""
        waiting.until(lambda: self._resize(self._used() + ROOM_BYTES))

    def _used(self) -> int:
        state = os.statvfs(self.folder)
        return (state.f_blocks - state.f_bfree) * state.f_frsize

    def free(self) -> None:
        assert self._resize(LARGE_BYTES)

    def _resize(self, size: int) -> bool:
        return _run("mount", "-o", f"remount,size={size}", str(self.folder))

    def unmount(self) -> None:
        assert _run("umount", "--lazy", str(self.folder))
        self.folder.rmdir()


def _run(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
