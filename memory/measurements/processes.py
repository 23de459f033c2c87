"""The figures of every process of this machine, added up.

Each process writes to files of its own; the kernel keeps them when it is killed. What
the dead counted is added to files of number 0, so that no sum ever falls, and what
they had in memory is dropped.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout
from prometheus_client.core import Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector

from memory.measurements import declared, folder
from memory.measurements.declared import Figure

# The pid that no process has: what dead processes counted.
DEAD: Final = 0
LIVE_GAUGE: Final = "gauge_live"
LOCK_SECONDS: Final = 2.0
_START_FIELD: Final = 19
# What this process registered as, for a machine without a folder.
_own_roles: dict[int, str] = {}


# ── Which processes live ─────────────────────────────────────────────────────
def _start_of(pid: int) -> str:
    """Return what tells a process from a later one of its number; "" for none."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "" if Path("/proc/self").exists() or not _exists(pid) else "exists"
    fields = status.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[_START_FIELD]


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def register(role: str) -> None:
    """Say that this process serves, in which role, until it ends."""
    place, pid = folder.current(), os.getpid()
    _own_roles[pid] = role
    if place is None:
        return
    with _locked(place) as is_locked:
        if is_locked:
            # Where nobody scrapes, the files of the dead would pile up.
            _fold(place)
        # Those of an earlier process of the same number.
        for path in place.glob(f"{LIVE_GAUGE}*_{pid}.db"):
            path.unlink()
        mark = place / f"{pid}.process"
        mark.write_text(f"{role} {_start_of(pid)}", encoding="ascii")


def roles() -> dict[int, str]:
    """Return the roles of this machine's processes, by number; else this one's."""
    place = folder.current()
    return live(place) if place is not None else dict(_own_roles)


def live(place: Path) -> dict[int, str]:
    """Return the roles of the registered processes that live, by number."""
    live_roles = {}
    for path in place.glob("*.process"):
        with suppress(OSError, ValueError):
            role, start = path.read_text(encoding="ascii").split()
            if start == _start_of(int(path.stem)):
                live_roles[int(path.stem)] = role
    return live_roles


# ── Their files ──────────────────────────────────────────────────────────────
@contextmanager
def _locked(place: Path) -> Iterator[bool]:
    """Hold the folder's lock, or go on after a while; give whether it is held."""
    lock = FileLock(place / "lock", timeout=LOCK_SECONDS)
    try:
        lock.acquire()
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def _pid(path: Path) -> int:
    return int(path.stem.rpartition("_")[2])


def _fold(place: Path) -> None:
    """Add what dead processes counted to the files of number 0; drop their gauges."""
    alive = live(place)
    registered = {int(path.stem) for path in place.glob("*.process")}
    dead: dict[str, list[Path]] = defaultdict(list)
    for path in place.glob("*.db"):
        pid = _pid(path)
        # One that is not registered is a command; it may still be at work.
        is_live = pid in alive or (pid not in registered and bool(_start_of(pid)))
        if pid == DEAD or is_live:
            continue
        # One without a byte is of a process that was killed as it made it.
        if path.name.startswith(LIVE_GAUGE) or not path.stat().st_size:
            path.unlink()
        else:
            dead[path.stem.rpartition("_")[0]].append(path)
    for kind, paths in dead.items():
        _add(place / f"{kind}_{DEAD}.db", paths, is_sum=not kind.startswith("gauge"))
    for pid in registered - alive.keys():
        (place / f"{pid}.process").unlink()


def _add(target: Path, paths: list[Path], *, is_sum: bool) -> None:
    """Add files to a file; what was there is replaced at once, or not at all."""
    values: dict[str, float] = {}
    for path in ([target] if target.exists() else []) + paths:
        stored = MmapedDict.read_all_values_from_file(str(path))  # type: ignore[no-untyped-call]
        for key, value, _, _ in stored:
            before = values.get(key, 0.0)
            values[key] = before + value if is_sum else max(before, value)
    new = target.with_suffix(".new")
    new.unlink(missing_ok=True)
    sums = MmapedDict(str(new))  # type: ignore[no-untyped-call]
    for key, value in values.items():
        sums.write_value(key, value, 0.0)  # type: ignore[no-untyped-call]
    sums.close()  # type: ignore[no-untyped-call]
    new.replace(target)
    for path in paths:
        path.unlink()


# ── The sum ──────────────────────────────────────────────────────────────────
def collect() -> Iterator[Metric]:
    """Yield what all processes of this machine recorded."""
    place = folder.current()
    if place is None:
        families = list(declared.RECORDED.collect())
    else:
        with _locked(place) as is_locked:
            if is_locked:
                _fold(place)
            files = MultiProcessCollector(None, str(place))  # type: ignore[no-untyped-call]
            families = list(files.collect())  # type: ignore[no-untyped-call]
    names = {sample.name for family in families for sample in family.samples}
    yield from (family for family in families if family.samples)
    for figure in declared.figures():
        if _is_silent(figure, names):
            # Nothing was recorded yet.
            yield figure.family([((), 0.0)])


def _is_silent(figure: Figure, names: set[str]) -> bool:
    return figure.is_recorded and not figure.labels and figure.name not in names
