"""Start-up of the second floor."""

from __future__ import annotations

from django.apps import AppConfig


class GdprConfig(AppConfig):
    """Who can be forgotten."""

    name = "gdpr"
    verbose_name = "Personal data"
