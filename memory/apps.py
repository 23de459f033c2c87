"""Start-up of the ground floor."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class MemoryConfig(AppConfig):
    """What is kept: tenancy, the journal, and the ports that upper floors fill."""

    name = "memory"
    verbose_name = "Memory"

    def ready(self) -> None:
        """Register the providers and close their registry."""
        import_module("memory.providers.builtin").install()
