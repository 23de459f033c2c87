"""The Django project: settings, URLs, authentication, server and commands."""

import os

# One thread multiplies matrices: a second one saves little time, costs as much again in
# waiting for work, and knows nothing of how far its task steps back behind requests.
# It is set here because it only counts before numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from crewship_memory.celery import app as celery_app

__all__ = ["celery_app"]
