"""The Redis cache, with a fallback to process memory during an outage.

While Redis does not answer, each process counts and remembers for itself: a request is
never refused, and never slow, because a counter cannot be shared. `/readyz` says so.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Final

import structlog
from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

RETRY_SECONDS: Final = 5.0
SOCKET_SECONDS: Final = 0.5
OWN_ENTRIES: Final = 10_000
log = structlog.get_logger(__name__)


class RedisState:
    """Whether Redis answered last, and when to try again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._again = 0.0
        self._down = False

    @property
    def is_down(self) -> bool:
        """Whether the last command failed."""
        return self._down

    def may_shared_or_own(self) -> bool:
        """Whether to try Redis: not within five seconds of a failure."""
        return not self._down or time.monotonic() >= self._again

    def failed(self, error: Exception) -> None:
        """Record a failure; log one line per outage."""
        with self._lock:
            first, self._down = not self._down, True
            self._again = time.monotonic() + RETRY_SECONDS
        if first:
            log.warning("redis_does_not_answer", error=type(error).__name__)

    def answered(self) -> None:
        """Record a success."""
        if not self._down:
            return
        with self._lock:
            self._down = False
        log.info("redis_answers_again")


# Django makes a cache object for each thread: they share what is known of Redis.
link = RedisState()


class SharedCache(BaseCache):
    """Redis, or process memory while Redis does not answer."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        limits = {
            "socket_timeout": SOCKET_SECONDS,
            "socket_connect_timeout": SOCKET_SECONDS,
        }
        options = {**limits, **params.get("OPTIONS", {})}
        self._shared = RedisCache(server, {**params, "OPTIONS": options})
        own = {"OPTIONS": {"MAX_ENTRIES": OWN_ENTRIES}}
        self._own = LocMemCache("without-redis", own)

    def _shared_or_own(self, name: str, *args: Any, **kwargs: Any) -> Any:
        if link.may_shared_or_own():
            try:
                answer = getattr(self._shared, name)(*args, **kwargs)
            except (RedisError, OSError) as error:
                link.failed(error)
            else:
                link.answered()
                return answer
        return getattr(self._own, name)(*args, **kwargs)

    def add(
        self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: Any = None
    ) -> bool:
        return bool(self._shared_or_own("add", key, value, timeout, version=version))

    def get(self, key: Any, default: Any = None, version: Any = None) -> Any:
        return self._shared_or_own("get", key, default, version=version)

    def set(
        self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: Any = None
    ) -> None:
        self._shared_or_own("set", key, value, timeout, version=version)

    def touch(
        self, key: Any, timeout: Any = DEFAULT_TIMEOUT, version: Any = None
    ) -> bool:
        return bool(self._shared_or_own("touch", key, timeout, version=version))

    def delete(self, key: Any, version: Any = None) -> bool:
        return bool(self._shared_or_own("delete", key, version=version))

    def has_key(self, key: Any, version: Any = None) -> bool:
        return bool(self._shared_or_own("has_key", key, version=version))

    def incr(self, key: Any, delta: int = 1, version: Any = None) -> int:
        """Increment; ValueError when the key is missing."""
        return int(self._shared_or_own("incr", key, delta, version=version))

    def clear(self) -> None:
        """Clear Redis and the process memory."""
        self._shared_or_own("clear")
        self._own.clear()
