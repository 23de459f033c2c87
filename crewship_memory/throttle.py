"""How many requests a key may make in a minute.

A counter per key and window in the cache: one addition a request. Ninja's own throttle
keeps the time of every request in a list that grows with the limit.
"""

from __future__ import annotations

import re
import time
from typing import Final

from django.core.cache import cache
from django.http import HttpRequest
from ninja.throttling import BaseThrottle

from memory.rules.actors import Actor

_RATE: Final = re.compile(r"(\d+)/([smh])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600}


class KeyThrottle(BaseThrottle):
    """Counts requests per key, or per person, in fixed windows.

    ``rate`` is like ``6000/m``. With the local-memory cache each process counts for
    itself; with Redis all count together.
    """

    def __init__(self, rate: str) -> None:
        match = _RATE.fullmatch(rate)
        if match is None:
            message = f"A rate is like 6000/m; it is {rate!r}."
            raise ValueError(message)
        self.limit, self.window = int(match[1]), _SECONDS[match[2]]

    def allow_request(self, request: HttpRequest) -> bool:
        """Count a request; return whether it is within the limit."""
        actor: Actor | None = getattr(request, "auth", None)
        # Open operations share one counter: an address would be personal data.
        who = (actor.key_id or actor.id) if actor else "visitors"
        turn = int(time.time() // self.window)
        name = f"throttle:{who}:{turn}"
        if cache.add(name, 1, timeout=self.window * 2):
            return self.limit >= 1
        try:
            return cache.incr(name) <= self.limit
        except ValueError:
            # The window ended between the two calls.
            return True

    def wait(self) -> float:
        """Return the seconds until the window ends."""
        return self.window - time.time() % self.window
