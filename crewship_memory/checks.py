"""Django system checks with hints; ``manage.py check`` and ``doctor`` run them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

from episodic.index import engine
from memory.installation import key_files, schema_version

OLDEST_SQLITE: Final = (3, 38, 0)
WORKERS: Final = "WEB_CONCURRENCY"


def _is_sqlite() -> bool:
    return str(settings.DATABASES["default"]["ENGINE"]).endswith("sqlite3")


@register(Tags.files)
def data_folder_is_writable(**_kwargs: Any) -> list[CheckMessage]:
    folder = settings.DATA_DIR
    if os.access(folder, os.W_OK | os.X_OK):
        return []
    hint = "Give it to the user this process runs as, or set CREWSHIP_DATA_DIR."
    return [Error(f"{folder} cannot be written to.", hint=hint, id="crewship.E001")]


def _has_fts5() -> bool:
    with sqlite3.connect(":memory:") as memory:
        rows = memory.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'")
        return rows.fetchone() is not None


@register(Tags.compatibility)
def sqlite_can_search(**_kwargs: Any) -> list[CheckMessage]:
    """SQLite must be new enough and have FTS5; ``doctor`` checks PostgreSQL."""
    if not _is_sqlite():
        return []
    messages: list[CheckMessage] = []
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        message = f"SQLite {sqlite3.sqlite_version} is too old."
        hint = "3.38 is the oldest that will do; use a newer Python build."
        messages.append(Error(message, hint=hint, id="crewship.E002"))
    if not _has_fts5():
        hint = "Use a Python whose SQLite was built with FTS5, or PostgreSQL."
        messages.append(Error("SQLite has no FTS5.", hint=hint, id="crewship.E003"))
    return messages


@register(Tags.compatibility)
def embedder_is_configured(**_kwargs: Any) -> list[CheckMessage]:
    """Report an unknown embedder at start-up, not at the first question."""
    try:
        engine.embedder()
    except ValueError as error:
        hint = "See CREWSHIP_EMBEDDER, CREWSHIP_LOCAL_MODEL and OLLAMA_HOST."
        return [Error(str(error), hint=hint, id="crewship.E004")]
    return []


@register(Tags.database)
def database_can_be_migrated(
    databases: Sequence[str] | None = None, **_kwargs: Any
) -> list[CheckMessage]:
    """``migrate`` runs this first: what it cannot upgrade it would take for empty."""
    steps = schema_version.missing_steps() if databases else []
    if not steps:
        return []
    return [Error(schema_version.upgrade_refusal(steps), id="crewship.E005")]


@register(Tags.security)
def hosts_are_named(**_kwargs: Any) -> list[CheckMessage]:
    """With a wildcard, a client's Host header decides the address in links we send."""
    if settings.DEBUG or "*" not in settings.ALLOWED_HOSTS:
        return []
    message = "CREWSHIP_ALLOWED_HOSTS allows every host."
    hint = "Name the hosts that people and agents use."
    return [Warning(message, hint=hint, id="crewship.W001")]


@register(Tags.compatibility)
def several_processes_share_a_broker(**_kwargs: Any) -> list[CheckMessage]:
    """Rate limits and tasks are per process without Redis."""
    has_several = os.environ.get(WORKERS, "1").strip() not in ("", "0", "1")
    if settings.REDIS_URL or not has_several:
        return []
    message = f"{WORKERS} asks for several processes, and there is no REDIS_URL."
    hint = "Each would count rate limits alone and no worker would hear of appends."
    return [Warning(message, hint=hint, id="crewship.W002")]


@register(Tags.files)
def data_folder_is_private(**_kwargs: Any) -> list[CheckMessage]:
    """The data folder holds keys and memory files."""
    folder = settings.DATA_DIR
    if not folder.exists() or not folder.stat().st_mode & key_files.GROUP_AND_OTHERS:
        return []
    message = f"Other accounts of this machine can look into {folder}."
    return [Warning(message, hint=f"chmod 700 {folder}", id="crewship.W003")]


@register(Tags.security)
def a_proxy_with_tls_is_trusted(**_kwargs: Any) -> list[CheckMessage]:
    """X-Forwarded-Proto is believed only from a configured proxy."""
    if not settings.HTTPS or settings.TRUSTED_PROXIES:
        return []
    message = "CREWSHIP_HTTPS is on and CREWSHIP_TRUSTED_PROXIES names no proxy."
    hint = (
        "Name the proxy that ends TLS: its X-Forwarded-Proto is not believed, "
        "so that every request is redirected to https."
    )
    return [Warning(message, hint=hint, id="crewship.W005")]


@register(Tags.security, deploy=True)
def traffic_is_encrypted(**_kwargs: Any) -> list[CheckMessage]:
    """Keys and cookies must not be sent in the clear."""
    if settings.HTTPS:
        return []
    hint = "Put a proxy with TLS in front and set CREWSHIP_HTTPS=1."
    return [Warning("CREWSHIP_HTTPS is off.", hint=hint, id="crewship.W004")]
