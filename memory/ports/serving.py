"""The port through which ``gdpr`` says which workspaces are not served for now.

After a restore a workspace's rows may be older than erasures of people in them. Until
those were carried out again nothing of it is read, written or sent. Without the port
every workspace is served.
"""

from __future__ import annotations

from collections.abc import Callable

from memory.ports.port import Port
from memory.rules import errors

# Is given a workspace's id, "" for any; returns the refusal, None where it is served.
Refusal = Callable[[str], errors.Unavailable | None]


def _served(_workspace_id: str) -> None:
    return None


_port: Port[Refusal] = Port(_served)


def register(refusal: Refusal) -> None:
    """Set what answers; called once, at start-up."""
    _port.implementation = refusal


def refusal(workspace_id: str = "") -> errors.Unavailable | None:
    """Return why a workspace is not served, None when it is; "" asks for all."""
    return _port.implementation(workspace_id)


def require(workspace_id: str) -> None:
    """Raise Unavailable while a workspace is not served."""
    error = refusal(workspace_id)
    if error is not None:
        raise error
