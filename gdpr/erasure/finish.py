"""The end of a run: clean the files, search for remaining matches, sign the result."""

from __future__ import annotations

import copy
from typing import Final

from django.apps import apps
from django.db import connection, transaction
from django.utils.translation import gettext_noop

from gdpr import audit_log, cache_version
from gdpr.cases import leases, sealed_names
from gdpr.cases.decided_rows import ONLY_SECOND
from gdpr.certificates import issue as certificates
from gdpr.certificates import limits
from gdpr.certificates.issue import Facts
from gdpr.data_map import registry
from gdpr.erasure import certified_facts, execute, failpoints, seal_names
from gdpr.erasure.run_context import Run
from gdpr.models import ActionStatus, CaseStep, Certificate
from gdpr.verification import postgres, search, second_search, sqlite
from gdpr.verification.report import Report
from memory.journal import append as journal
from memory.rules.entries import NewEntry

BUSY: Final = gettext_noop(
    "A reader kept the database's log alive; earlier states of rows may lie in it."
)
NAMELESS: Final = gettext_noop(
    "The sealed names are gone, so that nobody knows what to search for any more."
)
UNCONFIRMED: Final = gettext_noop(
    "{count} of {all} running processes did not say in time that they dropped the texts"
    " of recent questions from memory; they do at a restart. Vectors are wiped before"
    " the next answer."
)


# ── Cleaning ─────────────────────────────────────────────────────────────────
def clean_and_search(run: Run) -> Report:
    """Clean the database's files and search everything; return the report.

    Bytes that the search finds in a file of SQLite are cleaned more deeply, first in
    short steps, then by rewriting the database, and everything is searched again.
    """
    cleaned = clean(run)
    report = _searched(run, cleaned)
    for clean_more in (_clean_pages, _rewrite):
        if not _needs_more(report):
            break
        clean_more(run, cleaned)
        report = _searched(run, cleaned)
    return report


def _needs_more(report: Report) -> bool:
    # A log that was not emptied would keep the bytes.
    is_emptied = report.checkpoint is not None and not report.checkpoint[0]
    return is_emptied and sqlite.lies_in_database(report.traces)


def _searched(run: Run, cleaned: Report) -> Report:
    """Return a new report that begins with what was cleaned."""
    report = copy.deepcopy(cleaned)
    search_all(run, report)
    return report


def clean(run: Run) -> Report:
    """Remove deleted data from the database's files; return a report to fill."""
    report = Report()
    with run.step("residue") as step:
        if connection.vendor == "sqlite":
            # A killed runner may have left it.
            step.counts["rewriting"] = 0
            answer = sqlite.clean(run.check_lease, _names(run), run.tokens())
            _note_cleaning(step, report, *answer)
        else:
            result = postgres.clean(_tables(run), run.check_lease)
            report.methods, report.remains, report.todo = result
        report.remains += unconfirmed(run.steps()["processes"])
    failpoints.step("cleaned")
    return report


def _clean_pages(run: Run, cleaned: Report) -> None:
    """Clean pages again: rows may have moved while they were cleaned."""
    with run.step("residue") as step:
        answer = sqlite.clean_pages(
            run.check_lease, _names(run), run.tokens(), thorough=True
        )
        _note_cleaning(step, cleaned, *answer)
    failpoints.step("cleaned_again")


def _rewrite(run: Run, cleaned: Report) -> None:
    """Rewrite the database, announced in the step: writers wait meanwhile."""
    with run.step("residue") as step:
        leases.progress(step, 0, rewriting=1)
        failpoints.step("rewriting")
        obstacle = sqlite.rewrite()
        step.counts |= {"rewriting": 0, "rewritten": int(not obstacle)}
        if obstacle:
            cleaned.todo.append(obstacle)
        else:
            methods = [sqlite.REWRITTEN]
            _note_cleaning(step, cleaned, sqlite.checkpoint(run.check_lease), methods)
    failpoints.step("rewritten")


def _note_cleaning(
    step: CaseStep, report: Report, checkpoint: list[int], methods: list[str]
) -> None:
    report.checkpoint = step.counts["checkpoint"] = checkpoint
    report.methods += methods
    if checkpoint[0] and BUSY not in report.todo:
        report.todo.append(BUSY)


def _names(run: Run) -> list[str]:
    """Return the names whose bytes are sought, without those that are kept."""
    person = run.person()
    kept_values = {name.value for name in registry.kept_names(person)}
    names = {name.value for name in person.matcher.searched}
    return sorted(names - kept_values)


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
    tables = {apps.get_model(label)._meta.db_table for label in labels}
    for holder in registry.ALL:
        if holder.derived or holder.name in step_names:
            tables |= holder.stored_in(run.case.workspace_id)
    return tables


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
            report.remains.append(limits.REQUESTS_STAY)
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
        facts = certified_facts.of(run, report, action)
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
    case_result = {
        "certificate": certificate.id,
        **certificates.verdict_of(certificate),
        "residue": report.as_json(),
        ONLY_SECOND: report.rows_of(second_search.BY_SECOND),
    }
    leases.close(run.case, run.runner, result, case_result, by=run.by)
    failpoints.step("closed")


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
