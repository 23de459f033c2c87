"""The Celery application and its schedule.

Embedded: no broker, the worker and the scheduler are threads of the web process. Scaled
out: Redis, any number of `celery -A crewship_memory worker`, and one `… beat`.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import django
from celery import Celery
from celery.schedules import crontab
from celery.signals import beat_init, setup_logging, worker_init

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

# Whether a message sent from this process reaches a worker: with Redis always, without
# it only where `up` runs a worker of its own.
app.conf.crewship_delivers = bool(os.environ.get("REDIS_URL"))
app.conf.beat_schedule = {
    "files sweep": {"task": "memory.files_sweep", "schedule": 30.0},
    "index sweep": {"task": "episodic.sweep", "schedule": 5.0},
    "cases": {"task": "gdpr.sweep", "schedule": 5.0},
    # Jobs by interval: every process ticks, a claim in the database decides which runs.
    "jobs": {"task": "memory.tick", "schedule": 60.0},
    # 03:00 UTC: compaction, decay, health, retention, in this order. The other hours
    # make up for a night that was missed, and cost a look at the claims.
    "night": {"task": "memory.nightly", "schedule": crontab(minute=0)},
}


@setup_logging.connect
def _keep_logging(**_: object) -> None:
    """Keep the logging of the settings; Celery would add handlers of its own."""
