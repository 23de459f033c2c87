"""Connection options and PRAGMAs of SQLite.

IMMEDIATE: a transaction that reads and then writes would otherwise die with "database
is locked" as soon as a second writer exists. Each thread has a connection: a file
mapped, or much of it kept, by every one of them would fill the memory, and the system
keeps it once anyway. The log is copied into the database every 4,000 pages and not
every 1,000: an append writes 17, and the one that copies waits for the disk twice more.
"""

from __future__ import annotations

from typing import Any, Final

OPTIONS: Final[dict[str, Any]] = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": (
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; "
        "PRAGMA secure_delete=ON; PRAGMA foreign_keys=ON; "
        "PRAGMA mmap_size=0; PRAGMA cache_size=-8000; PRAGMA wal_autocheckpoint=4000; "
        "PRAGMA temp_store=MEMORY; PRAGMA journal_size_limit=67108864;"
    ),
}
