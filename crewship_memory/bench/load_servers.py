"""The processes that a load test measures: one embedded, or four scaled out."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from django.conf import settings

from crewship_memory.bench import process, server

WEB_PROCESSES: Final = 2
END_SECONDS: Final = 30
LINES: Final = 20
_CELERY: Final = (sys.executable, "-m", "celery", "-q", "-A", "crewship_memory")


@dataclass(frozen=True, slots=True)
class Servers:
    """The address that answers, and the ids of the processes by their names."""

    url: str
    pids: dict[str, int]
    folder: Path

    def memory_mb(self) -> dict[str, float | None]:
        """Return the resident memory of each process."""
        return {name: process.memory_mb(pid)["now"] for name, pid in self.pids.items()}

    def cpu_seconds(self) -> dict[str, float | None]:
        return {name: process.cpu_seconds(pid) for name, pid in self.pids.items()}


@contextmanager
def embedded(folder: Path) -> Iterator[Servers]:
    """Run ``manage.py up``."""
    with server.running(folder) as running:
        yield Servers(running.url, {"up": running.pid}, folder)


@contextmanager
def scaled_out(folder: Path) -> Iterator[Servers]:
    """Run two web processes on one port, a worker and a clock."""
    port = server.free_port()
    manage = (sys.executable, str(settings.BASE_DIR / "manage.py"))
    web = (*manage, "web", "--port", str(port))
    commands: dict[str, tuple[str, ...]] = {
        f"web-{n}": web for n in range(1, WEB_PROCESSES + 1)
    }
    commands |= {"worker": (*_CELERY, "worker"), "clock": (*_CELERY, "beat")}
    with ExitStack() as stack:
        processes = {
            name: stack.enter_context(_process(name, command, folder))
            for name, command in commands.items()
        }
        url = f"http://127.0.0.1:{port}"
        server.wait(url, processes["web-1"])
        pids = {name: child.pid for name, child in processes.items()}
        yield Servers(url, pids, folder)


@contextmanager
def _process(
    name: str, command: tuple[str, ...], folder: Path
) -> Iterator[subprocess.Popen[bytes]]:
    environment = server.environment(folder)
    with (folder / f"bench-{name}.log").open("wb") as log:
        child = subprocess.Popen(  # noqa: S603  (our own command, our own arguments)
            command, env=environment, cwd=settings.BASE_DIR, stdout=log, stderr=log
        )
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def log_lines(folder: Path) -> dict[str, Any]:
    """Count the lines of the processes' logs by their level; return the last errors."""
    counts, errors = Counter[str](), list[str]()
    for path in sorted(folder.glob("bench-*.log")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            for level in ("warning", "error", "critical"):
                counts[level] += f"[{level}" in line or f'"level": "{level}"' in line
            if "[error" in line or "[critical" in line:
                errors.append(f"{path.stem}: {line[:300]}")
    return {**counts, "last_errors": errors[-LINES:]}
