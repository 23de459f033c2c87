"""Consolidation: rules from a crew's entries since its watermark, once each.

The watermark is the number of the last entry considered, so that downtime loses
nothing; too few entries leave it unmoved. Proposals, their journal entry and the
watermark are written in one transaction: a run that ends before that is repeated. No
rule is written to a file here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext

from episodic.consolidation import approval, candidates, pins, proposals
from episodic.consolidation.candidates import Window
from episodic.models import ConsolidationMark, ConsolidationProposal
from episodic.summarisers import base
from episodic.summarisers.base import Rule, Summariser, SummariserError
from episodic.summarisers.extractive import Extractive
from episodic.summarisers.ollama import OllamaSummariser
from memory import workspace_tree
from memory.files.paths import Owner
from memory.jobs import progress, time_box
from memory.journal import append as journal
from memory.models import Crew, JournalEntry
from memory.ports import subject_linker
from memory.ports.subject_linker import Gate
from memory.rules import errors, permissions
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor

MIN_ENTRIES: Final = 10
LEASE: Final = timedelta(minutes=10)


@dataclass(slots=True)
class CrewReport:
    """The result of a run for one crew; ``skipped`` and ``error`` are sentences or "".

    Of the rules found, some were proposed; others were known already, held by the
    scanner, or refused: invalid evidence, or the name of a suppressed person.
    """

    crew: str
    considered: int = 0
    proposed: list[str] = field(default_factory=list)
    known: int = 0
    held: int = 0
    refused: int = 0
    pins: int = 0
    pins_waiting: int = 0
    skipped: str = ""
    error: str = ""


def chat_model() -> OllamaSummariser | None:
    """Return the configured chat model."""
    if not settings.CONSOLIDATE_MODEL:
        return None
    return OllamaSummariser(
        settings.OLLAMA_HOST,
        settings.CONSOLIDATE_MODEL,
        timeout=settings.CONSOLIDATE_TIMEOUT,
    )


def summariser() -> Summariser:
    return chat_model() or Extractive()


# ── One at a time ────────────────────────────────────────────────────────────
def _lease(crew: Crew) -> None:
    """Lease the crew for this run; raise Conflict while another run has it."""
    ConsolidationMark.objects.get_or_create(
        crew=crew, defaults={"workspace_id": crew.workspace_id}
    )
    now = timezone.now()
    free = Q(lease_until__isnull=True) | Q(lease_until__lt=now)
    rows = ConsolidationMark.objects.filter(free, crew=crew)
    if not rows.update(lease_until=now + LEASE):
        detail = gettext("This crew is being consolidated right now.")
        raise errors.Conflict(detail, code="already_running")


def run(crew: Crew, *, by: Actor, using: Summariser | None = None) -> CrewReport:
    """Consolidate one crew up to now, a batch at a time."""
    by.require("consolidate.run", crew.workspace_id)
    model, report = using or summariser(), CrewReport(crew.slug)
    _lease(crew)
    mark = ConsolidationMark.objects.filter(crew=crew)
    try:
        while _step(crew, model, report, by):
            mark.update(lease_until=timezone.now() + LEASE)
            if time_box.is_over():
                break
    except SummariserError as error:
        report.error = str(error)
    finally:
        mark.update(lease_until=None)
    return report


def _step(crew: Crew, model: Summariser, report: CrewReport, by: Actor) -> bool:
    """Consider the next batch; return whether there is another one."""
    mark = ConsolidationMark.objects.get(crew=crew)
    window = candidates.window(crew, mark, model.batch)
    pin_report = pins.write(crew, window.marked, by=by)
    report.pins += pin_report.count
    report.pins_waiting = len(pin_report.pending_ids)
    if len(window.entries) < MIN_ENTRIES and not window.has_permanent:
        pending_ids = list(pin_report.pending_ids)
        ConsolidationMark.objects.filter(crew=crew).update(waiting_pins=pending_ids)
        if not report.considered:
            report.skipped = gettext(
                "{count} new of the {least} entries it takes"
            ).format(count=len(window.entries), least=MIN_ENTRIES)
        return False
    material = candidates.material(window)
    rules = model.rules(material)
    valid_rules = base.checked(rules, material)
    report.refused += len(rules) - len(valid_rules)
    new_rules, repeated = _new_rules(crew, valid_rules, report, by)
    with transaction.atomic():
        _move_watermark(mark, window, pin_report.pending_ids)
        _count_repeats(repeated)
        # The strongest last: lists show the newest first.
        rows = [propose(crew, rule, model.name) for rule in reversed(new_rules)]
        _record(crew, rows, window, model.name, by)
    report.considered += len(window.entries)
    report.proposed += [row.id for row in rows]
    progress.advance(len(window.entries))
    for row in rows:
        progress.add_item("proposal", row.id)
    return window.has_more


# ── Rules ────────────────────────────────────────────────────────────────────
def _new_rules(
    crew: Crew, rules: Sequence[Rule], report: CrewReport, by: Actor
) -> tuple[list[Rule], list[ConsolidationProposal]]:
    """Return the new rules that the scanner allows, and the proposals found again.

    Proposals found again may be decided or not.
    """
    owner = Owner(crew)
    existing = list(ConsolidationProposal.objects.filter(crew=crew))
    learned = proposals.headings(proposals.learned(owner))
    gate = subject_linker.gate(crew.workspace_id)
    new: list[Rule] = []
    repeated: dict[str, ConsolidationProposal] = {}
    for rule in rules:
        patterns = [*learned, *(row.pattern for row in new)]
        repeats = [row for row in existing if _is_same(rule, row.pattern)]
        if repeats or any(_is_same(rule, pattern) for pattern in patterns):
            repeated |= {row.id: row for row in repeats}
            report.known += 1
        elif approval.hold_reason(owner, f"{rule.pattern}\n{rule.action}", by):
            report.held += 1
        elif gate is not None and _names_suppressed_person(gate, rule):
            report.refused += 1
        else:
            new.append(rule)
    return new, list(repeated.values())


def _names_suppressed_person(gate: Gate, rule: Rule) -> bool:
    """Whether a rule is about a person who was erased or opted out."""
    try:
        gate((rule.pattern, rule.action), ())
    except errors.Conflict:
        return True
    return False


def _is_same(rule: Rule, pattern: str) -> bool:
    same_key = proposals.key(rule.pattern) == proposals.key(pattern)
    return same_key or proposals.is_alike(rule.pattern, pattern)


def _count_repeats(rows: Sequence[ConsolidationProposal]) -> None:
    """Count that pending rules were found again, and rescore them."""
    for row in rows:
        if row.is_pending:
            row.runs, row.last_found_at = row.runs + 1, timezone.now()
            proposals.rescore(row)
            row.save(update_fields=["runs", "last_found_at", "signals", "score"])


def propose(crew: Crew, rule: Rule, name: str) -> ConsolidationProposal:
    text = proposals.block(rule.pattern, rule.action, rule.confidence, rule.evidence)
    row = ConsolidationProposal(
        workspace_id=crew.workspace_id,
        crew=crew,
        pattern=rule.pattern,
        pattern_key=proposals.key(rule.pattern),
        action=rule.action,
        text=text,
        content_hash=proposals.digest(text),
        confidence=rule.confidence,
        evidence=list(rule.evidence),
        summariser=name,
    )
    proposals.rescore(row)
    row.save(force_insert=True)
    texts = subject_linker.TextRow(str(row.pk), (text, rule.pattern))
    subject_linker.note(crew.workspace_id, "proposals", [texts])
    return row


# ── The end of a batch ───────────────────────────────────────────────────────
def _move_watermark(
    mark: ConsolidationMark, window: Window, pending_ids: Sequence[str]
) -> None:
    """Move the watermark; Conflict when another run moved it meanwhile."""
    rows = ConsolidationMark.objects.filter(crew_id=mark.crew_id, seq=mark.seq)
    updated = rows.update(
        seq=window.upto,
        runs=F("runs") + 1,
        waiting_pins=list(pending_ids),
        last_run_at=timezone.now(),
    )
    if not updated:
        detail = gettext("Another run considered these entries.")
        raise errors.Conflict(detail, code="already_running")


def _record(
    crew: Crew,
    rows: Sequence[ConsolidationProposal],
    window: Window,
    name: str,
    by: Actor,
) -> JournalEntry:
    """Write the run to the journal, also when no rule was found."""
    count, considered = len(rows), len(window.entries)
    rules = f"{count} rule{'' if count == 1 else 's'}"
    kind = "memory.consolidation_proposed" if rows else "memory.consolidated"
    verb = "wait for a decision" if count != 1 else "waits for a decision"
    new = NewEntry(
        entry_type=kind,
        severity=Severity.NOTICE if rows else Severity.INFO,
        summary=f"{considered} entries of {crew.slug} considered, "
        + (f"{rules} {verb}" if rows else "no rule found"),
        payload={
            "rules_count": count,
            "entries_scanned": considered,
            "upto_seq": window.upto,
            "model": name,
        },
        refs={"proposal_ids": [row.id for row in rows]},
        crew_id=crew.id,
    )
    return journal.write([new], by=by)[0]


# ── Many crews ───────────────────────────────────────────────────────────────
def of_workspace(*, by: Actor, crew_id: str | None = None) -> list[CrewReport]:
    """Consolidate a workspace's crews, or one; one crew's error stops no other."""
    by.require("consolidate.run")
    crews = [workspace_tree.crew(by, crew_id)] if crew_id else workspace_tree.crews(by)
    return [_run_or_report(crew, by) for crew in crews]


def _run_or_report(crew: Crew, by: Actor) -> CrewReport:
    try:
        return run(crew, by=by)
    except errors.AppError as error:
        return CrewReport(crew.slug, error=error.detail)


def _scheduler(workspace_id: str) -> Actor:
    return permissions.system(workspace_id, "consolidation")


def on_schedule(workspace_id: str) -> list[CrewReport]:
    """Consolidate a workspace on schedule, once its entries have their vectors."""
    if candidates.is_index_behind(workspace_id):
        return []
    return of_workspace(by=_scheduler(workspace_id))


def begin() -> list[CrewReport]:
    """Consolidate crews for the first time, once their entries have vectors."""
    new = Crew.objects.filter(consolidation__isnull=True).select_related("workspace")
    return [
        _run_or_report(crew, _scheduler(crew.workspace_id))
        for crew in new.order_by("id")
        if not candidates.is_index_behind(crew.workspace_id)
    ]
