"""What waits in the machine: embedder, index, jobs, connections, health of crews."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.urls import reverse
from django.utils.translation import gettext, ngettext

from crewship_memory.machine import Machine
from crewship_memory.templatetags.ui import number
from crewship_memory.work_line import Rank, WorkLine, count_phrase
from episodic.health import overview as recall_overview
from episodic.web.health_page import CrewLine
from memory import webhooks
from memory.integrations.gateway.state import GatewayState
from memory.jobs.status import JobsOverview
from memory.models import ProviderPulse
from memory.rules.permissions import Actor
from memory.web.pages import address


def lines(
    actor: Actor, machine: Machine, health: Sequence[CrewLine]
) -> Iterator[WorkLine]:
    """Return what waits in the machine, in no order."""
    yield from _recall(actor, machine.recall)
    yield from _jobs(machine.jobs)
    yield from _connections(actor, machine.pulse)
    yield from _gateways(actor, machine.gateways)
    yield from _health(actor, health)


def _recall(actor: Actor, card: recall_overview.Card) -> Iterator[WorkLine]:
    """Return an embedder that does not answer, and entries that were given up."""
    may_run = actor.can("index.run")
    if card.embedder.colour == "red":
        yield WorkLine(
            rank=Rank.BROKEN,
            phrase=gettext("the embedder does not answer"),
            note=gettext("recall is by words alone; {note}").format(
                note=card.embedder.note
            ),
            url=reverse("episodic:index"),
            act=gettext("Open the index") if may_run else "",
            since=card.embedder.checked_at,
        )
    if card.status.failed:
        yield WorkLine(
            rank=Rank.BROKEN,
            phrase=count_phrase(
                ngettext(
                    "{count} entry has no vector after every try",
                    "{count} entries have no vector after every try",
                    card.status.failed,
                ),
                card.status.failed,
            ),
            note=gettext("what has no vector cannot be recalled by meaning"),
            url=reverse("episodic:index"),
            act=gettext("Index again") if may_run else "",
        )


def _jobs(jobs: JobsOverview | None) -> Iterator[WorkLine]:
    lines = [*jobs.stuck, *jobs.failed] if jobs else []
    names = list(dict.fromkeys(line.job.name for line in lines))
    if not names or jobs is None:
        return
    yield WorkLine(
        rank=Rank.BROKEN,
        phrase=count_phrase(
            ngettext(
                "{count} job is stuck or failed",
                "{count} jobs are stuck or failed",
                len(names),
            ),
            len(names),
        ),
        note=", ".join(dict.fromkeys(gettext(line.job.title) for line in lines)),
        url=reverse("jobs:history", args=names) if len(names) == 1
        else reverse("jobs:board"),
        act=gettext("Open the job") if len(names) == 1 else gettext("Open the jobs"),
        since=lines[0].last.run.started_at if lines[0].last else None,
    )  # fmt: skip


def _connections(actor: Actor, pulse: ProviderPulse | None) -> Iterator[WorkLine]:
    """Return a provider that did not answer, and deliveries that were given up."""
    if pulse is not None and not pulse.ok:
        yield WorkLine(
            rank=Rank.BROKEN,
            phrase=gettext("the provider {name} did not answer").format(
                name=pulse.provider
            ),
            note=pulse.message,
            url=reverse("providers"),
            act=gettext("Open providers") if actor.can("providers.manage") else "",
            since=pulse.checked_at,
        )
    failed = webhooks.failed_count(actor)
    if failed:
        yield WorkLine(
            rank=Rank.HIGH,
            phrase=count_phrase(
                ngettext(
                    "{count} message to a webhook was given up",
                    "{count} messages to webhooks were given up",
                    failed,
                ),
                failed,
                webhooks.FAILED_COUNTED,
            ),
            note=gettext("a message that was given up is sent again on request only"),
            url=reverse("workspace:webhooks"),
            act=gettext("Open webhooks"),
        )


def _health(actor: Actor, crews: Sequence[CrewLine]) -> Iterator[WorkLine]:
    """Return a line each for the crews in red and in yellow; it opens the lowest."""
    for colour, rank in (("red", Rank.HIGH), ("yellow", Rank.LOW)):
        rows = [
            crew for crew in crews if crew.crew_id and crew.judgement.colour == colour
        ]
        if not rows:
            continue
        worst = min(rows, key=lambda crew: crew.judgement.value or 0.0)
        cause = f": {worst.cause.title}" if worst.cause else ""
        yield WorkLine(
            rank=rank,
            phrase=_crews_phrase(colour, worst.slug, len(rows)),
            note=gettext("{crew} at {score}").format(
                crew=worst.slug, score=number(worst.judgement.value or 0.0)
            )
            + cause,
            url=address("health:page", crew_id=worst.crew_id),
            act=gettext("See what helps") if actor.can("health.recompute") else "",
        )


def _crews_phrase(colour: str, slug: str, count: int) -> str:
    if colour == "red":
        one = gettext("the health of {crew} is red")
        text = ngettext("{count} crew is red", "{count} crews are red", count)
    else:
        one = gettext("the health of {crew} is yellow")
        text = ngettext("{count} crew is yellow", "{count} crews are yellow", count)
    return one.format(crew=slug) if count == 1 else count_phrase(text, count)


def _gateways(actor: Actor, gateways: GatewayState | None) -> Iterator[WorkLine]:
    """Return a memory gateway whose newest call failed."""
    if gateways is None or not gateways.is_failing:
        return
    yield WorkLine(
        rank=Rank.BROKEN,
        phrase=gettext("the memory gateway failed at its last call"),
        note=gettext("turns of its agents go on without that memory"),
        url=reverse("workspace:gateway"),
        act=gettext("Open the gateway") if actor.can("workspace.manage") else "",
        since=gateways.failed_at,
    )
