"""A process that repeats erasures and is killed at a failpoint, for the kill tests.

``python -m tests.gdpr.restorer DATA_DIR FAILPOINT`` kills itself at the failpoint; with
no failpoint it runs to the end and prints what ``up`` prints.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import django


def main() -> None:
    """Start as ``up`` does, and die at the given failpoint."""
    django.setup()
    from django.conf import settings

    from gdpr.erasure import catch_up, failpoints

    folder, failpoint = sys.argv[1:]
    settings.DATA_DIR = Path(folder)

    def kill_at(name: str) -> None:
        if name == failpoint:
            os.kill(os.getpid(), signal.SIGKILL)

    failpoints.step = kill_at
    catch_up.at_start(lambda line: print(line, flush=True))  # noqa: T201


if __name__ == "__main__":
    main()
