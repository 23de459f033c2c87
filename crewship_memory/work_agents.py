"""What waits about agents, their keys, and people who were invited."""

from __future__ import annotations

from collections.abc import Iterator

from django.urls import reverse
from django.utils.translation import gettext, ngettext

from crewship_memory.work_line import Rank, WorkLine, count_phrase
from episodic.agents import facts
from memory import overview
from memory.accounts import invitations
from memory.rules.permissions import Actor
from memory.web.pages import address


def lines(actor: Actor) -> Iterator[WorkLine]:
    """Return what waits about agents and access, in no order."""
    yield from _over_cap(actor)
    yield from _keys(actor)
    yield from _invitations(actor)


def _over_cap(actor: Actor) -> Iterator[WorkLine]:
    """Return the agents with a file that its tier no longer takes writes for."""
    agent_ids = facts.over_cap_agents(actor)
    if not agent_ids:
        return
    number = len(agent_ids)
    yield WorkLine(
        rank=Rank.MEDIUM,
        phrase=count_phrase(
            ngettext(
                "{count} agent is over a cap", "{count} agents are over a cap", number
            ),
            number,
        ),
        note=gettext("a write that leaves the file over its cap is refused"),
        url=reverse("workspace:agent", args=agent_ids)
        if number == 1
        else address("workspace:agents", show=facts.OVER_CAP.name),
        act=(
            gettext("Shorten its file")
            if number == 1
            else gettext("Shorten their files")
        )
        if actor.can("files.write")
        else "",
    )


def _keys(actor: Actor) -> Iterator[WorkLine]:
    keys = overview.expiring_keys(actor)
    if keys.count:
        yield WorkLine(
            rank=Rank.MEDIUM,
            phrase=count_phrase(
                ngettext(
                    "{count} key ends within 14 days",
                    "{count} keys end within 14 days",
                    keys.count,
                ),
                keys.count,
            ),
            note=gettext("what used a key that has ended can neither write nor recall"),
            url=reverse("workspace:keys"),
            act=gettext("Open keys"),
            due=keys.first,
        )


def _invitations(actor: Actor) -> Iterator[WorkLine]:
    ending = invitations.ending(actor)
    if ending.count:
        yield WorkLine(
            rank=Rank.MEDIUM,
            phrase=count_phrase(
                ngettext(
                    "{count} invitation ends within a day",
                    "{count} invitations end within a day",
                    ending.count,
                ),
                ending.count,
            ),
            note=gettext("its link opens nothing after that; a new one can be made"),
            url=reverse("workspace:members"),
            act=gettext("Open members"),
            due=ending.first,
        )
