"""How many messages wait in the queues of Redis, and how long the oldest has.

A message carries the time when it was sent in a header (``memory.jobs.backlogs``). The
oldest message of a queue is at the end from which workers take.
"""

from __future__ import annotations

import json
import time
from importlib import import_module
from typing import Any, Final

from celery import current_app
from django.conf import settings

from crewship_memory.metrics.machine import redis_client
from memory.jobs.backlogs import SENT_AT
from memory.measurements import declared
from memory.measurements.declared import Figure, Value

MESSAGES: Final = declared.computed(
    "queue_messages", "Messages that wait for a worker.", ["queue"]
)
OLDEST: Final = declared.computed(
    "queue_oldest_seconds", "How long the oldest of them has waited.", ["queue"]
)
QUEUES: Final = (MESSAGES, OLDEST)


def names() -> list[str]:
    """Return the names of the queues that workers of this program read."""
    conf = current_app.conf
    queues = [queue.name for queue in conf.task_queues or ()]
    return queues or [conf.task_default_queue]


def queues() -> dict[Figure, list[Value]]:
    """Return length and age of each queue; nothing without Redis.

    Raises OSError when Redis does not answer.
    """
    if not settings.REDIS_URL:
        return {}
    client, values = redis_client(settings.REDIS_URL), (list[Value](), list[Value]())
    try:
        for name in names():
            values[0].append(((name,), client.llen(name)))
            values[1].append(((name,), _age(client.lindex(name, -1))))
    except import_module("redis").RedisError as error:
        raise OSError(type(error).__name__) from error
    return dict(zip(QUEUES, values, strict=True))


def _age(message: Any) -> float:
    """Return how old a message is, 0 for none and for one without its time."""
    try:
        sent_at = float(json.loads(message)["headers"][SENT_AT])
    except (KeyError, TypeError, ValueError):
        return 0.0
    return max(0.0, time.time() - sent_at)
