"""The Celery application and its schedule.

Embedded: no broker, the worker and the scheduler are threads of the web process. Scaled
out: Redis, any number of `celery -A crewship_memory worker`, each for all queues or for
those after `-Q`, and one `… beat`.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import django
from celery import Celery
from celery.schedules import crontab
from celery.signals import (
    beat_init,
    setup_logging,
    worker_init,
    worker_ready,
    worker_shutdown,
    worker_shutting_down,
)
from django_structlog.celery.steps import DjangoStructLogInitStep
from kombu import Queue

from crewship_memory.worker_loop import WatchedLoop
from memory.jobs import queues

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crewship_memory.settings")


@worker_init.connect
@beat_init.connect
def refuse_newer_schema(**_: Any) -> None:
    """Exit before the first task when the database's schema is newer than the code."""
    django.setup()
    schema = import_module("memory.installation.schema_version")
    names = schema.unknown()
    if names:
        raise SystemExit(schema.refusal(names).detail)


app = Celery("crewship_memory")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.steps["worker"].add(DjangoStructLogInitStep)
app.steps["consumer"].add(WatchedLoop)

# Whether a message sent from this process reaches a worker: with Redis always, without
# it only where `up` runs a worker of its own.
app.conf.crewship_delivers = any(map(os.environ.get, ("REDIS_URL", "REDIS_URL_FILE")))
app.conf.task_queues = [Queue(name, routing_key=name) for name in queues.ALL]
app.conf.task_default_queue = queues.CLOCK
app.conf.task_routes = {task: {"queue": name} for task, name in queues.ROUTES.items()}
# Threads: one process has one model in memory. No message is taken before its turn.
app.conf.worker_pool = "threads"
app.conf.worker_concurrency = queues.THREADS
app.conf.worker_prefetch_multiplier = 1
app.conf.beat_scheduler = "crewship_memory.clock:Clock"
app.conf.beat_schedule = {
    "files sweep": {"task": "memory.files_sweep", "schedule": 30.0},
    "index sweep": {"task": "episodic.sweep", "schedule": 5.0},
    "beginnings": {"task": "episodic.begin", "schedule": 5.0},
    "cases": {"task": "gdpr.sweep", "schedule": 5.0},
    # 03:00 UTC: compaction, decay, health, retention, in this order. The other times
    # go on with a long night, or make up for one that was missed.
    "night": {"task": "memory.nightly", "schedule": crontab(minute="*/5")},
    # Jobs by interval: every process ticks, a claim in the database decides which runs.
    **{
        f"jobs of {name}": {
            "task": "memory.tick",
            "schedule": 60.0,
            "args": [name],
            "options": {"queue": name},
        }
        for name in queues.ALL
    },
}


@worker_ready.connect
def start_threads(sender: Any, **_: Any) -> None:
    """Start what a worker has beside its tasks."""
    import_module("crewship_memory.worker_process").start(sender.app)


@worker_shutting_down.connect
def end_in_time(**_: Any) -> None:
    """Tell sweeps to end between two batches, and end the process in any case."""
    import_module("crewship_memory.worker_process").end_soon()


@worker_shutdown.connect
def stop_threads(**_: Any) -> None:
    """Stop what a worker has beside its tasks."""
    import_module("crewship_memory.worker_process").stop()


@setup_logging.connect
def _keep_logging(**_: object) -> None:
    """Keep the logging of the settings; Celery would add handlers of its own."""
