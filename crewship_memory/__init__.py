"""The roof: it joins the floors and computes nothing."""

from crewship_memory.celery import app as celery_app

__all__ = ["celery_app"]
