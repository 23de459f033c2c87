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


def restore(
    arguments: Sequence[str], changes: Mapping[str, str | None], secret: bytes = b""
) -> dict[str, Any]:
    """Run ``manage.py restore`` and return its report, also one with problems.

    ``changes`` are variables of its environment, None removes one; the secret is its
    standard input.
    """
    environment = {**os.environ, **{k: v for k, v in changes.items() if v is not None}}
    for name in [name for name, value in changes.items() if value is None]:
        environment.pop(name, None)
        environment.pop(f"{name}_FILE", None)
    process = subprocess.run(  # noqa: S603  (ourselves, with our own arguments)
        [sys.executable, "manage.py", "restore", *arguments, "--json"],
        cwd=settings.BASE_DIR,
        env=environment,
        input=secret,
        capture_output=True,
        check=False,
    )
    lines = process.stdout.decode().splitlines()
    if process.returncode in (0, PROBLEMS) and lines:
        return dict(json.loads(lines[-1]))
    reasons = process.stderr.decode("utf-8", "replace").strip().splitlines()
    reason = reasons[-1].removeprefix("CommandError: ") if reasons else "It was ended."
    if process.returncode == DAMAGED:
        raise BadBackup(reason=reason)
    raise ChildFailed(reason=reason)


def without_keys() -> dict[str, str | None]:
    """Return the changes that leave out every key of this installation."""
    return {key.variable: None for key in keys.KEYS}
