"""Start-up of the memory app."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig
from django.db.models.signals import post_migrate

from memory import triggers


class MemoryConfig(AppConfig):
    """Accounts, journal, files, records, and the ports for upper packages."""

    name = "memory"
    verbose_name = "Memory"

    def ready(self) -> None:
        """Register providers, tools and the release of held records."""
        import_module("memory.records.release").install()
        import_module("memory.providers.registry")
        import_module("memory.integrations.agent_tools").install()
        import_module("memory.integrations.provider_tools").install()
        import_module("memory.integrations.gateway.settings").install()
        import_module("memory.workspace_settings.values").install()
        for name in ("0002_word_index", "0004_chunk_index"):
            migration = import_module(f"memory.migrations.{name}")
            receiver = triggers.keeper(migration.SQLITE)
            post_migrate.connect(receiver, sender=self, weak=False)
