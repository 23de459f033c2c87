"""The end of a run: clean the files, search for remaining matches, sign the result."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from django.apps import apps
from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext_noop

from gdpr import audit_log, cache_version
from gdpr.cases import decided_rows, dry_run, leases, sealed_names
from gdpr.certificates import issue as certificates
from gdpr.certificates.issue import Facts
from gdpr.data_map import registry
from gdpr.erasure import execute, failpoints, seal_names
from gdpr.erasure.run_context import Run
from gdpr.models import ActionStatus, CaseStep, Certificate, GdprAction
from gdpr.verification import postgres, search, sqlite
from gdpr.verification.report import Report
from memory.journal import append as journal
from memory.journal import verify
from memory.models import ChainHead
from memory.rules.entries import NewEntry

BUSY: Final = gettext_noop(
    "A reader kept the database's log alive; earlier states of rows may lie in it."
)
NAMELESS: Final = gettext_noop(
    "The sealed names are gone, so that nobody knows what to search for any more."
)
UNTOUCHED: Final = gettext_noop(
    "That entries which this erasure did not touch say what they always said: the links"
    " of the chain and what was left of erased entries were checked, the rest is judged"
    " whenever the journal is verified."
)
UNCONFIRMED: Final = gettext_noop(
    "That {count} of {all} running processes dropped the texts of recent questions from"
    " memory: they did not say so in time. They do at a restart. Vectors are wiped"
    " before the next answer."
)


# ── Cleaning ─────────────────────────────────────────────────────────────────
def clean(run: Run) -> Report:
    """Remove deleted data from the database's files; return a report to fill."""
    report = Report()
    with run.step("residue") as step:
        if connection.vendor == "sqlite":
            report.checkpoint, report.methods = sqlite.clean(run.check_lease)
            step.counts["checkpoint"] = report.checkpoint
            if report.checkpoint[0]:
                report.todo.append(BUSY)
        else:
            result = postgres.clean(_tables(run), run.check_lease)
            report.methods, report.remains, report.todo = result
        report.remains += unconfirmed(run.steps()["processes"])
    failpoints.step("cleaned")
    return report


def unconfirmed(step: CaseStep) -> list[str]:
    """Return the certificate's sentence about processes that did not confirm."""
    count = step.counts.get("unconfirmed", 0)
    if not count:
        return []
    return [UNCONFIRMED.format(count=count, all=step.counts.get("processes", count))]


def _tables(run: Run) -> set[str]:
    """Return the tables whose rows this run may have changed."""
    step_names = {
        name for name, step in run.steps().items() if step.total or step.counts
    }
    labels = {"memory.JournalEntry", "gdpr.Subject", "gdpr.Alias", "gdpr.SubjectLink"}
    for holder in registry.ALL:
        if holder.derived or holder.name in step_names:
            labels.update(holder.tables)
    return {apps.get_model(label)._meta.db_table for label in labels}


# ── Searching ────────────────────────────────────────────────────────────────
def search_all(run: Run, report: Report) -> None:
    """Search every place, every read path and every file; fill the report."""
    certificates_of_run = Certificate.objects.filter(
        workspace_id=run.case.workspace_id, case=run.case, run=run.case.run
    )
    with run.step("verification") as step:
        if sealed_names.get(run.case) is None and not certificates_of_run.exists():
            report.todo.append(NAMELESS)
        holders = execute.searched(run)
        search.run(run.person(), holders, run.tokens, report, run.check_lease)
        if run.is_rectification:
            report.remains.append(execute.REQUESTS_STAY)
        if note := sealed_names.words(run.case).note():
            report.methods.append(note)
        step.counts |= {"searches": report.searches, "found": len(report.traces)}
    failpoints.step("searched")


# ── Closing ──────────────────────────────────────────────────────────────────
def close(run: Run, report: Report) -> None:
    """Sign, record and close: ``complete`` when nothing was found, else ``partial``.

    Each step is done once, however often it is repeated after a crash.
    """
    action = execute.ledger_row(run)
    with run.step("certificate") as step:
        facts = _facts(run, report, action)
        run.renew_lease()
        certificate = certificates.issue(run.case, facts)
        # An earlier runner may have signed already; its result counts.
        result = certificate.result
        failpoints.step("certified")
        if not step.counts.get("told"):
            _record(run, step, result, facts, certificate.id)
        failpoints.step("journaled")
        is_complete = result == "complete"
        status = ActionStatus.COMPLETED if is_complete else ActionStatus.PARTIAL
        proof = {"certificate": certificate.id, "plan_hash": run.plan.plan_hash}
        audit_log.finish(action, status, scope=proof)
        if run.is_rectification:
            # Texts of entries changed, so cached readings are invalid.
            cache_version.bump(run.case.workspace_id)
        failpoints.step("ledger_closed")
        if is_complete:
            seal_names.finalize(run)
        else:
            seal_names.restore(run)
    case_result = {"certificate": certificate.id, "residue": report.as_json()}
    leases.close(run.case, run.runner, result, case_result, by=run.by)
    failpoints.step("closed")


def _facts(run: Run, report: Report, action: GdprAction) -> Facts:
    steps = {step.name: step.counts for step in leases.steps(run.case)}
    places = [holder.name for holder in execute.places(run)]
    count_names = ("deleted", "redacted", "kept")
    # What no holder can reach; the certificate adds backups itself.
    out_of_reach = [s for name, s in registry.OUT_OF_REACH.items() if name != "backups"]
    return Facts(
        result="complete" if report.is_clean else "partial",
        started_at=action.initiated_at,
        finished_at=timezone.now(),
        holders={
            place: {key: int(steps[place].get(key, 0)) for key in count_names}
            for place in places
            if any(steps[place].get(key) for key in count_names)
        },
        plan_hash=run.plan.plan_hash,
        rows_digest=dry_run.digest(run.plan.rows),
        spared_grounds=decided_rows.grounds(run.case, run.plan.rows),
        residue=report.as_json(),
        journal=_journal(run),
        ledger_action=action.id,
        does_not_prove=[*report.remains, UNTOUCHED, *out_of_reach],
    )


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


def _record(
    run: Run, step: CaseStep, result: str, facts: Facts, certificate: str
) -> None:
    """Write the journal entry of the run, and note that: ids and counts only."""
    kind = "rectified" if run.is_rectification else "erased"
    payload = {
        "case_id": run.case.id,
        "subject_id": run.case.subject_ref,
        "run": run.case.run,
        "result": result,
        "holders": {name: dict(counts) for name, counts in facts.holders.items()},
        "certificate": certificate,
    }
    new = NewEntry(
        entry_type=f"gdpr.{kind}",
        summary=f"Case {run.case.id}: {kind}, {result}",
        payload=payload,
    )
    with transaction.atomic():
        journal.write([new], by=run.by)
        leases.progress(step, 0, told=1)
