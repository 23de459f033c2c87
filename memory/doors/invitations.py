"""The port through which the roof makes one-time login links for invited people.

Links are signed and judged on the roof, where signing in lives. Without it, an invited
person gets a membership and no link, and the page says so.
"""

from __future__ import annotations

from collections.abc import Callable

from memory.models import User
from memory.rules.actors import Actor

LinkMaker = Callable[[User], str]


class _Port:
    def __init__(self) -> None:
        self.maker: LinkMaker | None = None


_port = _Port()


def register(maker: LinkMaker) -> None:
    """Put the roof's maker of login paths in place; called once, at start-up."""
    _port.maker = maker


def link(user: User, *, by: Actor) -> str | None:
    """Return a one-time path for somebody who never signed in, None for others.

    An admin may open the door for a person they invited and for nobody else: a link
    for somebody with a password, a history or another workspace would let the admin
    of one workspace in as a member of the next.
    """
    by.require("members.manage")
    if _port.maker is None or not is_newcomer(user, by):
        return None
    return _port.maker(user)


def is_newcomer(user: User, by: Actor) -> bool:
    """Whether a person is known to the actor's workspace alone and never came in."""
    if user.last_login is not None or user.has_usable_password() or user.is_staff:
        return False
    elsewhere = user.memberships.exclude(workspace_id=by.workspace_id)
    return user.is_active and not elsewhere.exists()
