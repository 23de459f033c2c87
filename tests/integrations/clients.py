"""Other systems' clients, each in an environment of its own.

    python tests/integrations/clients.py install [NAME …]

makes ``.clients/NAME`` from ``tests/integrations/requirements/NAME.txt``. A driver is a
script that runs inside such an environment and prints one JSON object: which client it
is, and every call with its result. It knows nothing of our code.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "tests" / "integrations" / "requirements"
CACHE = ROOT / ".clients"
DRIVERS = Path(__file__).parent / "drivers"
# Ends a client that hangs; far beyond what the slowest machine needs.
SECONDS = 600
# What a client brings only in its source archive: its own tests, its schemas.
SOURCES = {"atomicmemory": "atomicmemory==1.1.4"}


def names() -> list[str]:
    """Return the names of all requirements files."""
    return sorted(path.stem for path in REQUIREMENTS.glob("*.txt"))


def _wish(name: str) -> str:
    return hashlib.sha256((REQUIREMENTS / f"{name}.txt").read_bytes()).hexdigest()


def folder(name: str) -> Path:
    """Return the folder of a client's environment."""
    return CACHE / name


def is_here(name: str) -> bool:
    """Return whether a client is installed with its present requirements."""
    stamp = folder(name) / "wish"
    return stamp.is_file() and stamp.read_text() == _wish(name)


def packages(name: str) -> str:
    """Return the first package of a client's requirements, for a message."""
    lines = (REQUIREMENTS / f"{name}.txt").read_text().splitlines()
    return next(line for line in lines if line and not line.startswith("#"))


def skip_reason(name: str) -> str:
    """Return the reason to skip a client, with the command that installs it."""
    return f"{packages(name)} is not here: python tests/integrations/clients.py install"


def source(name: str) -> Path:
    """Return the unpacked source archive of a client."""
    folders = [path for path in (folder(name) / "src").iterdir() if path.is_dir()]
    return folders[0]


def _fetch_source(name: str, pip: list[str]) -> None:
    into = folder(name) / "src"
    into.mkdir(exist_ok=True)
    package = SOURCES[name].partition("==")[0]
    only = ["--no-binary", package, "--no-deps", "-d", str(into), SOURCES[name]]
    subprocess.run([*pip, "download", "-q", *only], check=True)
    for archive in into.glob("*.tar.gz"):
        with tarfile.open(archive) as packed:
            packed.extractall(into, filter="data")


def install(name: str) -> None:
    """Create a client's environment unless it exists."""
    if is_here(name):
        return
    venv.create(folder(name), with_pip=True, clear=True)
    pip = [str(folder(name) / "bin" / "python"), "-m", "pip"]
    wish = str(REQUIREMENTS / f"{name}.txt")
    subprocess.run([*pip, "install", "-q", "-r", wish], check=True)
    if name in SOURCES:
        _fetch_source(name, pip)
    (folder(name) / "wish").write_text(_wish(name))


@dataclass(frozen=True)
class ClientRun:
    """The report a driver printed."""

    client: str
    calls: list[dict[str, Any]]

    @property
    def failed(self) -> list[dict[str, Any]]:
        return [call for call in self.calls if not call["ok"]]

    def result(self, call: str) -> Any:
        return next(step["result"] for step in self.calls if step["call"] == call)


def environment(extra: dict[str, str]) -> dict[str, str]:
    """Return environment variables without proxies and our settings."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.lower().endswith("_proxy")
        and not name.startswith(("CREWSHIP_", "DJANGO_", "PYTEST_", "OLLAMA_"))
        and name not in ("DATABASE_URL", "REDIS_URL", "PYTHONPATH")
    }
    quiet = {"NO_PROXY": "127.0.0.1,localhost", "MEM0_TELEMETRY": "False"}
    return {**inherited, **quiet, "PYTHONPATH": str(DRIVERS), **extra}


def python(
    name: str, args: list[str], extra: dict[str, str], cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python inside a client's environment."""
    return subprocess.run(
        [str(folder(name) / "bin" / "python"), *args],
        env=environment(extra),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def drive(name: str, driver: str, extra: dict[str, str]) -> ClientRun:
    """Run a driver inside a client's environment; its crash is a failure."""
    process = python(name, [str(DRIVERS / f"{driver}.py")], extra)
    assert process.returncode == 0, process.stderr[-4_000:]
    report = json.loads(process.stdout)
    return ClientRun(report["client"], report["calls"])


def main(requested: list[str]) -> int:
    """Install the named clients, or all; return the number of failures."""
    failed = 0
    for name in requested or names():
        print(f"{name}: {packages(name)}", flush=True)  # noqa: T201
        try:
            install(name)
        except subprocess.CalledProcessError:
            failed += 1
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[2:]))
