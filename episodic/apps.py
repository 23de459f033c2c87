"""Start-up of the recall package."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig
from django.db.models.signals import post_migrate

from memory import triggers


class EpisodicConfig(AppConfig):
    """What is remembered: the index, recall by meaning."""

    name = "episodic"
    verbose_name = "Episodic memory"

    def ready(self) -> None:
        """Register this package's ports, tools and signals."""
        import_module("episodic.connect").connect()
        schema = import_module("episodic.migrations.0001_schema")
        names = import_module("episodic.migrations.0003_author_names")
        keep = triggers.keeper((*schema.SQLITE, *names.SQLITE))
        post_migrate.connect(keep, sender=self, weak=False)
