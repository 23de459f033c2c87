"""What a run hands to its certificate: counts, what was sought, what was kept."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.utils import timezone
from django.utils.translation import gettext_noop

from gdpr.cases import decided_rows, dry_run, leases
from gdpr.certificates import identifiers, statement
from gdpr.certificates.issue import Facts
from gdpr.certificates.statement import Kept
from gdpr.data_map import journal as journal_place
from gdpr.data_map import registry
from gdpr.data_map.base import Fate, Person
from gdpr.erasure import execute
from gdpr.erasure.run_context import Run
from gdpr.models import GdprAction
from gdpr.recipients import queries as recipients
from gdpr.verification.report import Report
from memory.journal import verify
from memory.models import ChainHead

COUNT_NAMES: Final = ("deleted", "redacted", "kept")
UNTOUCHED: Final = gettext_noop(
    "That entries which this erasure did not touch say what they always said: the links"
    " of the chain and what was left of erased entries were checked, the rest is judged"
    " whenever the journal is verified."
)


def of(run: Run, report: Report, action: GdprAction) -> Facts:
    """Return the facts of a run that was searched."""
    person = run.person()
    holders = _counts(run)
    kept = _kept(run, person, holders)
    kept_values = [name.value for name in registry.kept_names(person)]
    residue = report.as_json()
    # They have lists of their own in the certificate.
    methods, remains = residue.pop("methods"), residue.pop("remains")
    return Facts(
        result="complete" if report.is_clean else "partial",
        started_at=action.initiated_at,
        finished_at=timezone.now(),
        holders={
            place: counts for place, counts in holders.items() if any(counts.values())
        },
        plan_hash=run.plan.plan_hash,
        rows_digest=dry_run.digest(run.plan.rows),
        residue=residue,
        journal=_journal(run),
        ledger_action=action.id,
        identifiers=identifiers.sought(person.matcher.names_known, kept_values),
        places=list(_places(holders, report)),
        kept=kept,
        proposed=dry_run.doubts(run.plan)["proposed"],
        methods=methods,
        remains=remains,
        does_not_prove=[UNTOUCHED],
        recipients=recipients.certified(run.case),
    )


def _counts(run: Run) -> dict[str, dict[str, int]]:
    """Return place → how many rows the run deleted, redacted and kept."""
    steps = {step.name: step.counts for step in leases.steps(run.case)}
    return {
        holder.name: {
            name: int(steps[holder.name].get(name, 0)) for name in COUNT_NAMES
        }
        for holder in execute.places(run)
    }


def _places(
    holders: Mapping[str, Mapping[str, int]], report: Report
) -> Iterator[dict[str, Any]]:
    """Yield every place that was searched. Rows of a derived one go with another's."""
    traces = Counter(trace.place for trace in report.traces)
    for holder in registry.ALL:
        counts = dict(holders.get(holder.name, dict.fromkeys(COUNT_NAMES, 0)))
        yield {
            "name": holder.name,
            "title": holder.title,
            **counts,
            "found": traces[holder.name],
        }


def _kept(
    run: Run, person: Person, holders: Mapping[str, dict[str, int]]
) -> list[Kept]:
    """Return the rows that stay, by place and reason: by decision, then by rule.

    Of a place whose rows make no plan stale, such as letters, the plan may not have
    them: they are counted as they are now.
    """
    decided = decided_rows.kept(run.case, run.plan.rows)
    lines = statement.by_decision(decided)
    for place, counts in holders.items():
        by_decision = sum(decided[key] for key in decided if key[0] == place)
        is_volatile = place in dry_run.VOLATILE
        if is_volatile or counts["kept"] > by_decision:
            by_rule = list(_kept_by_rule(person, place))
            lines += by_rule
            if is_volatile:
                counts["kept"] = by_decision + sum(line.rows or 0 for line in by_rule)
    return lines


def _kept_by_rule(person: Person, place: str) -> Iterator[Kept]:
    """Yield the rows of a place that its own rule keeps, as they are now."""
    counts = Counter[str]()
    for row in registry.by_name(place).find(person):
        if row.fate is Fate.KEEP and not person.is_kept(place, row.row_id):
            # Who acted is one line of the plan and stands in any number of entries.
            counts[row.why] += row.row_id != journal_place.ACTOR
    for sentence, count in sorted(counts.items()):
        yield Kept(place, "rule", sentence, count or None)


def _journal(run: Run) -> dict[str, Any]:
    """Return whether the chain verifies, with its head.

    Checks all links and seals; the text of other entries is the nightly check's part.
    """
    workspace_id = run.case.workspace_id
    report = verify.verify_links(workspace_id, by=run.by)
    head = ChainHead.objects.filter(pk=workspace_id).first()
    return {
        "ok": report.ok,
        "entries": report.count,
        "erased": report.erased,
        "redacted": report.redacted,
        "head_hash": head.entry_hash if head else hashlib.sha256().hexdigest(),
    }
