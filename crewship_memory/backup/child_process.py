"""Another process of this program, with another database or data folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.conf import settings

from crewship_memory.backup.envelope import BadBackup
from memory.installation import keys
from memory.rules import errors

DAMAGED: Final = 2
PROBLEMS: Final = 3


class ChildFailed(errors.AppError):
    """The other process ended with an error of its own."""

    code, status = "child_failed", 500
    sentence = "{reason}"


def _run(
    command: Sequence[str], changes: Mapping[str, str | None], secret: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run a command; ``changes`` are variables of its environment, None removes one."""
    environment = {**os.environ, **{k: v for k, v in changes.items() if v is not None}}
    for name in [name for name, value in changes.items() if value is None]:
        environment.pop(name, None)
        environment.pop(f"{name}_FILE", None)
    return subprocess.run(  # noqa: S603  (ourselves, with our own arguments)
        [sys.executable, "manage.py", *command],
        cwd=settings.BASE_DIR,
        env=environment,
        input=secret,
        capture_output=True,
        check=False,
    )


def _reason(process: subprocess.CompletedProcess[bytes]) -> str:
    lines = process.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1].removeprefix("CommandError: ") if lines else "It was ended."


def restore(
    arguments: Sequence[str], changes: Mapping[str, str | None], secret: bytes = b""
) -> dict[str, Any]:
    """Run ``manage.py restore`` and return its report, also one with problems.

    The secret is its standard input.
    """
    process = _run(["restore", *arguments, "--json"], changes, secret)
    lines = process.stdout.decode().splitlines()
    if process.returncode in (0, PROBLEMS) and lines:
        return dict(json.loads(lines[-1]))
    if process.returncode == DAMAGED:
        raise BadBackup(reason=_reason(process))
    raise ChildFailed(reason=_reason(process))


def migrate(changes: Mapping[str, str | None]) -> None:
    """Run ``manage.py migrate`` on another database."""
    process = _run(["migrate", "--no-input", "--verbosity", "0"], changes)
    if process.returncode:
        raise ChildFailed(reason=_reason(process))


def without_keys() -> dict[str, str | None]:
    """Return the changes that leave out every key of this installation."""
    return {key.variable: None for key in keys.KEYS}
