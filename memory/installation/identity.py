"""The installation's id and keys, and whether the data folder belongs to it.

The database holds the id and a fingerprint of each key; the folders ``keys``, ``files``
and ``blobs`` carry the id in a file. While they disagree nothing is written: with a
foreign folder memory files would look removed, and a foreign key would break the chain
for good. Where files and keys are in the database, ``keys`` alone carries the id. Keys
are created at a true first start only, never while data depends on one.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from django.conf import settings
from django.db import DatabaseError

from memory.installation import bodies, folders, keys, restore_mark
from memory.installation.keys import BY_NAME
from memory.models import Installation
from memory.rules import errors

# How long a check of the keys is valid; the folders are checked every time.
CHECK_SECONDS = 3.0


class NotReady(errors.Unavailable):
    """The data folder or a key is not this installation's; ``reason`` says which."""

    code = "installation_mismatch"
    sentence = "{reason}"


@dataclass(slots=True)
class _State:
    """The result of this process's last check."""

    installation_id: str = ""
    keys_problem: str | None = None
    bodies_problem: str | None = None
    checked_at: float | None = None
    folders: dict[str, tuple[object, ...]] = field(default_factory=dict)


_state = _State()
_lock = threading.RLock()


def forget() -> None:
    """Forget the last check; the next call checks again."""
    global _state
    with _lock:
        _state = _State()


def _refresh() -> None:
    _state.keys_problem = restore_mark.problem()
    if _state.keys_problem is not None:
        return
    row = Installation.objects.first()
    if row is None:
        _state.keys_problem = folders.establish()
        row = Installation.objects.first()
    if row is not None:
        _state.installation_id = row.installation_id
        _state.bodies_problem = bodies.problem(row.bodies)
        folders.join(row.installation_id)
        keys.load_missing()
        _state.keys_problem = keys.mismatch(row.installation_id)
        if _state.keys_problem is not None:
            # When the whole folder is foreign, that is the message to give.
            folder_fault = folders.fault("keys", row.installation_id)
            _state.keys_problem = folder_fault or _state.keys_problem


def _is_fresh() -> bool:
    at = _state.checked_at
    return at is not None and 0 <= time.monotonic() - at < CHECK_SECONDS


def keys_problem() -> str | None:
    """Return what is wrong with the keys, None when they are those on record.

    Errors of the database, and missing tables, are not problems of the keys.
    """
    if _is_fresh():
        return _state.keys_problem
    # While another thread checks, the previous answer is used.
    if not _lock.acquire(blocking=_state.checked_at is None):
        return _state.keys_problem
    try:
        if not _is_fresh():
            _refresh()
            _state.checked_at = time.monotonic()
    except OSError as error:
        # A full disk says nothing about keys that were checked before.
        if error.errno not in errors.NO_ROOM or _state.checked_at is None:
            reason = f"The folder keys cannot be read or written: {error.strerror}."
            _state.keys_problem = reason
    except DatabaseError:
        pass
    finally:
        _lock.release()
    return _state.keys_problem


def folder_problem() -> str | None:
    """Return what is wrong with the data folder; costs a few ``stat`` calls."""
    if not _state.installation_id:
        return None
    for name in folders.names():
        try:
            signature = folders.signature(f"{settings.DATA_DIR}/{name}")
        except OSError:
            signature = ()
        if signature and _state.folders.get(name) == signature:
            continue
        try:
            fault = folders.fault(name, _state.installation_id)
        except DatabaseError:
            continue
        if fault is not None:
            _state.folders.pop(name, None)
            return fault
        _state.folders[name] = signature
    return None


def problem() -> str | None:
    """Return why nothing may be written, None when keys and folders are right."""
    keys_reason = keys_problem()
    return _state.bodies_problem or keys_reason or folder_problem()


def require_bodies() -> None:
    """Raise NotReady while the bytes of files are elsewhere than the settings say."""
    keys_problem()
    if _state.bodies_problem is not None:
        raise NotReady(reason=_state.bodies_problem)


def require() -> None:
    """Raise NotReady while keys or data folder are not this installation's."""
    reason = problem()
    if reason is not None:
        raise NotReady(reason=reason)


def key(name: str) -> bytes:
    """Return a key; raise NotReady when it is not the one on record."""
    reason = keys_problem()
    if reason is not None:
        raise NotReady(reason=reason)
    return keys.value(BY_NAME[name]).encode()


def installation_id() -> str:
    """Return the id that the folders must carry; raise NotReady when there is none."""
    reason = keys_problem()
    if not _state.installation_id:
        raise NotReady(reason=reason or "The database has no tables yet: migrate it.")
    return _state.installation_id
