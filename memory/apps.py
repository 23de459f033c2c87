"""Start-up of the memory app."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils import translation as django_translation

from memory import triggers
from memory.rules import translation


class MemoryConfig(AppConfig):
    """Accounts, journal, files, records, and the ports for upper packages."""

    name = "memory"
    verbose_name = "Memory"

    def ready(self) -> None:
        """Register providers, tools and the release of held records."""
        translation.install(django_translation.gettext, django_translation.ngettext)
        import_module("memory.records.release").install()
        import_module("memory.providers.registry")
        import_module("memory.integrations.agent_tools").install()
        import_module("memory.integrations.provider_tools").install()
        import_module("memory.integrations.gateway.settings").install()
        import_module("memory.workspace_settings.values").install()
        schema = import_module("memory.migrations.0001_schema")
        words = import_module("memory.migrations.0002_word_lists")
        keep = triggers.keeper([*schema.SQLITE, *words.SQLITE])
        post_migrate.connect(keep, sender=self, weak=False)
