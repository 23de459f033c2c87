"""The access export: all data about a person in one bundle, or an error.

A bundle is requested, made in the background, encrypted at rest, deleted at its expiry,
and every reading of it is recorded. If one holder fails, the export fails: a partial
answer to the person would be wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any, Final

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone, translation
from django.utils.translation import gettext, gettext_noop

from gdpr import audit_log, bundle_files, pagination
from gdpr.cases import decided_rows, leases
from gdpr.data_map import registry
from gdpr.data_map.base import Fate, Holder, Person
from gdpr.export import (
    other_people,
    outcome,
    page_facts,
    portable,
    review,
    storage,
)
from gdpr.export.bundle import Collection, Place
from gdpr.models import (
    ActionKind,
    ActionStatus,
    Case,
    CaseKind,
    CaseState,
    Export,
    ExportState,
    GdprAction,
    Subject,
)
from gdpr.pagination import Page, PageQuery
from memory.jobs import time_box
from memory.journal import append as journal
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.rules.translation import within_sentence

LEASE: Final = timedelta(minutes=15)
LIVE: Final = (ExportState.MAKING, ExportState.REVIEW, ExportState.READY)


class NotReady(errors.AppError):
    """The bundle is still being made, failed, or is gone."""

    code, status, title = (
        "export_not_ready", 409, gettext_noop("Export is not ready"),
    )  # fmt: skip
    sentence = gettext_noop("This export is {state}; it cannot be read.")


# ── Collecting ───────────────────────────────────────────────────────────────
def _place(holder: Holder, person: Person) -> Place:
    matches = list(holder.find(person))
    own_rows = [
        row
        for row in matches
        if person.is_about(holder.name, row.row_id, doubtful=row.doubtful)
    ]
    place = Place(holder.name, holder.title)
    place.left_out = len(matches) - len(own_rows)
    place.shared = sum(row.fate is Fate.REDACT for row in own_rows)
    place.rows = list(holder.export(person, own_rows))
    return place


def _actions(subject: Subject) -> tuple[dict[str, Any], ...]:
    rows = GdprAction.objects.filter(
        workspace_id=subject.workspace_id, subject_ref=subject.id
    )
    return tuple(
        {
            "id": row.id,
            "action": row.get_action_display(),
            "status": row.get_status_display(),
            "reason": row.reason,
            "case_id": row.case_ref,
            "initiated_at": journal.stamp(row.initiated_at),
            "completed_at": journal.stamp(row.completed_at) if row.completed_at else "",
        }
        for row in rows.order_by("initiated_at", "id")
    )


def _subject_json(subject: Subject) -> dict[str, Any]:
    aliases = subject.aliases.order_by("id")
    return {
        "id": subject.id,
        "display_name": subject.display_name,
        "consent": subject.get_consent_display(),
        "aliases": [
            {"kind": alias.get_kind_display(), "value": alias.value}
            for alias in aliases
        ],
    }


def collect(
    subject: Subject, action: GdprAction, case: Case | None = None
) -> Collection:
    """Collect the rows of every place; an error is raised, never skipped.

    A doubtful row is included only if it was decided to be theirs. Labels of choices
    are in the reader's language; the document is in English.
    """
    with translation.override(settings.LANGUAGE_CODE):
        return _collect(subject, action, case)


def _collect(subject: Subject, action: GdprAction, case: Case | None) -> Collection:
    person = registry.person(subject)
    if case is not None:
        person = decided_rows.with_decisions(person, case)
    return Collection(
        subject=_subject_json(subject),
        workspace={"id": subject.workspace_id, "name": subject.workspace.name},
        exported_at=journal.stamp(timezone.now()),
        action_id=action.id,
        places=tuple(
            _place(holder, person) for holder in registry.ALL if not holder.derived
        ),
        actions=_actions(subject),
        **page_facts.of(person, case),
    )


def _require_no_erasure(subject: Subject) -> None:
    """Refuse while the person is being erased: the export would be incomplete."""
    rows = Case.objects.filter(
        workspace_id=subject.workspace_id,
        subject=subject,
        kind=CaseKind.ERASURE,
        state__in=(CaseState.RUNNING, CaseState.VERIFYING),
    )
    if rows.exists():
        detail = gettext("This person is being erased; an export would be incomplete.")
        raise errors.Conflict(detail, code="case_running")


def export_document(subject: Subject, *, reason: str = "", by: Actor) -> dict[str, Any]:
    """Return all data about a person as one JSON document, or raise.

    The audit log gets a row before the search begins, and its result afterwards. Nobody
    looks at it in between: other people's words are covered, the doubtful ones too.
    """
    by.require("gdpr.manage", subject.workspace_id)
    _require_no_erasure(subject)
    action = audit_log.begin(subject.id, ActionKind.EXPORT, by=by, reason=reason)
    try:
        collection = collect(subject, action)
        other_people.require_short(collection)
        reading = other_people.read(collection, registry.person(subject))
        verdicts = review.remembered(subject.workspace_id, reading)
        document = other_people.covered(collection, reading, verdicts).document()
    except Exception as error:
        audit_log.finish(action, ActionStatus.FAILED, error=type(error).__name__)
        raise
    counts = {name: section["rows"] for name, section in document["scope"].items()}
    audit_log.finish(action, ActionStatus.COMPLETED, scope=counts)
    return document


# ── Requesting a bundle ──────────────────────────────────────────────────────
def request(
    subject: Subject, *, case: Case | None = None, reason: str = "", by: Actor
) -> Export:
    """Request a bundle; the next sweep makes it.

    An existing bundle of the same case that is being made, waits or is ready is
    returned instead.
    """
    by.require("gdpr.manage", subject.workspace_id)
    _require_no_erasure(subject)
    if case is not None:
        live = case.exports.filter(state__in=LIVE)
        if (existing := live.order_by("-made_at").first()) is not None:
            return existing
    export = Export.objects.create(
        workspace_id=subject.workspace_id,
        case=case,
        subject_ref=subject.id,
        made_by=by.label,
        expires_at=storage.expiry(subject.workspace_id),
    )
    action = audit_log.begin(
        subject.id,
        ActionKind.EXPORT,
        by=by,
        case_ref=case.id if case else "",
        reason=reason,
        scope={"export": export.id},
    )
    export.counts = {"action": action.id}
    export.save(update_fields=["counts"])
    return export


def _claim(export_id: str) -> Export | None:
    """Claim a bundle by a conditional UPDATE; None when another process has it."""
    now = timezone.now()
    rows = Export.objects.filter(pk=export_id, state=ExportState.MAKING)
    free = rows.filter(leases.unclaimed(now))
    if not free.update(claimed_by=leases.runner_name(), lease_until=now + LEASE):
        return None
    return Export.objects.select_related("workspace", "case").get(pk=export_id)


def make(export: Export) -> Export:
    """Make a bundle unless another process does; a failure is stored on its row."""
    claimed = _claim(export.id)
    if claimed is None:
        return Export.objects.get(pk=export.pk)
    action = GdprAction.objects.get(pk=claimed.counts["action"])
    subject = Subject.objects.filter(pk=claimed.subject_ref).first()
    try:
        if subject is None or subject.erased_at is not None:
            raise errors.NotFound
        _require_no_erasure(subject)
        collection = collect(subject, action, claimed.case)
        if storage.is_portable(claimed):
            collection = portable.part_of(collection)
        person, beat = registry.person(subject), partial(_renew, claimed)
        reading = other_people.read(collection, person, beat)
        if review.waits(claimed, reading):
            return outcome.waiting(claimed, action)
        verdicts = review.verdicts(claimed)
        collection = other_people.covered(collection, reading, verdicts)
        storage.store(claimed, collection, storage.language_of(action.actor_id))
    except Exception as error:  # noqa: BLE001  (all or nothing: any fault fails it whole)
        return outcome.failed(claimed, action, error)
    return outcome.ready(claimed, action, collection)


def _renew(export: Export) -> None:
    """Extend the claim of a bundle that is being made."""
    rows = Export.objects.filter(pk=export.pk, claimed_by=export.claimed_by)
    rows.update(lease_until=timezone.now() + LEASE)


def sweep() -> dict[str, int]:
    """Make waiting bundles and erase expired ones; return how many of each."""
    now, made_count = timezone.now(), 0
    waiting = Export.objects.filter(leases.unclaimed(now), state=ExportState.MAKING)
    for export in list(waiting):
        if time_box.is_over():
            break
        made_count += make(export).state == ExportState.READY
    old = Export.objects.filter(expires_at__lte=now).exclude(state=ExportState.GONE)
    return {
        "made": made_count,
        "gone": sum(_erase_bundle(export) for export in list(old)),
    }


# ── Reading and ending ───────────────────────────────────────────────────────
def exports(by: Actor, *, subject_ref: str = "") -> QuerySet[Export]:
    """Return a workspace's exports, newest first."""
    by.require("gdpr.read")
    rows = Export.objects.filter(workspace_id=by.workspace_id)
    return rows.filter(subject_ref=subject_ref) if subject_ref else rows


def page(by: Actor, page_query: PageQuery, *, subject_ref: str = "") -> Page[Export]:
    rows, question = exports(by, subject_ref=subject_ref), ["exports", subject_ref]
    return pagination.newest(rows, "made_at", page_query, question, by.workspace_id)


def get(export_id: str, *, by: Actor) -> Export:
    """Return one export of the caller's workspace, or raise NotFound."""
    export = exports(by).filter(pk=export_id).first()
    if export is None:
        raise errors.NotFound
    return export


def read(export: Export, *, by: Actor) -> Iterator[bytes]:
    """Return a bundle's decrypted bytes in pieces, and record that it was read.

    Raises NotReady, or ``encrypted_file.Broken`` while reading a changed file.
    """
    by.require("gdpr.manage", export.workspace_id)
    if export.state != ExportState.READY or export.expires_at <= timezone.now():
        is_gone = export.state == ExportState.READY
        state = ExportState.GONE if is_gone else ExportState(export.state)
        raise NotReady(state=within_sentence(str(state.label)))
    if not bundle_files.exists(export):
        raise NotReady(state=within_sentence(str(ExportState.GONE.label)))
    scope = {"export": export.id}
    audit_log.note(export.subject_ref, ActionKind.VIEW, by=by, scope=scope)
    reading = {"last_read_at": timezone.now(), "last_read_by": by.label}
    Export.objects.filter(pk=export.pk).update(**reading)
    payload = {"export_id": export.id, "subject": export.subject_ref}
    outcome.record(export, "gdpr.export_read", "A bundle was read", payload, by)
    return storage.pieces(export)


def _erase_bundle(export: Export) -> bool:
    bundle_files.erase(export)
    rows = Export.objects.filter(pk=export.pk).exclude(state=ExportState.GONE)
    is_erased = bool(rows.update(state=ExportState.GONE, sha256="", error=""))
    # Afterwards: whoever makes it stores no more words.
    export.words.all().delete()
    return is_erased


def remove(export: Export, *, by: Actor) -> bool:
    """Erase a bundle before its expiry; False when it was erased already."""
    by.require("gdpr.manage", export.workspace_id)
    is_erased = _erase_bundle(export)
    if is_erased:
        payload = {"export_id": export.id, "subject": export.subject_ref}
        summary = "A bundle was erased"
        outcome.record(export, "gdpr.export_removed", summary, payload, by)
    return is_erased
