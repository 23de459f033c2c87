"""The Celery application and its timetable.

Embedded: no broker, the worker and the clock are threads of the web process. Scaled
out: Redis, any number of `celery -A crewship_memory worker`, and one `… beat`.
"""

from __future__ import annotations

import os

from celery import Celery
from celery.schedules import crontab

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crewship_memory.settings")

app = Celery("crewship_memory")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

# Whether a message sent from this process reaches a worker: with Redis always, without
# it only where `up` runs a worker of its own.
app.conf.crewship_delivers = bool(os.environ.get("REDIS_URL"))
app.conf.beat_schedule = {
    "files sweep": {"task": "memory.files_sweep", "schedule": 30.0},
    "files retention": {
        "task": "memory.retention",
        "schedule": crontab(hour=3, minute=10),
    },
    "index sweep": {"task": "episodic.sweep", "schedule": 5.0},
}
