"""What the buttons of the health page do, and what they changed.

Each fix is the action of another page; health is measured again right after, so the
result can say what the metrics were and what they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from django.db.models import Q
from django.utils.translation import gettext, ngettext, pgettext

from episodic.consolidation import job as consolidation_job
from episodic.consolidation import run as consolidation
from episodic.health import gains, index_job, outcomes
from episodic.health import snapshots as health
from episodic.health.gains import INDEXED_AT_ONCE, LINKED_AT_ONCE, Gain
from episodic.health.metrics import table as metrics
from episodic.health.outcomes import Words, in_english
from episodic.index import engine, relations, snapshot
from episodic.index import status as index_status
from episodic.models import (
    ConsolidationProposal,
    HealthSnapshot,
    MemoryRelation,
    ProposalState,
)
from episodic.vectors import stored
from memory.figures import decimal, grouped
from memory.models import JobRun, JournalEntry
from memory.rules import errors
from memory.rules.permissions import Actor


@dataclass(frozen=True, slots=True)
class FixResult:
    """What a fix did, in words, and whether all of it went well.

    ``run`` is the job that does it, where it takes longer than a request may.
    """

    text: str
    complete: bool
    run: JobRun | None = None


def fix(kind: str, actor: Actor, crew_id: str | None = None) -> FixResult:
    """Carry out a fix for a scope, measure again, and report before and after."""
    if kind not in FIXES:
        raise errors.NotFound
    actor.require("health.recompute")
    scope = health.scope(actor, crew_id) or None
    before = next(iter(health.history(actor, 400, scope)[-1:]), None)
    if before is not None and FIXES[kind].at_once:
        # What changed since the last measurement is not this fix's doing.
        before = health.recompute(actor, scope)
    gain = _expected(kind, before)
    if kind == "index" and gain and gain.count > INDEXED_AT_ONCE:
        run = index_job.begin(actor, scope)
        text = gettext("Indexing {count} entries").format(count=grouped(gain.count))
        return FixResult(text, complete=True, run=run)
    if kind == "consolidate" and consolidation_job.is_long(actor):
        run = consolidation_job.begin(actor, scope)
        return FixResult(gettext("Looking for rules"), complete=True, run=run)
    words, complete = FIXES[kind].run(actor, scope)
    after = health.recompute(actor, scope)
    if scope:
        # The workspace's score contains the crew's entries as well.
        health.take(actor.workspace_id, [])
    if before is not None and FIXES[kind].at_once:
        outcomes.record(kind, in_english(words), before, after, gain, actor)
    elif before is not None and kind == "recompute":
        _record_approvals(before, after, actor)
    change = _change(kind, before, after)
    return FixResult(f"{words()}. {change}", complete)


def _expected(kind: str, row: HealthSnapshot | None) -> Gain | None:
    expects = FIXES[kind].expects
    if row is None or expects is None or not row.details.get(expects.metric):
        return None
    return expects.gain(row)


def _record_approvals(
    before: HealthSnapshot, after: HealthSnapshot, actor: Actor
) -> None:
    """Record what the rules brought that were approved between two measurements."""
    gain = gains.of_approved(before, after.computed_at)
    if gain.count:
        text = in_english(partial(outcomes.approved, gain.count))
        outcomes.record("proposals", text, before, after, gain, actor)


def _change(kind: str, before: HealthSnapshot | None, after: HealthSnapshot) -> str:
    raised = [metric.name for metric in metrics.METRICS if kind in metric.fixes]
    changes = []
    for name in (*raised, "score"):
        old = metrics.value(before, name) if before else None
        word = pgettext("health", "score") if name == "score" else gettext(name)
        changes.append(f"{word} {_text(old)} → {_text(metrics.value(after, name))}")
    text = ", ".join(changes)
    return text[:1].upper() + text[1:]


def _text(value: float | None) -> str:
    return gettext("no data") if value is None else decimal(value, 1)


# ── The fixes ────────────────────────────────────────────────────────────────
def _index(actor: Actor, crew_id: str | None) -> tuple[Words, bool]:
    entry_ids = None
    if crew_id:
        rows = index_status.pending(actor.workspace_id).filter(crew_id=crew_id)
        rows = rows.order_by("attempts", "-seq")
        entry_ids = list(rows.values_list("pk", flat=True)[:INDEXED_AT_ONCE])
    report = index_status.run(
        actor.workspace_id, by=actor, entry_ids=entry_ids, limit=INDEXED_AT_ONCE
    )
    words = partial(outcomes.indexed, report.indexed, report.failed)
    return words, not report.failed


def _link(actor: Actor, crew_id: str | None) -> tuple[Words, bool]:
    """Link entries that no relation reaches to older ones near enough."""
    actor.require("index.run")
    linked = MemoryRelation.objects.filter(workspace_id=actor.workspace_id)
    rows = snapshot.current(actor.workspace_id).exclude(
        Q(pk__in=linked.values("src")) | Q(pk__in=linked.values("dst"))
    )
    if crew_id:
        rows = rows.filter(crew_id=crew_id)
    newest = rows.order_by("-seq").values_list("entry_id", flat=True)[:LINKED_AT_ONCE]
    vectors = stored.vectors(actor.workspace_id, list(newest))
    entries = JournalEntry.objects.filter(erased_at__isnull=True).in_bulk(list(vectors))
    pairs = [(entry, vectors[entry_id]) for entry_id, entry in entries.items()]
    count = sum(
        relations.link(pairs[at : at + 100], engine.embedder().model)
        for at in range(0, len(pairs), 100)
    )
    return partial(outcomes.linked, count), True


def _consolidate(actor: Actor, crew_id: str | None) -> tuple[Words, bool]:
    """Look for rules; what is proposed changes nothing until somebody approves it."""
    reports = consolidation.of_workspace(by=actor, crew_id=crew_id)
    count = sum(len(report.proposed) for report in reports)
    faults = [f"{report.crew}: {report.error}" for report in reports if report.error]
    read = sum(report.considered for report in reports)
    pending = ConsolidationProposal.objects.filter(
        workspace_id=actor.workspace_id, state=ProposalState.PENDING
    )
    if crew_id:
        pending = pending.filter(crew_id=crew_id)
    words = partial(_consolidated, count, read, pending.count(), faults)
    return words, not faults


def _consolidated(count: int, read: int, waiting: int, faults: list[str]) -> str:
    parts = [
        ngettext("{count} rule proposed", "{count} rules proposed", count).format(
            count=grouped(count)
        )
    ]
    if not count:
        none = ngettext(
            "No new rule in {count} entry read",
            "No new rule in {count} entries read",
            read,
        )
        parts = [none.format(count=grouped(read))]
    if waiting:
        text = ngettext(
            "{count} proposal waits for review, and nothing is linked before somebody "
            "approves",
            "{count} proposals wait for review, and nothing is linked before somebody "
            "approves",
            waiting,
        )
        parts.append(text.format(count=grouped(waiting)))
    return "; ".join([*parts, *faults]).rstrip(".")


@dataclass(frozen=True, slots=True)
class Expectation:
    """How the gain of a fix is computed beforehand, from the details of a metric."""

    metric: str
    gain: Callable[[HealthSnapshot], Gain]


@dataclass(frozen=True, slots=True)
class Fix:
    """A button of the health page.

    ``run`` returns the words for what it did and whether all of it went well.
    ``at_once`` says that it raises a metric by itself: proposed rules wait for somebody
    to approve them.
    ``program_url`` is where a program posts to for the same; None for none.
    """

    run: Callable[[Actor, str | None], tuple[Words, bool]]
    at_once: bool = False
    program_url: str | None = None
    expects: Expectation | None = None


FIXES: Final[dict[str, Fix]] = {
    "index": Fix(
        _index,
        at_once=True,
        program_url="/api/v1/episodic/index",
        expects=Expectation(gains.COVERAGE, gains.of_index),
    ),
    "link": Fix(
        _link, at_once=True, expects=Expectation(gains.REACHABILITY, gains.of_link)
    ),
    "consolidate": Fix(_consolidate),
    "recompute": Fix(
        lambda _actor, _crew_id: (lambda: gettext("Measured again"), True)
    ),
}
