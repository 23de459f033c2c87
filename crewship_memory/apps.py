"""The app configuration of the project package."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig
from django.conf import settings


class CrewshipMemoryConfig(AppConfig):
    """The project package: settings, URLs, authentication, commands."""

    name = "crewship_memory"
    verbose_name = "Crewship Memory"

    def ready(self) -> None:
        """Register the system checks, the table of jobs, and what measures and logs."""
        import_module("crewship_memory.checks")
        import_module("crewship_memory.jobs")
        import_module("crewship_memory.task_logs")
        import_module("crewship_memory.metrics.worker_signals")
        if settings.TRACES:
            # Without it nothing of what traces are exported with is imported.
            import_module("crewship_memory.tracing").start()
