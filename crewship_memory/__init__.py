"""The Django project: settings, URLs, authentication, server and commands."""

import os

# BLAS uses one thread: a second one saves little time, costs as much again in waiting,
# and does not inherit the lowered priority of a background task. It is set here because
# it has no effect once numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from crewship_memory.celery import app as celery_app

__all__ = ["celery_app"]
