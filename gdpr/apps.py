"""Start-up of the second floor."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class GdprConfig(AppConfig):
    """Who can be forgotten."""

    name = "gdpr"
    verbose_name = "Personal data"

    def ready(self) -> None:
        """Fill the ground floor's port."""
        import_module("gdpr.connect").connect()
