"""The files of a PostgreSQL server, as far as they can be read from here.

A path that the server names may exist on this machine by chance: a folder counts only
when its control file has the server's identifier and its process the server's start.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from django.db import DatabaseError, connection
from django.utils.translation import gettext_noop

# The server's folder of the write-ahead log.
WAL: Final = "pg_wal"
# The process writes its start a little before the server counts as started.
START_SECONDS: Final = 60
# Parts of memory files have their stems in a column, whose former values stay a while
# as files are written; statistics have the most frequent stems.
_OF_STEMS: Final = (
    "WITH holders AS (SELECT oid, reltoastrelid FROM pg_class WHERE oid IN"
    " ('journal_lexemes'::regclass, 'memory_chunks_tsv'::regclass,"
    " 'memory_chunks'::regclass, 'pg_statistic'::regclass))"
    " SELECT pg_relation_filepath(oid) FROM holders UNION ALL"
    " SELECT pg_relation_filepath(reltoastrelid) FROM holders WHERE reltoastrelid <> 0"
)
UNREADABLE: Final = gettext_noop(
    "No file of the database server was searched: its data folder cannot be read from"
    " here, or the folder of that path is another server's. That rewritten tables hold"
    " nothing more rests on VACUUM FULL."
)
SERVER_LOG: Final = gettext_noop(
    "The database server's own log was not searched: it goes to {destination}. It holds"
    " statements as far as log_statement, log_min_duration_statement and"
    " log_min_error_statement let it."
)
OTHER_DATABASES: Final = gettext_noop(
    "Folders of other databases of this server that were not searched: {count}."
    " Their owners have to erase the person there."
)


def setting(name: str) -> str:
    """Return a setting of the server, empty when it is unknown or not allowed."""
    try:
        return str(scalar("SELECT current_setting(%s, true)", [name]) or "")
    except DatabaseError:
        return ""


def scalar(sql: str, params: list[Any] | None = None) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetchone()[0]


def folder() -> Path | None:
    """Return the server's data folder, None when it is not readable from here."""
    name = setting("data_directory")
    path = Path(name) if name else None
    try:
        return path if path and _is_ours(path) else None
    except (OSError, ValueError, IndexError, struct.error, DatabaseError):
        return None


def _is_ours(path: Path) -> bool:
    """Whether a data folder is the one of the server that we are connected to."""
    control = (path / "global" / "pg_control").read_bytes()
    (identifier,) = struct.unpack("=Q", control[:8])
    own = int(scalar("SELECT system_identifier FROM pg_control_system()"))
    # The server gives it as a signed number.
    if identifier != own % (1 << 64):
        return False
    started = int((path / "postmaster.pid").read_text().splitlines()[2])
    server = scalar("SELECT extract(epoch FROM pg_postmaster_start_time())::bigint")
    return abs(int(server) - started) <= START_SECONDS


def _own_number() -> str:
    """Return the oid of this database, the name of its folders."""
    sql = "SELECT oid::text FROM pg_database WHERE datname = current_database()"
    return str(scalar(sql))


def of_stems() -> Callable[[Path], bool]:
    """Return whether a file belongs to what holds stems of the words of texts.

    A relation's file is named by its number in the folder of its database, the further
    ones with a point and a number.
    """
    with connection.cursor() as cursor:
        cursor.execute(_OF_STEMS)
        paths = [Path(path) for (path,) in cursor.fetchall()]
    numbers = {(path.parent.name, path.name) for path in paths}
    return lambda path: (path.parent.name, path.name.partition(".")[0]) in numbers


def roots() -> list[Path]:
    """Return the server's folders to search, if readable from here.

    Tablespaces are links in the data folder, which ``os.walk`` does not follow.
    """
    top = folder()
    if top is None:
        return []
    number = _own_number()
    spaces = [path.resolve() for path in top.glob(f"pg_tblspc/*/PG_*/{number}")]
    log = _log_folder(top)
    return [top, *spaces, *([log] if log and not log.is_relative_to(top) else [])]


def _log_folder(top: Path) -> Path | None:
    """Return the folder of the server's own log; None when it cannot be read."""
    if setting("logging_collector") != "on":
        return None
    path = top / (setting("log_directory") or "log")
    try:
        return path if any(True for _ in path.iterdir()) else None
    except OSError:
        return None


def other_databases() -> Callable[[Path], bool]:
    """Return a predicate for the files of other databases on the same server.

    Their owners have to erase the person there.
    """
    top = folder()
    base, number = (top / "base" if top else None), _own_number()

    def is_other(path: Path) -> bool:
        if base is None or not path.is_relative_to(base):
            return False
        place = path.relative_to(base).parts[0]
        return place.isdigit() and place != number

    return is_other


def not_searched() -> list[str]:
    """Return the report's sentences on files of the server that are not searched."""
    top = folder()
    if top is None:
        return [UNREADABLE]
    sentences = []
    number = _own_number()
    database_folders = [p for p in (top / "base").iterdir() if p.name.isdigit()]
    count = sum(path.name != number for path in database_folders)
    if count:
        sentences.append(OTHER_DATABASES.format(count=count))
    if _log_folder(top) is None:
        collects = setting("logging_collector") == "on"
        place = "log_directory" if collects else setting("log_destination") or "stderr"
        sentences.append(SERVER_LOG.format(destination=place))
    return sentences
