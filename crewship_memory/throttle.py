"""Rate limits: requests per minute by key, and by client network without one.

A counter per key and window in the cache: one addition a request. Ninja's own throttle
keeps the time of every request in a list that grows with the limit. Clients without a
credential are counted by their address, in the memory of this process alone.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
import time
from collections import OrderedDict
from typing import Final

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from ninja.throttling import BaseThrottle

from crewship_memory.client_address import client_address, network_of
from memory.rules import errors
from memory.rules.permissions import Actor

_RATE: Final = re.compile(r"(\d+)/([smh])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600}
# How many addresses are counted at once; then the one counted first is forgotten.
MOST_ADDRESSES: Final = 10_000


def _parsed(rate: str) -> tuple[int, int]:
    match = _RATE.fullmatch(rate)
    if match is None:
        message = f"A rate is like 6000/m; it is {rate!r}."
        raise ValueError(message)
    return int(match[1]), _SECONDS[match[2]]


class KeyThrottle(BaseThrottle):
    """Counts requests per key or per person, in fixed windows.

    ``rate`` is like ``6000/m``. With the local-memory cache each process counts for
    itself; with Redis all count together.
    """

    def __init__(self, rate: str) -> None:
        self.limit, self.window = _parsed(rate)

    def allow_request(self, request: HttpRequest) -> bool:
        """Count a request; return whether it is within the limit."""
        actor: Actor | None = getattr(request, "auth", None)
        if actor is None:
            # Open operations are counted by address, before they come here.
            return True
        key = actor.key_id or actor.id
        turn = int(time.time() // self.window)
        name = f"throttle:{key}:{turn}"
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


# ── Without a credential ─────────────────────────────────────────────────────
class AddressThrottle:
    """Counts requests per client network, in fixed windows.

    It keeps keyed digests, for one window; the key is random and never leaves memory.
    """

    def __init__(self, rate: str) -> None:
        self.limit, self.window = _parsed(rate)
        self._key = secrets.token_bytes(16)
        self._lock = threading.Lock()
        self._turn = 0
        self._counts: OrderedDict[bytes, int] = OrderedDict()

    def charge(self, address: str) -> int:
        """Count a request; return the seconds to wait, 0 when it is allowed."""
        network = network_of(address).encode()
        name = hashlib.blake2b(network, key=self._key, digest_size=16).digest()
        now = time.time()
        with self._lock:
            turn = int(now // self.window)
            if turn != self._turn:
                self._turn = turn
                self._counts.clear()
            count = self._counts.get(name, 0) + 1
            self._counts[name] = count
            if len(self._counts) > MOST_ADDRESSES:
                self._counts.popitem(last=False)
        remaining = self.window - now % self.window
        return 0 if count <= self.limit else max(1, round(remaining))

    def clear(self) -> None:
        with self._lock:
            self._counts.clear()

    def __len__(self) -> int:
        return len(self._counts)


anonymous = AddressThrottle(settings.ANONYMOUS_RATE_LIMIT)


def charge(request: HttpRequest) -> None:
    """Count an anonymous request; raise TooMany beyond the limit."""
    if getattr(request, "is_charged", False):
        return
    request.is_charged = True  # type: ignore[attr-defined]
    wait = anonymous.charge(client_address(request))
    if wait:
        raise errors.TooMany(retry_after=wait)
