"""One run over every integration and provider, as a job that saves each result."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from memory.integrations import registry as integrations
from memory.integrations import selftest_server
from memory.integrations.base import Integration
from memory.integrations.selftest_server import Client, Promise
from memory.jobs import progress, work
from memory.jobs import registry as jobs
from memory.jobs.progress import ResultLine
from memory.jobs.registry import Outcome
from memory.jobs.work import Work
from memory.journal import append as journal
from memory.models import JobRun, ProviderRun, RunState, Workspace
from memory.providers import parity_runs, words
from memory.providers import registry as providers
from memory.providers.parity import suite
from memory.providers.parity.base import Failed, NotApplicable
from memory.providers.parity.suite import FAILED, NOT_APPLICABLE, PASSED
from memory.providers.parity.suite import Outcome as CheckOutcome
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor, system

JOB: Final = "conformance"
KEPT_RUNS: Final = 20
# How long a run that ended stays on the page.
RECENT: Final = timedelta(minutes=10)
PROVIDERS: Final = parity_runs.TESTED_PROVIDERS


@dataclass(frozen=True, slots=True)
class IntegrationStatus:
    """One integration with its last run, None before the first."""

    integration: Integration
    run: ProviderRun | None


@dataclass(frozen=True, slots=True)
class Overview:
    """Every integration and provider; ``current_run`` is the job that runs now.

    ``work`` is that run, or one that ended a moment ago, for those who may see runs.
    """

    integrations: list[IntegrationStatus]
    providers: list[tuple[str, str, ProviderRun | None]]
    current_run: JobRun | None
    work: Work | None

    @property
    def failed(self) -> list[IntegrationStatus]:
        """The integrations that broke a promise in their last run."""
        return [row for row in self.integrations if row.run and row.run.failed]

    @property
    def never_run(self) -> list[IntegrationStatus]:
        """The integrations that never ran here."""
        return [row for row in self.integrations if row.run is None]

    @property
    def runs(self) -> list[tuple[str, ProviderRun]]:
        """The last run of everything that was tried, with its title."""
        rows = [(row.integration.title, row.run) for row in self.integrations]
        rows += [(title, run) for _, title, run in self.providers]
        return [(title, run) for title, run in rows if run is not None]

    @property
    def exceptions(self) -> list[tuple[str, dict[str, str]]]:
        """The promises that the last runs did not keep: broken first, then n/a."""
        outcomes = [
            (title, outcome)
            for title, run in self.runs
            for outcome in run.details
            if outcome["state"] != PASSED
        ]
        return sorted(outcomes, key=lambda pair: pair[1]["state"] != FAILED)

    @property
    def promise_count(self) -> int:
        """How many promises the last runs tried."""
        return sum(len(run.details) for _, run in self.runs)

    @property
    def passed_count(self) -> int:
        """How many of them were kept."""
        return sum(run.passed for _, run in self.runs)


def _run_name(integration: Integration) -> str:
    """Return ``ProviderRun.provider`` of an integration's runs."""
    return f"wire:{integration.name}"


# ── Running ──────────────────────────────────────────────────────────────────
def _try(promise: Promise, new_client: Callable[[], Client]) -> tuple[str, str]:
    try:
        promise.check(new_client())
    except NotApplicable as reason:
        return NOT_APPLICABLE, str(reason)
    except Failed as failure:
        return FAILED, str(failure)
    except Exception as error:  # noqa: BLE001  (an answer may have any shape at all)
        return FAILED, f"{type(error).__name__}: {error}"[:300]
    return PASSED, ""


def try_promises(
    integration: Integration,
    new_client: Callable[[], Client],
    watch: Callable[[CheckOutcome], None] = lambda _: None,
) -> list[CheckOutcome]:
    """Try every promise of an integration, each with agents of its own.

    ``watch`` is called with each outcome.
    """
    outcomes = []
    for number, promise in enumerate(integration.selftest.promises, start=1):
        start = time.perf_counter()
        state, note = _try(promise, new_client)
        milliseconds = round((time.perf_counter() - start) * 1000, 1)
        outcome_id = f"{integration.name}.{number}"
        outcomes.append(
            CheckOutcome(outcome_id, promise.text, state, note, milliseconds)
        )
        watch(outcomes[-1])
    return outcomes


def _keep(
    integration: Integration, outcomes: list[CheckOutcome], *, by: Actor
) -> ProviderRun:
    counts = Counter(outcome.state for outcome in outcomes)
    passed, failed = counts[PASSED], counts[FAILED]
    with transaction.atomic():
        run = ProviderRun.objects.create(
            workspace_id=by.workspace_id,
            provider=_run_name(integration),
            started_at=timezone.now(),
            seconds=round(sum(outcome.milliseconds for outcome in outcomes) / 1000, 2),
            passed=passed,
            failed=failed,
            skipped=counts[NOT_APPLICABLE],
            details=[asdict(outcome) for outcome in outcomes],
            started_by=by.label,
        )
        rows = ProviderRun.objects.filter(
            workspace_id=by.workspace_id, provider=_run_name(integration)
        )
        latest = list(rows.order_by("-id").values_list("pk", flat=True)[:KEPT_RUNS])
        rows.exclude(pk__in=latest).delete()
        entry = NewEntry(
            entry_type="wire.checked",
            severity=Severity.WARN if failed else Severity.INFO,
            summary=f"Connection {integration.name}: {passed} promises kept, "
            f"{failed} broken",
            payload={"wire": integration.name, "passed": passed, "failed": failed},
        )
        journal.write([entry], by=by)
    return run


class _Watch:
    """Reports each outcome to the run, and names what was not kept.

    ``source`` is the integration or provider that is tried.
    """

    def __init__(self) -> None:
        counts = [len(entry.selftest.promises) for entry in integrations.registered()]
        self._total = sum(counts) + len(PROVIDERS) * len(suite.checks())
        self._done = 0
        self.source = ""

    def __call__(self, outcome: CheckOutcome) -> None:
        self._done += 1
        progress.report(self._done, self._total, "promises")
        if outcome.state != PASSED:
            why = "does not apply" if outcome.state == NOT_APPLICABLE else "broken"
            note = f"{why}: {outcome.note}" if outcome.note else why
            progress.add_item(self.source, outcome.id, note)


def lines(_workspace_id: str, items: list[dict[str, str]]) -> list[ResultLine]:
    """Return the promises that a run did not keep, each with why."""
    titles = {entry.name: entry.title for entry in providers.entries()}
    texts = {check.id: check.text for check in suite.checks()}
    for entry in integrations.registered():
        titles[entry.name] = entry.title
        for number, promise in enumerate(entry.selftest.promises, start=1):
            texts[f"{entry.name}.{number}"] = promise.text
    url = f"{reverse('conformance')}#h-unkept"
    return [
        ResultLine(
            f"{gettext(titles.get(item['kind'], item['kind']))}: "
            f"{words.check(texts.get(item['id'], item['id']))}",
            words.note(item["why"]),
            url,
        )
        for item in items
    ]


def run(workspace_id: str) -> Outcome:
    """Try every integration and provider, in workspaces made for the run.

    Takes up to a minute, so the worker does it. The results belong to ``workspace_id``.
    """
    by = system(workspace_id, "conformance")
    counts, watch = {"kept": 0, "broken": 0}, _Watch()
    with selftest_server.running_server() as new_client:
        for integration in integrations.registered():
            watch.source = integration.name
            outcomes = try_promises(integration, new_client, watch)
            saved_run = _keep(integration, outcomes, by=by)
            counts["kept"] += saved_run.passed
            counts["broken"] += saved_run.failed
    workspace = Workspace.objects.get(pk=workspace_id)
    for name in PROVIDERS:
        watch.source = name
        parity = parity_runs.run_now(workspace, name, by=by, watch=watch)
        counts["kept"] += parity.passed
        counts["broken"] += parity.failed
    fault = f"{counts['broken']} promises were broken" if counts["broken"] else ""
    return Outcome(counts, fault)


def begin(*, by: Actor) -> JobRun:
    """Request a run, by the worker where there is one; Conflict while one runs."""
    return jobs.run_now(JOB, by=by)


# ── Results ──────────────────────────────────────────────────────────────────
def overview(*, by: Actor) -> Overview:
    """Return every integration and provider with its last run."""
    by.require("providers.read")
    workspace_id = by.workspace_id
    open_runs = JobRun.objects.filter(
        name=JOB,
        workspace_id=workspace_id,
        state__in=(RunState.WAITING, RunState.RUNNING),
        heartbeat_at__gte=timezone.now() - jobs.STALE,
    )
    return Overview(
        integrations=[
            IntegrationStatus(
                integration, parity_runs.last_run(workspace_id, _run_name(integration))
            )
            for integration in integrations.registered()
        ],
        providers=[
            (entry.name, entry.title, parity_runs.last_run(workspace_id, entry.name))
            for entry in providers.entries()
        ],
        current_run=open_runs.order_by("-pk").first(),
        work=work.latest(by, JOB, within=RECENT),
    )
