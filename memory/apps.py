"""Start-up of the ground floor."""

from __future__ import annotations

from django.apps import AppConfig


class MemoryConfig(AppConfig):
    """What is kept: tenancy, the journal, and the ports that upper floors fill."""

    name = "memory"
    verbose_name = "Memory"
