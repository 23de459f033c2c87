"""Whether the memory gateways that turns use answered when they were last called."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from django.db.models import OuterRef, Subquery

from memory.integrations.gateway.settings import PERMISSION
from memory.models import GatewaySetup, JournalEntry, Workspace
from memory.rules import entries
from memory.rules.permissions import Actor

CALLS: Final = ("recall", "add", "flush")
SETUPS_READ: Final = 50


@dataclass(frozen=True, slots=True)
class GatewayState:
    """The gateways in use, and when a call to one of them last went well or failed."""

    hosts: tuple[str, ...]
    answered_at: datetime | None
    failed_at: datetime | None

    @property
    def is_failing(self) -> bool:
        """Whether the newest call failed."""
        if self.failed_at is None:
            return False
        return self.answered_at is None or self.failed_at > self.answered_at


def read(actor: Actor) -> GatewayState | None:
    """Return the state of the gateways; None without any, or for who manages none."""
    if not actor.can(PERMISSION):
        return None
    setups = GatewaySetup.objects.filter(workspace_id=actor.workspace_id)
    setups = setups.exclude(base_url="").order_by("base_url")
    urls = setups.values_list("base_url", flat=True)[:SETUPS_READ]
    hosts = tuple(dict.fromkeys(urlsplit(url).hostname or url for url in urls))
    if not hosts:
        return None
    return GatewayState(hosts, *_newest_calls(actor.workspace_id))


def _newest_calls(workspace_id: str) -> tuple[datetime | None, datetime | None]:
    """Return the newest success and failure: a step in an index for each kind."""
    newest = JournalEntry.objects.filter(workspace_id=OuterRef("pk"))
    newest = newest.order_by("-ts", "-seq")

    def of(outcome: str) -> dict[str, Subquery]:
        kinds = {call: f"{entries.UNSEARCHED}{call}_{outcome}" for call in CALLS}
        return {
            f"{call}_{outcome}": Subquery(
                newest.filter(entry_type=kind).values("ts")[:1]
            )
            for call, kind in kinds.items()
        }

    succeeded, failed = of("succeeded"), of("failed")
    times: list[datetime | None] = list(
        Workspace.objects.annotate(**succeeded, **failed)
        .values_list(*succeeded, *failed)
        .get(pk=workspace_id)
    )
    answers, failures = times[: len(CALLS)], times[len(CALLS) :]
    return (
        max((at for at in answers if at), default=None),
        max((at for at in failures if at), default=None),
    )
