"""Start-up of the first floor."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class EpisodicConfig(AppConfig):
    """What is remembered: the index, recall by meaning."""

    name = "episodic"
    verbose_name = "Episodic memory"

    def ready(self) -> None:
        """Fill the ground floor's port and listen to the journal."""
        import_module("episodic.wiring").connect()
