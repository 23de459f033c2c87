"""A process that carries out a case and is killed at a failpoint, for the kill tests.

``python -m tests.gdpr.crasher DATA_DIR WORKSPACE CASE FAILPOINT TIMES`` kills itself at
the failpoint's TIMES-th call; with no failpoint it runs to the end.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from pathlib import Path

import django


def main() -> None:
    """Run the case and die at the given failpoint."""
    django.setup()
    from django.conf import settings

    from gdpr import erasure
    from gdpr.erasure import failpoints

    folder, workspace_id, case_id, failpoint, times = sys.argv[1:]
    settings.DATA_DIR = Path(folder)
    steps: Counter[str] = Counter()

    def kill_at(name: str) -> None:
        steps[name] += 1
        if name == failpoint and steps[name] == int(times):
            os.kill(os.getpid(), signal.SIGKILL)

    failpoints.step = kill_at
    erasure.run(workspace_id, case_id)
    print("ended", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
