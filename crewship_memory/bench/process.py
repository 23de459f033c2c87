"""What a measurement needs to know of the machine and of a process on it."""

from __future__ import annotations

import os
import platform
import statistics
import tempfile
import time
from pathlib import Path

# Seconds of processor time in a second, and seconds to wait for so little.
IDLE_SHARE = 0.1
LONGEST_WAIT = 300
SYNCS = 50
PAGES = 17


def memory_mb(pid: int) -> dict[str, float | None]:
    """Return the resident memory of a process in MB, now and at most; Linux only."""
    status = Path(f"/proc/{pid}/status")
    fields = dict.fromkeys(("VmRSS", "VmHWM"), "")
    if status.exists():
        for line in status.read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(":")
            if name in fields:
                fields[name] = value.split()[0]
    in_mb = {
        name: round(int(kb) / 1024, 1) if kb else None for name, kb in fields.items()
    }
    return {"now": in_mb["VmRSS"], "most": in_mb["VmHWM"]}


def processor() -> str:
    """Return the processor's name, empty where the system does not tell."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if "model name" in line)
    return next(names, platform.processor())


def cpu_seconds(pid: int) -> float | None:
    """Return the processor time that a process has used; None elsewhere than Linux."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return None
    fields = stat.read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until_idle(pid: int) -> float:
    """Wait until a process does next to nothing; return the seconds, Linux only.

    After a start the server checks the whole database file, beside the first questions.
    """
    start, used = time.perf_counter(), cpu_seconds(pid)
    while used is not None and time.perf_counter() - start < LONGEST_WAIT:
        time.sleep(1)
        before, used = used, cpu_seconds(pid)
        if used is None or used - before < IDLE_SHARE:
            break
    return round(time.perf_counter() - start, 1)


def sync_ms(folder: Path) -> float:
    """Return how long the disk takes to keep the pages of one append, the median.

    No append that is committed when it is answered can be quicker than this.
    """
    latencies = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(SYNCS):
            file.write(os.urandom(PAGES * 4_096))
            file.flush()
            start = time.perf_counter()
            os.fdatasync(file.fileno())
            latencies.append((time.perf_counter() - start) * 1_000)
    return round(statistics.median(latencies), 2)
