"""Records what a client did, call by call; prints it as JSON at the end.

A driver runs in the client's environment: the standard library only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any


def _plain(value: Any) -> Any:
    """Return a result as JSON data, also from a client's own objects."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return repr(value)


class Steps:
    """The calls so far."""

    def __init__(self, package: str) -> None:
        self.client = f"{package} {version(package)}"
        self.calls: list[dict[str, Any]] = []

    def note(self, call: str, ok: bool, result: Any) -> None:
        """Record one step."""
        self.calls.append({"call": call, "ok": ok, "result": _plain(result)})

    def run(self, call: str, act: Callable[[], Any]) -> Any:
        """Call, record and return the result; for an exception None."""
        try:
            result = act()
        except Exception as error:  # noqa: BLE001  (a step tells)
            self.note(call, False, f"{type(error).__name__}: {error}")
            return None
        self.note(call, True, result)
        return result

    def expect_error(self, call: str, kind: str, act: Callable[[], Any]) -> Any:
        """Call what must raise an exception of a class named ``kind``; return it."""
        try:
            result = act()
        except Exception as error:  # noqa: BLE001  (a step tells)
            kinds = [kind_type.__name__ for kind_type in type(error).__mro__]
            self.note(call, kind in kinds, f"{type(error).__name__}: {error}")
            return error
        self.note(call, False, result)
        return None

    def expect(self, claim: str, ok: bool, detail: Any = None) -> None:
        """Record whether a claim holds."""
        self.note(claim, bool(ok), detail)

    def finish(self) -> None:
        """Print the report."""
        json.dump({"client": self.client, "calls": self.calls}, sys.stdout)
