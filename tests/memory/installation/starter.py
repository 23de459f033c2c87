"""A process that asks which installation it is, and dies at a step; run by the tests.

``python -m tests.memory.installation.starter [STEP]`` prints the id, the problem and a
digest of each key; with a STEP it is killed there.
"""

from __future__ import annotations

import json
import os
import signal
import sys

import django


def main() -> None:
    """Ask, and die as told."""
    django.setup()
    from memory.installation import folders, keys
    from memory.installation import identity as installation

    deadly = sys.argv[1] if len(sys.argv) > 1 else ""

    def step(name: str) -> None:
        if name == deadly:
            os.kill(os.getpid(), signal.SIGKILL)

    folders.step = step
    problem = installation.problem()
    report = {
        "problem": problem,
        "id": "" if problem else installation.installation_id(),
        "keys": [keys.value(key) for key in keys.KEYS],
    }
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main()
