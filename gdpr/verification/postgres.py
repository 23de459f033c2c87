"""Removing deleted text from PostgreSQL's files, and reporting what cannot be removed.

Dead rows, the word index, long values and the planner's statistics all keep words after
DELETE and plain VACUUM. VACUUM FULL rewrites a table under an exclusive lock, so it is
tried repeatedly with a short lock timeout.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final

from django.db import OperationalError, ProgrammingError, connection
from django.utils.translation import gettext_noop

from gdpr.verification import write_ahead_log
from gdpr.verification.report import Beat, no_beat
from gdpr.verification.server_files import scalar

TRIES: Final = 30
WAIT: Final = 0.5
# Times WAIT: how long to wait for transactions that began earlier.
MAX_WAITS: Final = 240
PATIENCE: Final = "500ms"
OPEN_TRANSACTION: Final = gettext_noop(
    "A transaction of this server that began before the erasure is still open, so that"
    " rewritten tables keep rows it may see. End it and run the case again."
)
SAMPLES: Final = gettext_noop(
    "Values the planner had sampled (pg_statistic) leave its file with the next vacuum"
    " of the system catalogue, which only a superuser may force."
)
ELSEWHERE: Final = gettext_noop(
    "Replicas, archived segments of the write-ahead log, base backups and other"
    " databases of this server are out of reach; they end with their own retention."
)
REWRITTEN: Final = gettext_noop("VACUUM FULL and ANALYZE of {table}")
LOCKED: Final = gettext_noop("{table} could not be rewritten: somebody holds it.")


def _run(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def _try(sql: str, params: list[str] | None = None) -> bool:
    """Run a statement that needs privileges; return whether it was allowed."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
    except (ProgrammingError, OperationalError):
        return False
    return True


# The planner stores samples of an index's expressions under the index's own oid, and
# of a table that is split also under each part's.
_UNSAMPLE: Final = (
    "WITH tables AS (SELECT %s::regclass::oid AS oid"
    " UNION SELECT inhrelid FROM pg_inherits WHERE inhparent = %s::regclass),"
    " indexes AS (SELECT indexrelid FROM pg_index WHERE indrelid IN (TABLE tables))"
    " DELETE FROM pg_statistic"
    " WHERE starelid IN (TABLE tables) OR starelid IN (TABLE indexes)"
)


def rewrite(table: str) -> bool:
    """Rewrite a table without its dead rows; False when the lock was never free."""
    name = connection.ops.quote_name(table)
    for attempt in range(TRIES):
        _run(f"SET lock_timeout = '{PATIENCE}'")
        try:
            _run(f"VACUUM FULL {name}")
        except OperationalError:
            if attempt + 1 < TRIES:
                time.sleep(WAIT)
        else:
            # ANALYZE keeps the old samples of an empty table.
            _try(_UNSAMPLE, [name, name])
            _run(f"ANALYZE {name}")
            return True
        finally:
            _run("SET lock_timeout = DEFAULT")
    return False


# A rewrite copies dead rows that an earlier transaction may still see, whatever tables
# it reads. A plain autovacuum sees none; an autovacuum ANALYZE
# does. The rewrite takes a snapshot of its own, which reaches back to the oldest
# writing transaction in any database of the server.
_EARLIER: Final = """
    SELECT count(*) FROM (
        SELECT unnest(ARRAY[backend_xid, backend_xmin]) AS xid
        FROM pg_stat_activity
        WHERE pid <> pg_backend_pid()
          AND (datname = current_database() OR datname IS NULL)
          AND (query NOT LIKE 'autovacuum: VACUUM %%'
               OR query LIKE 'autovacuum: VACUUM ANALYZE %%')
        UNION ALL
        SELECT unnest(ARRAY[xmin, catalog_xmin]) FROM pg_replication_slots
        UNION ALL
        SELECT transaction FROM pg_prepared_xacts
        WHERE database = current_database()
        UNION ALL
        SELECT pg_snapshot_xmin(pg_current_snapshot())::xid
    ) others
    WHERE xid IS NOT NULL AND age(xid) >= age(%s::xid)
"""


def wait_for_older_transactions(beat: Beat = no_beat) -> bool:
    """Wait for transactions that began before this call; False when one stays open.

    Then deleted rows are dead for everybody, and a rewrite leaves them out.
    """
    # The id of a new transaction that ends at once.
    last = scalar("SELECT (pg_current_xact_id()::xid)::text")
    for attempt in range(MAX_WAITS):
        if not scalar(_EARLIER, [last]):
            return True
        beat()
        if attempt + 1 < MAX_WAITS:
            time.sleep(WAIT)
    return False


def _statistics() -> str:
    """Rewrite the planner's samples if allowed; return what remains, or empty."""
    if _try("VACUUM FULL pg_statistic"):
        return ""
    return SAMPLES


def clean(
    tables: Iterable[str], beat: Beat = no_beat
) -> tuple[list[str], list[str], list[str]]:
    """Rewrite tables; return the methods used, what remains, and what is to do."""
    methods: list[str] = []
    todo = [] if wait_for_older_transactions(beat) else [OPEN_TRANSACTION]
    for table in sorted(set(tables)):
        if rewrite(table):
            methods.append(REWRITTEN.format(table=table))
        else:
            todo.append(LOCKED.format(table=table))
        beat()
    if not todo and not wait_for_older_transactions(beat):
        todo.append(OPEN_TRANSACTION)
    rotated, not_rotated = write_ahead_log.rotate(beat)
    samples = _statistics()
    remains = [*([samples] if samples else []), *not_rotated, ELSEWHERE]
    return [*methods, *rotated], remains, todo
