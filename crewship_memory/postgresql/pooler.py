"""Whether a pooler stands before PostgreSQL, and whether it keeps sessions.

One in transaction mode lends a session to whoever comes next between two transactions:
a lock that is held across them stays behind in a session of somebody else.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from enum import Enum
from typing import Any, Final

import psycopg

# Another client may be quicker to get the session that was just given back.
TRIES: Final = 5
_PID: Final = "SELECT pg_backend_pid()"
Connect = Callable[[], psycopg.Connection[Any]]


class Pooler(Enum):
    """What was seen, as a sentence."""

    NONE = "No pooler is between."
    KEEPS = "A pooler is between, and was not seen to share a session."
    SHARES = (
        "A pooler between gives a session to others after each transaction: the locks"
        " of memory files do not hold."
    )


def detect(connect: Connect) -> Pooler:
    """Open two connections and compare the sessions that they get."""
    with ExitStack() as stack:
        first, second = (stack.enter_context(connect()) for _ in range(2))
        first.autocommit = second.autocommit = True
        # The number in a greeting of PgBouncer is its own.
        if _pid(first) == first.info.backend_pid:
            return Pooler.NONE
        if any(_pid(first) == _pid(second) for _ in range(TRIES)):
            return Pooler.SHARES
        return Pooler.KEEPS


def _pid(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute(_PID).fetchone()
    return int(row[0]) if row else 0
