"""Append entries while something else is measured; run as a module.

Appends one entry after the other until its standard input is closed, then prints how
many there were and how long each took, as JSON.
"""

from __future__ import annotations

import json
import sys
import threading
from datetime import UTC, datetime
from typing import Final

import django

from crewship_memory.bench.spread import spread, timed

# Appends that took longer are listed in the report, with the time of day.
SLOW_MS: Final = 300


def main(token: str) -> None:
    """Append until standard input is closed, then print the latencies as JSON."""
    from memory.accounts import api_keys  # noqa: PLC0415
    from memory.journal import append as journal  # noqa: PLC0415
    from memory.rules.entries import NewEntry  # noqa: PLC0415

    actor = api_keys.authenticate(token)
    if actor is None:
        raise SystemExit("bad key")
    over = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=wait, daemon=True).start()
    latencies, slow = list[float](), []
    while not over.wait(0.005):
        summary = f"Meanwhile {len(latencies)}"
        with timed(latencies):
            new = NewEntry(entry_type="peer.escalation", summary=summary)
            journal.append(new, by=actor)
        if latencies[-1] > SLOW_MS:
            slow.append([datetime.now(UTC).strftime("%H:%M:%S"), round(latencies[-1])])
    report = {"appends": len(latencies), "ms": spread(latencies), "slow": slow[-20:]}
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    django.setup()
    main(sys.argv[1])
