"""Whether the memory gateways that turns use answered when they were last called."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from django.db.models import OuterRef, Subquery
from django.utils import timezone

from memory.integrations.gateway.settings import PERMISSION
from memory.models import GatewaySetup, JournalEntry, Workspace
from memory.rules import entries
from memory.rules.entries import ActorType
from memory.rules.permissions import Actor

CALLS: Final = ("recall", "add", "flush")
REMOVED: Final = "gateway_setup.removed"
SETUPS_READ: Final = 50


@dataclass(frozen=True, slots=True)
class GatewayState:
    """The gateways in use, and when a call to one of them last went well or failed.

    Calls from before a set-up changed do not count: they may have gone elsewhere.
    """

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
    """Return the newest success and failure with the set-ups of now, by an index."""
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

    setups = GatewaySetup.objects.filter(workspace_id=OuterRef("pk"))
    # Of people only: an agent may write entries of any such type.
    removals = newest.filter(entry_type=REMOVED, actor_type=ActorType.USER.value)
    succeeded, failed = of("succeeded"), of("failed")
    changes = {
        "changed": Subquery(setups.order_by("-updated_at").values("updated_at")[:1]),
        "removed": Subquery(removals.values("ts")[:1]),
    }
    rows = Workspace.objects.annotate(**succeeded, **failed, **changes)
    times = rows.values(*succeeded, *failed, *changes).get(pk=workspace_id)
    # Cut to milliseconds, as the times of entries are.
    moments = [entries.round_ms(times[name]) for name in changes if times[name]]
    # None when the last agent with a set-up was deleted meanwhile.
    since = max(moments, default=timezone.now())
    answers = [times[name] for name in succeeded if times[name]]
    failures = [times[name] for name in failed if times[name]]
    return (
        max((at for at in answers if at >= since), default=None),
        max((at for at in failures if at >= since), default=None),
    )
