"""Start-up of the roof."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class Roof(AppConfig):
    """What joins the floors: settings, doors, auth, commands."""

    name = "crewship_memory"
    verbose_name = "Crewship Memory"

    def ready(self) -> None:
        """Register the system checks."""
        import_module("crewship_memory.checks")
