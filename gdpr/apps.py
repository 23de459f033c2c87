"""The app configuration of this package."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class GdprConfig(AppConfig):
    name = "gdpr"
    verbose_name = "Personal data"

    def ready(self) -> None:
        """Register the ports and checks."""
        import_module("gdpr.connect").connect()
