"""Which memory the turns of a workspace or an agent use: chosen by an admin.

A set-up has the form of the ``memory`` section of a configuration file and is validated
by the same rules. The user key is sealed and never shown again; it stays when a later
change leaves it out, unless the address changes: a key is not sent to another server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext

from memory import workspace_tree
from memory.installation import keys
from memory.integrations.gateway import client as gateway_client
from memory.integrations.gateway import config
from memory.integrations.gateway import secrets as gateway_secrets
from memory.integrations.gateway.config import GatewayConfig, MemoryConfig, Mode, Secret
from memory.journal import append as journal
from memory.models import GatewaySetup, Workspace
from memory.rules import errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor

PERMISSION: Final = "workspace.manage"
# A turn occupies one of the server's threads for as long as its gateway takes.
MAX_SECONDS: Final = 60.0
SAMPLE: Final = 20
# What a set-up without a gateway stores.
NO_GATEWAY: Final = GatewayConfig(
    base_url="", user_id="", user_key=Secret(""), scope=(), app_id="", project_id=""
)


def list_setups(by: Actor) -> list[GatewaySetup]:
    """Return the workspace's own set-up and those of its agents, by agent slug."""
    by.require(PERMISSION)
    rows = GatewaySetup.objects.filter(workspace_id=by.workspace_id)
    setups = rows.select_related("agent__crew")
    return sorted(setups, key=lambda setup: setup.agent.slug if setup.agent else "")


def of_agent(workspace_id: str, agent_id: str) -> GatewaySetup | None:
    """Return the set-up of an agent: its own, else the workspace's."""
    rows = GatewaySetup.objects.filter(
        Q(agent_id=agent_id) | Q(agent_id=None), workspace_id=workspace_id
    )
    return rows.order_by(F("agent_id").desc(nulls_last=True)).first()


def _bound_to(row: GatewaySetup) -> str:
    return f"{row.workspace_id}:{row.id}"


def key_opens(key: str) -> bool | None:
    """Return whether a key opens the sealed user keys; None when there are none."""
    rows = list(GatewaySetup.objects.exclude(sealed_key="")[:SAMPLE])
    if not rows:
        return None
    return any(
        gateway_secrets.opens(key, row.sealed_key, _bound_to(row)) for row in rows
    )


def install() -> None:
    """Register the check of the gateway key; called at start-up."""
    keys.register_witness("gateway", key_opens)


def settings_of(row: GatewaySetup | None) -> MemoryConfig:
    """Return a set-up as a strategy needs it; raise sealing.Broken for a lost key."""
    if row is None or row.mode == Mode.CURATED:
        return MemoryConfig()
    return MemoryConfig(
        Mode(row.mode),
        gateway_of(row, gateway_secrets.unseal(row.sealed_key, _bound_to(row))),
    )


def gateway_of(row: GatewaySetup, key: Secret) -> GatewayConfig:
    """Return the gateway's settings of a set-up with this key."""
    return GatewayConfig(
        base_url=row.base_url,
        user_id=row.user_id,
        user_key=key,
        scope=config.scopes(row.scope),
        app_id=row.app_id,
        project_id=row.project_id,
        top_k=row.top_k,
        timeout_seconds=row.timeout_seconds,
    )


# ── Changes ──────────────────────────────────────────────────────────────────
def _with_kept_key(section: Mapping[str, Any], row: GatewaySetup) -> dict[str, Any]:
    """Return a section with the stored key added where it may be reused."""
    gateway = section.get("gateway")
    if not isinstance(gateway, Mapping) or gateway.get("userKey") or not row.sealed_key:
        return dict(section)
    base = gateway.get("baseUrl")
    if not isinstance(base, str) or config.address(base) != row.base_url:
        return dict(section)
    try:
        key = gateway_secrets.unseal(row.sealed_key, _bound_to(row)).reveal()
    except gateway_secrets.Broken:
        return dict(section)
    return {**section, "gateway": {**gateway, "userKey": key}}


def _check_reach(gateway: GatewayConfig) -> None:
    if not gateway_client.is_allowed(gateway.base_url):
        detail = gettext("A memory gateway may not lie on a private address here.")
        raise errors.Invalid(detail, code="private_address")
    if gateway.timeout_seconds > MAX_SECONDS:
        detail = gettext("timeoutSeconds is at most {limit} here.")
        detail = detail.format(limit=f"{MAX_SECONDS:.0f}")
        raise errors.Invalid(detail, code="bad_gateway_config")


def _fill(row: GatewaySetup, config_values: MemoryConfig, by: Actor) -> None:
    """Fill a row from a valid section; curated clears the gateway's fields."""
    row.mode = config_values.mode.value
    row.updated_at, row.updated_by = timezone.now(), by.label
    gateway = config_values.gateway or NO_GATEWAY
    row.base_url, row.user_id = gateway.base_url, gateway.user_id
    row.app_id, row.project_id = gateway.app_id, gateway.project_id
    row.scope = [scope.value for scope in gateway.scope]
    row.top_k, row.timeout_seconds = gateway.top_k, gateway.timeout_seconds
    row.sealed_key = ""
    if config_values.gateway:
        row.sealed_key = gateway_secrets.seal(gateway.user_key, _bound_to(row))


def _record(row: GatewaySetup, by: Actor) -> None:
    new = NewEntry(
        entry_type="gateway_setup.chosen",
        severity=Severity.NOTICE,
        summary=f"Turns use {row.mode} memory",
        payload={"mode": row.mode, "agent_id": row.agent_id, "scope": row.scope},
        refs={"setup_id": row.id},
        crew_id=row.agent.crew_id if row.agent else None,
    )
    journal.write([new], by=by)


def save(
    section: Mapping[str, Any], *, agent_id: str | None = None, by: Actor
) -> GatewaySetup:
    """Set the memory of turns; ConfigError for a bad section, without its values."""
    by.require(PERMISSION)
    agent = workspace_tree.agent(by, agent_id) if agent_id else None
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(pk=by.workspace_id)
        rows = GatewaySetup.objects.filter(workspace_id=by.workspace_id, agent=agent)
        row = rows.first() or GatewaySetup(workspace_id=by.workspace_id, agent=agent)
        parsed = config.parse({config.SECTION: _with_kept_key(section, row)})
        if parsed.gateway is not None:
            _check_reach(parsed.gateway)
        _fill(row, parsed, by)
        row.save()
        _record(row, by)
    return row


def remove(setup_id: str, *, by: Actor) -> None:
    """Delete a set-up with its key; the workspace's applies again."""
    by.require(PERMISSION)
    with transaction.atomic():
        rows = GatewaySetup.objects.filter(workspace_id=by.workspace_id, pk=setup_id)
        row = rows.select_related("agent").first()
        if row is None:
            raise errors.NotFound
        agent_id = row.agent_id
        rows.delete()
        new = NewEntry(
            entry_type="gateway_setup.removed",
            severity=Severity.NOTICE,
            summary="A memory set-up of turns was removed",
            payload={"agent_id": agent_id},
            refs={"setup_id": setup_id},
        )
        journal.write([new], by=by)
