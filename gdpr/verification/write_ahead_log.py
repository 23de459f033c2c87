"""PostgreSQL's write-ahead log: rotated where allowed, searched where readable.

A checkpoint ends the need for old segments; the server then renames them for reuse,
with their old bytes, unless ``wal_recycle`` is off. Switching writes a segment to its
end with zeros, so that a rotation through all of them overwrites the old bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from django.db import DatabaseError, OperationalError, ProgrammingError, connection
from django.utils.translation import gettext_noop

from gdpr.verification import server_files
from gdpr.verification.report import Beat, no_beat
from gdpr.verification.server_files import WAL, scalar, setting

# More segments than these are not rewritten at once: it would cost the server more
# than waiting for it to reuse them.
MAX_SWITCHES: Final = 64
LEAST_SWITCHES: Final = 4
_NAME_DIGITS: Final = 24
ROTATED: Final = gettext_noop(
    "write-ahead log rotated by checkpoints and switches of segments: {count}"
)
NOT_ROTATED: Final = gettext_noop(
    "The write-ahead log could not be switched: the database user needs"
    " pg_checkpoint and pg_switch_wal. It holds earlier states of rows until the"
    " server overwrites or removes them."
)
SEARCHED: Final = gettext_noop(
    "segments of the write-ahead log searched, as they were at that moment: {count}"
)
HELD: Final = gettext_noop(
    "Segments of the write-ahead log that still hold strings of what was erased:"
    " {count} of {all}, because of {reasons}. The server overwrites or removes them"
    " later; an administrator does so with wal_recycle = off, a checkpoint and"
    " pg_switch_wal, and by releasing what keeps them."
)
NOT_READ: Final = gettext_noop(
    "The segments of the write-ahead log cannot be read from here: that they hold"
    " nothing of the person any more was not verified."
)


def _try(sql: str) -> bool:
    """Run a statement that needs privileges; return whether it was allowed."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql)
    except (ProgrammingError, OperationalError):
        return False
    return True


def files() -> list[Path]:
    """Return the segments, also those renamed for reuse; none when not readable."""
    top = server_files.folder()
    if top is None:
        return []
    try:
        paths = sorted((top / WAL).iterdir())
    except OSError:
        return []
    return [path for path in paths if _is_segment(path.name)]


def _is_segment(name: str) -> bool:
    try:
        return len(name) == _NAME_DIGITS and int(name, 16) >= 0
    except ValueError:
        return False


def _names() -> list[str]:
    """Return the names of the segments, asked of the server; empty if not allowed."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT name FROM pg_ls_waldir()")
            return [name for (name,) in cursor.fetchall() if _is_segment(name)]
    except DatabaseError:
        return [path.name for path in files()]


def _current() -> str:
    return str(scalar("SELECT pg_walfile_name(pg_current_wal_lsn())"))


def rotate(beat: Beat = no_beat) -> tuple[list[str], list[str]]:
    """Rotate the log through every segment, if allowed; return methods and remains."""
    if not _try("CHECKPOINT") or not _try("SELECT pg_switch_wal()"):
        return [], [NOT_ROTATED]
    # Old segments are renamed by a checkpoint, to names after the current one.
    _try("CHECKPOINT")
    last, count = max(_names(), default=""), 1
    limit = LEAST_SWITCHES if _is_followed() else MAX_SWITCHES
    while count < limit and (count < LEAST_SWITCHES or _current() <= last):
        # Without a record between, a switch does nothing.
        _try("SELECT pg_logical_emit_message(false, 'erasure', '')")
        if not _try("SELECT pg_switch_wal()"):
            return [], [NOT_ROTATED]
        count += 1
        beat()
    _try("CHECKPOINT")
    return [ROTATED.format(count=count)], []


def _is_followed() -> bool:
    """Whether an archive or a replica takes every segment that is switched."""
    followers = "SELECT count(*) FROM pg_replication_slots"
    return setting("archive_mode") not in ("", "off") or bool(scalar(followers))


def reasons() -> list[str]:
    """Return the settings and slots of the server that keep or reuse segments."""
    names = []
    if setting("wal_recycle") != "off":
        names.append("wal_recycle = on")
    if setting("wal_keep_size") not in ("", "0"):
        names.append(f"wal_keep_size = {setting('wal_keep_size')}")
    if setting("archive_mode") not in ("", "off"):
        names.append(f"archive_mode = {setting('archive_mode')}")
    try:
        slots = int(scalar("SELECT count(*) FROM pg_replication_slots"))
    except DatabaseError:
        slots = 0
    if slots:
        names.append(f"replication slots: {slots}")
    return names


def held(count: int, total: int) -> str:
    """Return the report's sentence on segments that hold strings of erased rows."""
    return HELD.format(
        count=count, all=total, reasons=", ".join(reasons()) or "their age"
    )
