"""A process that appends until it is told to stop, or killed.

Usage: python -m tests.memory.appender KEY COUNT [BATCH]. Every acknowledged entry is
one line ``seq id`` on standard output, written after the append returned. With a BATCH
of 0, THREADS threads append single entries side by side.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from memory.rules.permissions import Actor


THREADS = 3


def _append(number: int, actor: Actor) -> None:
    from memory.journal import append as journal
    from memory.rules.entries import NewEntry

    summary = f"{os.getpid()} {number}"
    new = NewEntry(entry_type="peer.escalation", summary=summary)
    row = journal.append(new, by=actor)
    # One call, which the lines of other threads cannot tear apart.
    os.write(sys.stdout.fileno(), f"{row.seq} {row.id}\n".encode())


def main(token: str, count: int, batch: int) -> None:
    """Append ``count`` times, ``batch`` entries each."""
    from memory.accounts import api_keys
    from memory.journal import append as journal
    from memory.rules.entries import NewEntry

    actor = api_keys.authenticate(token)
    if actor is None:
        raise SystemExit("bad key")
    if not batch:
        with ThreadPoolExecutor(THREADS) as pool:
            for _ in pool.map(partial(_append, actor=actor), range(count * THREADS)):
                pass
        return
    for number in range(count):
        news = [
            NewEntry(
                entry_type="peer.escalation", summary=f"{os.getpid()} {number} {i}"
            )
            for i in range(batch)
        ]
        for _, row in journal.append_batch(news, by=actor).accepted:
            sys.stdout.write(f"{row.seq} {row.id}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    django.setup()
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1)
