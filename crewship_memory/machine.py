"""The parts of the installation that a workspace leans on, each with its state."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

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
    url = reverse("providers")
    if pulse is None:
        note = "its page checks whether it answers"
        return Part("Provider", "", "Not checked yet", entry.title, note, url)
    if pulse.ok:
        note = "at the last check"
        return Part(
            "Provider", "green", "Answers", entry.title, note, url, pulse.checked_at
        )
    return Part(
        "Provider", "red", "No answer", entry.title, pulse.message, url,
        pulse.checked_at,
    )  # fmt: skip


def _gateways(gateways: GatewayState) -> Part:
    """Return the memory gateways of turns as one part, by their newest call."""
    url, hosts = reverse("workspace:gateway"), gateways.hosts
    figure, word, place = hosts[0], "Answers", ""
    if len(hosts) > 1:
        # Which of them was called is not recorded; the others may not answer.
        figure, word, place = f"{len(hosts)} gateways", "Answered", " to one of them"
    if gateways.is_failing:
        note, at = f"the last call{place} failed", gateways.failed_at
        return Part("Gateway", "red", "No answer", figure, note, url, at)
    if gateways.answered_at is None:
        note = "no call since the set-up"
        return Part("Gateway", "", "Not used yet", figure, note, url)
    note, at = f"at the last call{place}", gateways.answered_at
    return Part("Gateway", "green", word, figure, note, url, at)


def _jobs(jobs: JobsOverview) -> Part:
    """Return the jobs as one part; the figure counts those that need somebody."""
    url = reverse("jobs:board")
    ran = sum(line.last is not None for line in jobs.lines)
    if jobs.stuck or jobs.failed:
        names = {line.job.name for line in (*jobs.stuck, *jobs.failed)}
        word = "Stuck" if jobs.stuck else "Failed"
        figure = f"{len(names)} of {len(jobs.lines)}"
        return Part("Jobs", "red", word, figure, jobs.finding, url)
    colour, word = ("green", "Done") if ran else ("", "None ran yet")
    return Part("Jobs", colour, word, f"{len(jobs.lines)} jobs", jobs.finding, url)
