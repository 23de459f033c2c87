"""Drawing rules from what happened: a crew's entries since its watermark, once each.

The watermark is the number of the last entry considered, so that downtime loses
nothing; too few entries leave it where it is, and they wait. Rules become proposals,
the journal is told and the watermark moves in one transaction: a run that dies before
that is simply repeated. No rule gets into a file here, whoever asks for the run.
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

from episodic.consolidation import approval, candidates, pins, proposals
from episodic.consolidation.candidates import Window
from episodic.models import ConsolidationMark, ConsolidationProposal
from episodic.summarisers import base
from episodic.summarisers.base import Rule, Summariser, SummariserError
from episodic.summarisers.extractive import Extractive
from episodic.summarisers.ollama import OllamaSummariser
from memory import workspace_tree
from memory.files.paths import Owner
from memory.journal import append as journal
from memory.models import Crew, JournalEntry
from memory.ports import subject_linker
from memory.ports.subject_linker import Gate
from memory.rules import errors, permissions
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor

LEAST: Final = 10
LEASE: Final = timedelta(minutes=10)


@dataclass(slots=True)
class Done:
    """What a run did for one crew. ``skipped`` and ``error`` are sentences or empty.

    Of the rules found, some were proposed; others were known already, held by the
    scanner, or refused because their evidence did not hold, or because they are about
    a person who must not come back.
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


def summariser() -> Summariser:
    """Return the configured summariser: a chat model when one is named."""
    if settings.CONSOLIDATE_MODEL:
        return OllamaSummariser(
            settings.OLLAMA_HOST,
            settings.CONSOLIDATE_MODEL,
            timeout=settings.CONSOLIDATE_TIMEOUT,
        )
    return Extractive()


# ── One at a time ────────────────────────────────────────────────────────────
def _lease(crew: Crew) -> None:
    """Take the crew for this run; raise Conflict while another run has it."""
    ConsolidationMark.objects.get_or_create(
        crew=crew, defaults={"workspace_id": crew.workspace_id}
    )
    now = timezone.now()
    free = Q(lease_until__isnull=True) | Q(lease_until__lt=now)
    rows = ConsolidationMark.objects.filter(free, crew=crew)
    if not rows.update(lease_until=now + LEASE):
        detail = "This crew is being consolidated right now."
        raise errors.Conflict(detail, code="already_running")


def _let_go(crew: Crew) -> None:
    ConsolidationMark.objects.filter(crew=crew).update(lease_until=None)


def run(crew: Crew, *, by: Actor, using: Summariser | None = None) -> Done:
    """Consolidate one crew up to now, a batch at a time."""
    by.require("consolidate.run", crew.workspace_id)
    chosen, done = using or summariser(), Done(crew.slug)
    _lease(crew)
    try:
        while _step(crew, chosen, done, by):
            until = timezone.now() + LEASE
            ConsolidationMark.objects.filter(crew=crew).update(lease_until=until)
    except SummariserError as error:
        done.error = str(error)
    finally:
        _let_go(crew)
    return done


def _step(crew: Crew, chosen: Summariser, done: Done, by: Actor) -> bool:
    """Consider the next batch; return whether there is another one."""
    mark = ConsolidationMark.objects.get(crew=crew)
    window = candidates.window(crew, mark, chosen.batch)
    pinned = pins.write(crew, window.marked, by=by)
    done.pins += pinned.written
    done.pins_waiting = len(pinned.waiting)
    if len(window.entries) < LEAST and not window.has_permanent:
        waiting = list(pinned.waiting)
        ConsolidationMark.objects.filter(crew=crew).update(waiting_pins=waiting)
        if not done.considered:
            done.skipped = f"{len(window.entries)} new of the {LEAST} entries it takes"
        return False
    material = candidates.material(window)
    found = base.checked(chosen.rules(material), material)
    done.refused += found.refused
    kept, again = _news(crew, found.rules, done, by)
    with transaction.atomic():
        _move(mark, window, pinned.waiting)
        _find_again(again)
        # The strongest last: lists show the newest first.
        rows = [propose(crew, rule, chosen.name) for rule in reversed(kept)]
        _tell(crew, rows, window, chosen.name, by)
    done.considered += len(window.entries)
    done.proposed += [row.id for row in rows]
    return window.has_more


# ── Rules ────────────────────────────────────────────────────────────────────
def _news(
    crew: Crew, rules: Sequence[Rule], done: Done, by: Actor
) -> tuple[list[Rule], list[ConsolidationProposal]]:
    """Return the rules that nobody has seen and that the scanner lets pass.

    Beside them the proposals, decided or not, that were found once more.
    """
    owner = Owner(crew)
    standing = list(ConsolidationProposal.objects.filter(crew=crew))
    taught = proposals.headings(proposals.learned(owner))
    gate = subject_linker.gate(crew.workspace_id)
    kept: list[Rule] = []
    found_again: dict[str, ConsolidationProposal] = {}
    for rule in rules:
        known = [*taught, *(one.pattern for one in kept)]
        again = [one for one in standing if _is_again(rule, one.pattern)]
        if again or any(_is_again(rule, pattern) for pattern in known):
            found_again |= {one.id: one for one in again}
            done.known += 1
        elif approval.why_held(owner, f"{rule.pattern}\n{rule.action}", by):
            done.held += 1
        elif gate is not None and _names_somebody_gone(gate, rule):
            done.refused += 1
        else:
            kept.append(rule)
    return kept, list(found_again.values())


def _names_somebody_gone(gate: Gate, rule: Rule) -> bool:
    """Whether a rule is about a person who was erased or opted out."""
    try:
        gate((rule.pattern, rule.action), ())
    except errors.Conflict:
        return True
    return False


def _is_again(rule: Rule, pattern: str) -> bool:
    same = proposals.key(rule.pattern) == proposals.key(pattern)
    return same or proposals.is_alike(rule.pattern, pattern)


def _find_again(rows: Sequence[ConsolidationProposal]) -> None:
    """Count that waiting rules were found once more, and score them anew."""
    for row in rows:
        if row.is_pending:
            row.runs, row.last_found_at = row.runs + 1, timezone.now()
            proposals.rescore(row)
            row.save(update_fields=["runs", "last_found_at", "signals", "score"])


def propose(crew: Crew, rule: Rule, name: str) -> ConsolidationProposal:
    """Put a rule before the people who decide."""
    text = proposals.block(rule.pattern, rule.action, rule.confidence, rule.evidence)
    made = ConsolidationProposal(
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
    proposals.rescore(made)
    made.save(force_insert=True)
    told = subject_linker.Written(str(made.pk), (text, rule.pattern))
    subject_linker.note(crew.workspace_id, "proposals", [told])
    return made


# ── The end of a batch ───────────────────────────────────────────────────────
def _move(mark: ConsolidationMark, window: Window, waiting: Sequence[str]) -> None:
    """Move the watermark, unless somebody else did in the meantime."""
    rows = ConsolidationMark.objects.filter(crew_id=mark.crew_id, seq=mark.seq)
    moved = rows.update(
        seq=window.upto,
        runs=F("runs") + 1,
        waiting_pins=list(waiting),
        last_run_at=timezone.now(),
    )
    if not moved:
        detail = "Another run considered these entries."
        raise errors.Conflict(detail, code="already_running")


def _tell(
    crew: Crew,
    rows: Sequence[ConsolidationProposal],
    window: Window,
    name: str,
    by: Actor,
) -> JournalEntry:
    """Leave an entry, also when nothing was found: the run happened."""
    count, seen = len(rows), len(window.entries)
    rules = f"{count} rule{'' if count == 1 else 's'}"
    kind = "memory.consolidation_proposed" if rows else "memory.consolidated"
    verb = "wait for a decision" if count != 1 else "waits for a decision"
    new = NewEntry(
        entry_type=kind,
        severity=Severity.NOTICE if rows else Severity.INFO,
        summary=f"{seen} entries of {crew.slug} considered, "
        + (f"{rules} {verb}" if rows else "no rule found"),
        payload={
            "rules_count": count,
            "entries_scanned": seen,
            "upto_seq": window.upto,
            "model": name,
        },
        refs={"proposal_ids": [row.id for row in rows]},
        crew_id=crew.id,
    )
    return journal.write([new], by=by)[0]


# ── Many crews ───────────────────────────────────────────────────────────────
def of_workspace(*, by: Actor, crew_id: str | None = None) -> list[Done]:
    """Consolidate a workspace's crews, or one of them; no crew stops another."""
    by.require("consolidate.run")
    chosen = [workspace_tree.crew(by, crew_id)] if crew_id else workspace_tree.crews(by)
    return [_one(crew, by) for crew in chosen]


def _one(crew: Crew, by: Actor) -> Done:
    try:
        return run(crew, by=by)
    except errors.HouseError as error:
        return Done(crew.slug, error=error.detail)


def _as_clock(workspace_id: str) -> Actor:
    return permissions.system(workspace_id, "consolidation")


def of_clock(workspace_id: str) -> list[Done]:
    """Consolidate a workspace as the clock, once its entries have their vectors."""
    if candidates.is_index_behind(workspace_id):
        return []
    return of_workspace(by=_as_clock(workspace_id))


def begin() -> list[Done]:
    """Consolidate crews that never were, as soon as their entries have vectors."""
    new = Crew.objects.filter(consolidation__isnull=True).select_related("workspace")
    return [
        _one(crew, _as_clock(crew.workspace_id))
        for crew in new.order_by("id")
        if not candidates.is_index_behind(crew.workspace_id)
    ]
