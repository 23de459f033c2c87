"""The review queue: lists, filters, groups of similar cases, one case.

Every list is bound to the reviewer's workspace. Open cases come highest risk first,
decided cases newest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from django.db.models import Count, Min, Q, QuerySet
from django.utils import timezone

from memory import lookup, pagination, scanner
from memory.files import restricted
from memory.models import Agent, HeldFile, HeldState
from memory.review import decide as review
from memory.review.decide import Decision
from memory.rules import bulk, errors
from memory.rules.bulk import Item, Outcome, Pick
from memory.rules.permissions import Actor
from memory.rules.translation import gettext
from memory.scanner.similarity import SAME_FROM

LIST_LIMIT: Final = 100
BULK_LIMIT: Final = bulk.LIMIT
SIMILAR_LIMIT: Final = 500
AGES: Final = {
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
}
OLDER: Final = "older"
STATES: Final = tuple(HeldState.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldFilter:
    """Filters of a list; empty matches any. ``age`` is hour, day, week or older."""

    state: str = ""
    source: str = ""
    agent_id: str = ""
    family: str = ""
    tier: str = ""
    age: str = ""
    q: str = ""

    @property
    def digest(self) -> str:
        """A digest of the filters; a cursor is valid only for the same one."""
        return pagination.digest(asdict(self))


@dataclass(frozen=True, slots=True)
class HeldPage:
    """One page of cases, highest risk first; ``next_cursor`` is None on the last."""

    items: list[HeldFile]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class StateCounts:
    """The number of cases in each state, and when the oldest open one was received.

    ``by_state`` are the states with their labels and counts, held first.
    """

    by_state: list[tuple[str, str, int]]
    held: int
    oldest: datetime | None


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices of the filters: only values that occur."""

    sources: list[str]
    families: list[str]
    agents: list[tuple[str, str]]


# ── One case, and lists ──────────────────────────────────────────────────────
def held_file(actor: Actor, held_id: str) -> HeldFile:
    """Return a case of the actor's workspace."""
    actor.require("quarantine.read")
    rows = HeldFile.objects.filter(workspace_id=actor.workspace_id, pk=held_id)
    rows = restricted.visible_held(rows, actor)
    return lookup.required(rows.select_related("crew__workspace", "agent"), pk=held_id)


def open_case_count(actor: Actor) -> int | None:
    """Return how many cases are open, None without permission to read them."""
    if not actor.can("quarantine.read"):
        return None
    rows = HeldFile.objects.filter(workspace_id=actor.workspace_id)
    return rows.filter(state=HeldState.HELD).count()


def _aged(rows: QuerySet[HeldFile], age: str) -> QuerySet[HeldFile]:
    if not age:
        return rows
    if age == OLDER:
        return rows.filter(received_at__lt=timezone.now() - AGES["week"])
    if age not in AGES:
        raise errors.unknown_value("age", [*AGES, OLDER])
    return rows.filter(received_at__gte=timezone.now() - AGES[age])


def filtered(actor: Actor, filters: HeldFilter) -> QuerySet[HeldFile]:
    """Return the cases that match; the source of every list, count and group."""
    actor.require("quarantine.read")
    if filters.state and filters.state not in STATES:
        raise errors.unknown_value("state", STATES)
    rows = HeldFile.objects.filter(workspace_id=actor.workspace_id)
    for name in ("state", "source", "agent_id", "family", "tier"):
        value = getattr(filters, name)
        if value:
            rows = rows.filter(**{name: value})
    if filters.q.strip():
        words = filters.q.strip()
        rows = rows.filter(
            Q(label__icontains=words)
            | Q(written_by__icontains=words)
            | Q(reason__icontains=words)
            | Q(findings__icontains=words)
            | Q(pk=words)
        )
    rows = restricted.visible_held(_aged(rows, filters.age), actor)
    return rows.select_related("crew__workspace", "agent")


def page(
    actor: Actor, filters: HeldFilter, *, limit: int, cursor: str | None = None
) -> HeldPage:
    """Return a page of cases, highest risk first, then oldest first."""
    rows = filtered(actor, filters)
    if cursor:
        risk, at, held_id = pagination.read(cursor, actor.workspace_id, filters.digest)
        number, moment = float(risk), pagination.moment(at)
        rows = rows.filter(
            Q(risk__lt=number)
            | Q(risk=number, received_at__gt=moment)
            | Q(risk=number, received_at=moment, pk__gt=held_id)
        )
    cases = list(rows.order_by("-risk", "received_at", "pk")[: limit + 1])
    if len(cases) <= limit:
        return HeldPage(cases, None)
    last = cases[limit - 1]
    place: list[str | int] = [repr(last.risk), last.received_at.isoformat(), last.pk]
    return HeldPage(
        cases[:limit], pagination.make(actor.workspace_id, filters.digest, place)
    )


def listing(actor: Actor, filters: HeldFilter) -> list[HeldFile]:
    """Return the cases of the page: open ones by risk, decided ones newest first."""
    rows = filtered(actor, filters)
    if filters.state == HeldState.HELD:
        return list(rows.order_by("-risk", "received_at", "pk")[:LIST_LIMIT])
    return list(rows.order_by("-decided_at", "pk")[:LIST_LIMIT])


def state_counts(actor: Actor) -> StateCounts:
    """Return the counts for the head of the page."""
    actor.require("quarantine.read")
    rows = HeldFile.objects.filter(workspace_id=actor.workspace_id)
    counts = dict(rows.order_by().values_list("state").annotate(n=Count("pk")))
    oldest = rows.filter(state=HeldState.HELD).aggregate(at=Min("received_at"))["at"]
    by_state = [(s.value, str(s.label), counts.get(s.value, 0)) for s in HeldState]
    return StateCounts(by_state, counts.get(HeldState.HELD.value, 0), oldest)


def choices(actor: Actor) -> Choices:
    """Return the values that occur among the cases, for the filters."""
    actor.require("quarantine.read")
    rows = HeldFile.objects.filter(workspace_id=actor.workspace_id).order_by()
    agents = Agent.objects.filter(pk__in=rows.values("agent_id")).order_by("slug")
    return Choices(
        sources=sorted(rows.values_list("source", flat=True).distinct()),
        families=sorted(rows.values_list("family", flat=True).distinct()),
        agents=[(agent.id, agent.slug) for agent in agents],
    )


# ── Similar cases ────────────────────────────────────────────────────────────
def _is_similar(case: HeldFile, other: HeldFile) -> bool:
    if case.fingerprint == other.fingerprint:
        return True
    return scanner.similarity(case.signature, other.signature) >= SAME_FROM


@dataclass(slots=True)
class Group:
    """Cases with nearly the same text; ``lead`` has the highest risk."""

    lead: HeldFile
    count: int = 1


def groups(cases: Sequence[HeldFile]) -> list[Group]:
    """Return groups of two or more cases with nearly the same text, largest first.

    A case joins the first group whose lead it resembles, so that a chain of small
    changes does not join texts that differ.
    """
    result: list[Group] = []
    for case in cases[:SIMILAR_LIMIT]:
        group = next((group for group in result if _is_similar(group.lead, case)), None)
        if group is None:
            result.append(Group(case))
        else:
            group.count += 1
    bulk_groups = [group for group in result if group.count > 1]
    return sorted(bulk_groups, key=lambda group: -group.count)


def fresh(actor: Actor, cases: Sequence[HeldFile]) -> list[HeldFile]:
    """Return the same cases as they are now, in their order, in one query."""
    rows = filtered(actor, HeldFilter()).in_bulk([case.pk for case in cases])
    return [rows[case.pk] for case in cases if case.pk in rows]


def similar_cases(actor: Actor, case: HeldFile) -> list[HeldFile]:
    """Return the other open cases with nearly the same text."""
    filters = HeldFilter(state=HeldState.HELD.value)
    candidates = filtered(actor, filters).exclude(pk=case.pk)
    rows = candidates.order_by("-risk", "received_at")[:SIMILAR_LIMIT]
    return [other for other in rows if _is_similar(case, other)]


def decide_many(
    actor: Actor, picks: Sequence[Pick], decision: Decision, *, reason: str
) -> list[Item]:
    """Decide cases, each by itself; one of another workspace is not found.

    A pick without a version is decided as it is now.
    """
    actor.require("quarantine.decide")
    if not reason.strip():
        detail = gettext("A decision needs a reason.")
        raise errors.Invalid(detail, code="reason_required")

    def act(case: HeldFile, pick: Pick) -> Outcome:
        version = pick.number if pick.version else case.version
        live = review.decide(case, decision, version=version, reason=reason, by=actor)
        return Outcome(state=live.state, version=live.version)

    return bulk.run(picks, partial(_cases, actor), act, title=_label)


def undo_many(actor: Actor, picks: Sequence[Pick]) -> list[Item]:
    """Undo decisions, each by itself, of cases that did not change since."""
    actor.require("quarantine.decide")

    def act(case: HeldFile, pick: Pick) -> Outcome:
        live = review.undo(case, version=pick.number, by=actor)
        return Outcome(state=live.state, version=live.version)

    return bulk.run(picks, partial(_cases, actor), act, title=_label)


def _cases(actor: Actor, ids: list[str]) -> dict[str, HeldFile]:
    rows = HeldFile.objects.filter(workspace_id=actor.workspace_id, pk__in=ids)
    return restricted.visible_held(rows, actor).in_bulk(ids)


def _label(case: HeldFile) -> str:
    return f"{case.label} · {case.id}"
