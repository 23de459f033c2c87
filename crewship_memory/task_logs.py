"""What the lines of a task carry: its name, its id, and the request that caused it.

``django_structlog`` binds the id of the task and what came with its message. With a
message travels an id and nothing else.
"""

from __future__ import annotations

import secrets
from typing import Any, Final

import structlog
from django.dispatch import receiver
from django_structlog.celery.signals import (
    bind_extra_task_metadata,
    modify_context_before_task_publish,
)

IDS: Final = ("request_id", "run_id")


@receiver(modify_context_before_task_publish)
def keep_ids(context: dict[str, Any], **_: Any) -> None:
    """Leave of what the sender's lines carry the ids alone."""
    for name in set(context) - set(IDS):
        del context[name]


@receiver(bind_extra_task_metadata)
def bind_task(task: Any, **_: Any) -> None:
    """Bind the task's name, and an id of its own where no request caused it."""
    structlog.contextvars.bind_contextvars(task=task.name)
    context = structlog.contextvars.get_contextvars()
    if not any(name in context for name in IDS):
        structlog.contextvars.bind_contextvars(run_id=secrets.token_hex(8))
