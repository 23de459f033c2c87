"""Repeating erasures without being asked: when a process starts, and in every sweep.

One process at a time does it, by a lock file beside the erasures files, or by a lock in
the database where machines share no disk. A process that dies leaves what it did not
finish to the next one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import structlog
from django.conf import settings
from filelock import FileLock, Timeout

from gdpr.erasure import readiness, replay, tombstones
from gdpr.erasure.replay import Replayed
from memory.installation import bodies
from memory.installation import identity as installation
from memory.rules.errors import AppError
from memory.stored_files import trees
from memory.stored_files.store import Busy

LOCK: Final = "replay.lock"
# How long a command and a start wait for another process that replays: to its end.
FOREVER: Final = -1.0
# How long a sweep waits after a fault before the next try.
REST_SECONDS: Final = 30.0
Progress = Callable[[str], object]
log = structlog.get_logger(__name__)

# Case and number of runs of which this process left something: the next start tries
# them again.
_left: set[tuple[str, int]] = set()
_rests_until = 0.0


def summary(replays: Sequence[Replayed]) -> str:
    """Return what replays did, as a line for a terminal or a log."""
    people = len({replayed.subject_id for replayed in replays})
    erased = sum(replayed.erased for replayed in replays)
    redacted = sum(replayed.redacted for replayed in replays)
    remainder = sum(not replayed.is_done for replayed in replays)
    text = (
        f"Erasures carried out again after a restore: {people} people, {erased} rows"
        f" erased, {redacted} masked."
    )
    return (
        f"{text} Something is left of {remainder}: see gdpr_replay."
        if remainder
        else text
    )


@contextmanager
def locked(seconds: float) -> Iterator[None]:
    """Hold the lock by which one process at a time replays; raise Timeout or Busy."""
    if bodies.in_database():
        with trees.locks().locked(LOCK, seconds):
            yield
        return
    folder = Path(settings.DATA_DIR) / tombstones.FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with FileLock(folder / LOCK, timeout=seconds, mode=0o600):
        yield


def by_hand(watch: Progress, *, accept: bool) -> list[Replayed]:
    """Repeat what is missing, also what was left before; raise Damaged."""
    with locked(FOREVER):
        return replay.run(watch, accept=accept)


def at_start(watch: Progress) -> None:
    """Repeat what is missing before anything is served, and say how much it was."""
    if installation.problem() is not None:
        return
    readiness.forget()
    waiting_count = sum(gap.count for gap in readiness.gaps().values())
    if waiting_count:
        watch(f"Erasures after a restore: {waiting_count} are carried out again")
    for line in _repeat(FOREVER):
        watch(line)


def sweep() -> bool:
    """Repeat what came to be missing while this process runs; return whether any."""
    return bool(_repeat(0))


def _is_due() -> bool:
    if readiness.is_replaced() or installation.problem() is not None:
        return False
    gaps = readiness.gaps().values()
    waiting_count = sum(gap.count for gap in gaps)
    return waiting_count > len(_left) or any(gap.is_unmarked for gap in gaps)


def _repeat(seconds: float) -> list[str]:
    """Repeat what is due; return lines on it.

    A fault is no error of the caller: what waits is not served, and is tried again.
    """
    global _rests_until
    if time.monotonic() < _rests_until or not _is_due():
        return []
    try:
        with locked(seconds):
            return _report(replay.run(leave_out=_left))
    except (Busy, Timeout):
        return []
    except tombstones.Damaged as error:
        return [str(error)]
    except Exception as error:
        log.exception("erasures_not_replayed")
        _rests_until = time.monotonic() + REST_SECONDS
        reason = error.detail if isinstance(error, AppError) else type(error).__name__
        return [f"The erasures could not be carried out again: {reason}."]


def _report(replays: list[Replayed]) -> list[str]:
    if not replays:
        return []
    lines = [summary(replays)]
    for replayed in replays:
        if not replayed.is_done:
            _left.add((replayed.case_id, replayed.run))
        remainder = (*replayed.remaining, *replayed.todo)
        lines += [f"{replayed.case_id}: {line}" for line in remainder]
    log.warning("erasures_replayed", what=lines[0])
    return lines
