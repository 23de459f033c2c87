"""The parts of the installation that a workspace leans on, each with its state."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext, ngettext

from crewship_memory.templatetags.ui import number
from episodic.health import overview as recall_overview
from memory.integrations.gateway import state as gateway_state
from memory.integrations.gateway.state import GatewayState
from memory.jobs import status as job_status
from memory.jobs.status import JobsOverview
from memory.models import ProviderPulse
from memory.providers import parity_runs
from memory.providers.registry import Entry
from memory.rules.permissions import Actor


@dataclass(frozen=True, slots=True)
class Part:
    """One part: a band with a word, a figure and a note; ``at`` is when it was so."""

    name: str
    colour: str
    word: str
    figure: str
    note: str
    url: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """The state of recall, jobs, provider and gateways.

    None is what the actor may not read, or what the workspace does not use.
    """

    recall: recall_overview.Card
    jobs: JobsOverview | None
    provider: Entry | None
    pulse: ProviderPulse | None
    gateways: GatewayState | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts besides recall, in the order of the page."""
        parts = []
        if self.provider is not None:
            parts.append(_provider(self.provider, self.pulse))
        if self.gateways is not None:
            parts.append(_gateways(self.gateways))
        if self.jobs is not None:
            parts.append(_jobs(self.jobs))
        return tuple(parts)


def read(actor: Actor) -> Machine:
    """Return the state of every part that the actor may read, without new checks."""
    provider, pulse = None, None
    if actor.can("providers.read"):
        provider, pulse = parity_runs.last_pulse(actor)
    jobs = job_status.overview(actor) if actor.can("jobs.read") else None
    gateways = gateway_state.read(actor)
    return Machine(recall_overview.card(actor), jobs, provider, pulse, gateways)


def _provider(entry: Entry, pulse: ProviderPulse | None) -> Part:
    url, name, title = reverse("providers"), gettext("Provider"), gettext(entry.title)
    if pulse is None:
        word = gettext("Not checked yet")
        note = gettext("its page checks whether it answers")
        return Part(name, "", word, title, note, url)
    at = pulse.checked_at
    if pulse.ok:
        note = gettext("at the last check")
        return Part(name, "green", gettext("Answers"), title, note, url, at)
    return Part(name, "red", gettext("No answer"), title, pulse.message, url, at)


def _gateways(gateways: GatewayState) -> Part:
    """Return the memory gateways of turns as one part, by their newest call."""
    url, hosts = reverse("workspace:gateway"), gateways.hosts
    name, figure, word = gettext("Gateway"), hosts[0], gettext("Answers")
    failed, answered = gettext("the last call failed"), gettext("at the last call")
    if len(hosts) > 1:
        # Which of them was called is not recorded; the others may not answer.
        figure = gettext("{count} gateways").format(count=number(len(hosts)))
        word = gettext("Answered")
        failed = gettext("the last call to one of them failed")
        answered = gettext("at the last call to one of them")
    if gateways.is_failing:
        at, no_answer = gateways.failed_at, gettext("No answer")
        return Part(name, "red", no_answer, figure, failed, url, at)
    if gateways.answered_at is None:
        note = gettext("no call since the set-up")
        return Part(name, "", gettext("Not used yet"), figure, note, url)
    return Part(name, "green", word, figure, answered, url, gateways.answered_at)


def _jobs(jobs: JobsOverview) -> Part:
    """Return the jobs as one part; the figure counts those that need somebody."""
    url = reverse("jobs:board")
    ran = sum(line.last is not None for line in jobs.lines)
    if jobs.stuck or jobs.failed:
        names = {line.job.name for line in (*jobs.stuck, *jobs.failed)}
        word = gettext("Stuck") if jobs.stuck else gettext("Failed")
        figure = gettext("{count} of {total}").format(
            count=number(len(names)), total=number(len(jobs.lines))
        )
        return Part(gettext("Jobs"), "red", word, figure, jobs.finding, url)
    count = len(jobs.lines)
    figure = ngettext("{count} job", "{count} jobs", count).format(count=number(count))
    colour, word = ("green", gettext("Done")) if ran else ("", gettext("None ran yet"))
    return Part(gettext("Jobs"), colour, word, figure, jobs.finding, url)
