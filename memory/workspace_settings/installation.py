"""Settings of the installation that a workspace's admin may see but not change.

Addresses, folders and secrets of the server are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings
from django.utils.translation import gettext, gettext_noop

# By variable of the environment.
VISIBLE_VARIABLES: Final = {
    "CREWSHIP_EMBEDDER": gettext_noop("What turns text into vectors."),
    "CREWSHIP_LOCAL_MODEL": gettext_noop("The local embedder's model."),
    "OLLAMA_MODEL": gettext_noop("The remote embedder's model."),
    "CREWSHIP_CONSOLIDATE_MODEL": gettext_noop("The chat model that proposes rules."),
    "CREWSHIP_BODIES": gettext_noop("Where memory files, bundles and keys are kept."),
    "CREWSHIP_RATE_LIMIT": gettext_noop("API requests per key."),
    "CREWSHIP_RAW_CONTENT": gettext_noop("Raw text that AtomicMemory's clients send."),
    "CREWSHIP_WEBHOOK_PRIVATE": gettext_noop("Webhooks to private addresses."),
    "CREWSHIP_GATEWAY_PRIVATE": gettext_noop("A memory gateway on a private address."),
    "CREWSHIP_PROVIDER_PRIVATE": gettext_noop(
        "A remote provider on a private address."
    ),
    "CREWSHIP_TRACES": gettext_noop("Traces of requests, sent to a collector."),
}


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable with its value as text and the source of the value."""

    name: str
    value: str
    source: str
    help: str


def _text(value: object) -> str:
    if isinstance(value, bool):
        return gettext("on") if value else gettext("off")
    text = str(value)
    # A model may be a path on the server; show only its name.
    return Path(text).name if "/" in text and Path(text).is_absolute() else text


def _source(name: str) -> str:
    if f"{name}_FILE" in settings.FROM_ENVIRONMENT:
        return gettext("a file")
    if name in settings.FROM_ENVIRONMENT:
        return gettext("environment")
    return gettext("default")


def variables() -> list[Variable]:
    """Return the variables that the settings page shows."""
    rows = []
    for name, help_ in VISIBLE_VARIABLES.items():
        value = getattr(settings, name.removeprefix("CREWSHIP_"))
        rows.append(Variable(name, _text(value), _source(name), help_))
    return rows
