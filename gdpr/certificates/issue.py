"""Certificates: what a run proved, signed, without the person's data.

A certificate is issued once per run and never changed; the next run's certificate names
the one it replaces. The runner counted what is inside; here it is put
together, signed, kept and checked.
"""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import django
from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from gdpr import pagination
from gdpr.cases import privacy_settings
from gdpr.certificates import document as certificate_document
from gdpr.certificates import keys as signing_keys
from gdpr.certificates.document import Verdict
from gdpr.models import Case, CaseKind, Certificate
from gdpr.pagination import Page, PageQuery
from memory.journal import append as journal
from memory.models import ids
from memory.rules import errors
from memory.rules.permissions import Actor

# What no run can prove, for the reader who decides whether the rest is enough.
MEDIUM: Final = gettext_noop(
    "That freed blocks of the disk were overwritten: a deleted file's bytes can stay "
    "on the medium until something else is written there. Encryption at rest answers "
    "this."
)
COPIES: Final = gettext_noop(
    "That nobody copied, printed, photographed or forwarded the data before, inside or "
    "outside the organisation."
)
MACHINES: Final = gettext_noop(
    "Anything about the memory, swap space and core dumps of other machines, or about "
    "model providers that were sent the text earlier."
)
REPLICAS: Final = gettext_noop(
    "Anything about replicas, archived write-ahead logs and base backups of "
    "PostgreSQL: they follow their own retention."
)
BACKUPS: Final = gettext_noop(
    "That backups made before this run are gone: the last of them expires on {day} at"
    " the latest, and a restore replays this erasure."
)
BACKUPS_RECTIFIED: Final = gettext_noop(
    "That backups made before this run are gone: the last of them expires on {day} at"
    " the latest, and a restore brings back the text as it was: rectify it again then."
)
# What a run did, in the words that are signed.
IN_PART: Final = gettext_noop(
    "The {kind} of subject {subject} was carried out in part. What is left is counted"
    " under residue; the case stays open."
)
ERASED: Final = gettext_noop(
    "The {kind} of subject {subject} was carried out for the registered identifiers."
)
SEARCHED: Final = gettext_noop(
    "Afterwards every retrieval path and the bytes of every file were searched, and"
    " nothing was found."
)
SEARCHED_BUT_ONE: Final = gettext_noop(
    "Afterwards every retrieval path and the bytes of every file were searched, and"
    " nothing was found but in a row that a person decided to keep."
)
SEARCHED_BUT: Final = gettext_noop(
    "Afterwards every retrieval path and the bytes of every file were searched, and"
    " nothing was found but in {count} rows that a person decided to keep."
)
IN_FIELDS_ONE: Final = gettext_noop(
    "1 identifier, an ordinary word or a number, was sought only in links and in fields"
    " that say who, because in a text such a word means somebody else."
)
IN_FIELDS: Final = gettext_noop(
    "{count} identifiers, ordinary words or numbers, were sought only in links and in"
    " fields that say who, because in a text such a word means somebody else."
)
DONE: Final = gettext_noop("The {kind} of subject {subject} was carried out.")
ERASING_KINDS: Final = (CaseKind.ERASURE, CaseKind.RECTIFICATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a run counted: ids, numbers and digests only, never a person's data.

    ``spared_grounds`` is ground → rows kept by decision. ``rows_digest`` is the hex
    SHA-256 of the ids of the rows that were acted on.
    """

    result: str
    started_at: datetime
    finished_at: datetime
    holders: Mapping[str, Mapping[str, int]]
    plan_hash: str
    rows_digest: str
    residue: Mapping[str, Any]
    journal: Mapping[str, Any]
    ledger_action: str
    spared_grounds: Mapping[str, int] = field(default_factory=dict)
    does_not_prove: Sequence[str] = ()


# ── Issuing ──────────────────────────────────────────────────────────────────
def _stamp(moment: datetime | None) -> str | None:
    return journal.stamp(moment) if moment else None


def _software() -> dict[str, str]:
    versions = {"python": platform.python_version(), "django": django.get_version()}
    if connection.vendor == "sqlite":
        return versions | {"sqlite": sqlite3.sqlite_version}
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        row = cursor.fetchone()
    return versions | {"postgresql": str(row[0])}


def limits(case: Case, now: datetime, extra: Sequence[str] = ()) -> list[str]:
    """Return what a certificate of this case does not prove, as sentences."""
    if case.kind not in ERASING_KINDS:
        return [*extra, COPIES]
    days = privacy_settings.of(case.workspace_id).backup_days
    last = (now + timedelta(days=days)).date()
    is_erasure = case.kind == CaseKind.ERASURE
    backups = (BACKUPS if is_erasure else BACKUPS_RECTIFIED).format(day=f"{last}")
    texts = [MEDIUM, backups, MACHINES, COPIES, *extra]
    return texts if connection.vendor == "sqlite" else [*texts, REPLICAS]


def _fields_note(facts: Facts) -> str:
    """Return a sentence on identifiers not searched for in texts, or empty."""
    identifiers = facts.residue.get("identifiers", {})
    count = identifiers.get("sought_in_links_and_fields", 0)
    if not count:
        return ""
    return f" {IN_FIELDS_ONE if count == 1 else IN_FIELDS.format(count=count)}"


def statement(case: Case, facts: Facts) -> str:
    kind = case.kind
    if facts.result != "complete":
        return IN_PART.format(kind=kind, subject=case.subject_ref)
    if case.kind in ERASING_KINDS:
        count = sum(facts.spared_grounds.values())
        searched = (SEARCHED, SEARCHED_BUT_ONE, SEARCHED_BUT)[min(count, 2)]
        done = ERASED.format(kind=kind, subject=case.subject_ref)
        return f"{done} {searched.format(count=count)}{_fields_note(facts)}"
    return DONE.format(kind=kind, subject=case.subject_ref)


def _approvals(case: Case) -> dict[str, Any]:
    people = {case.opened_by_id, case.executed_by_id, case.approved_by_id} - {""}
    return {
        "count": 1 if case.approved_by_id else 0,
        "two_persons": bool(case.approved_by_id) and len(people) > 1,
        "break_glass": bool(case.break_glass_reason),
    }


def _content(case: Case, facts: Facts, name: str, now: datetime) -> dict[str, Any]:
    before = _last(case)
    return {
        "id": name,
        "version": certificate_document.VERSION,
        "installation": certificate_document.digest_name(settings.SECRET_KEY),
        "workspace_id": case.workspace_id,
        "case_id": case.id,
        "kind": case.kind,
        "result": facts.result,
        "statement": statement(case, facts),
        "run": case.run,
        "subject_id": case.subject_ref,
        "received_at": _stamp(case.received_at),
        "due_at": _stamp(case.extended_until or case.due_at),
        "approved_at": _stamp(case.approved_at),
        "started_at": _stamp(facts.started_at),
        "finished_at": _stamp(facts.finished_at),
        "issued_at": _stamp(now),
        "approvals": _approvals(case),
        "identity_verified": case.identity_at is not None,
        "holders": {name: dict(counts) for name, counts in facts.holders.items()},
        "plan_hash": facts.plan_hash,
        "rows_digest": facts.rows_digest,
        "rows_spared": {
            "total": sum(facts.spared_grounds.values()),
            "grounds": dict(facts.spared_grounds),
        },
        "residue": dict(facts.residue),
        "journal": dict(facts.journal),
        "ledger_action": facts.ledger_action,
        "replaces": before.pk if before else None,
        "software": _software(),
        "does_not_prove": limits(case, now, facts.does_not_prove),
    }


def _last(case: Case) -> Certificate | None:
    rows = Certificate.objects.filter(workspace_id=case.workspace_id, case=case)
    return rows.order_by("-run").first()


def issue(case: Case, facts: Facts) -> Certificate:
    """Sign and store what a run proved; idempotent per run."""
    if facts.result not in ("complete", "partial"):
        raise errors.Invalid("A certificate is complete or partial.", code="bad_result")
    _, private = signing_keys.current()
    with transaction.atomic():
        live = Case.objects.select_for_update(of=("self",)).get(
            workspace_id=case.workspace_id, pk=case.pk
        )
        certificates = Certificate.objects.filter(
            workspace_id=live.workspace_id, case=live
        )
        existing = certificates.filter(run=live.run).first()
        if existing is not None:
            return existing
        now, name = timezone.now(), ids.make("cert")
        content = _content(live, facts, name, now)
        document = certificate_document.sign(content, private)
        return Certificate.objects.create(
            id=name,
            workspace_id=live.workspace_id,
            case=live,
            run=live.run,
            result=facts.result,
            document=document,
            key_id=certificate_document.key_id(certificate_document.public_of(private)),
            replaces_id=content["replaces"],
            issued_at=now,
        )


# ── Reading ──────────────────────────────────────────────────────────────────
def of_case(actor: Actor, case: Case) -> Certificate:
    """Return a case's newest certificate; NotFound before the first."""
    actor.require("gdpr.read", case.workspace_id)
    certificate = _last(case)
    if certificate is None:
        detail = gettext("This case has no certificate yet.")
        raise errors.NotFound(detail, code="no_certificate")
    return certificate


def _in_workspace(actor: Actor) -> QuerySet[Certificate]:
    actor.require("gdpr.read")
    rows = Certificate.objects.filter(workspace_id=actor.workspace_id)
    return rows.select_related("case")


def get(actor: Actor, certificate_id: str) -> Certificate:
    """Return a certificate of the workspace, also a replaced one."""
    certificate = _in_workspace(actor).filter(pk=certificate_id).first()
    if certificate is None:
        raise errors.NotFound
    return certificate


def page(actor: Actor, page_query: PageQuery) -> Page[Certificate]:
    home = actor.workspace_id
    return pagination.newest(
        _in_workspace(actor), "issued_at", page_query, "certificates", home
    )


def count(actor: Actor) -> int:
    return _in_workspace(actor).count()


def replaced(rows: Iterable[Certificate]) -> frozenset[str]:
    """Return the ids of the certificates that a later one replaced."""
    ids = [row.pk for row in rows]
    later = Certificate.objects.filter(replaces_id__in=ids)
    return frozenset(
        str(certificate_id)
        for certificate_id in later.values_list("replaces_id", flat=True)
    )


def verify(
    document: str | bytes | Mapping[str, Any], *, case_id: str = "", workspace: str = ""
) -> Verdict:
    """Check a certificate with this installation's keys and its records.

    Needs no permission: it reveals nothing beyond the document that was passed in.
    """
    verdict = certificate_document.verify(
        document, signing_keys.trusted(), case_id=case_id
    )
    content = verdict.content
    if content is None or not verdict.intact or "unknown_key" in verdict.reasons:
        return verdict
    if workspace and content.get("workspace_id") != workspace:
        verdict.add("wrong_workspace")
    _compare(verdict, content)
    return verdict


def _compare(verdict: Verdict, content: Mapping[str, Any]) -> None:
    """Add reasons unless it is recorded here, unchanged, and the newest of its case."""
    certificate_id = str(content.get("id", ""))[:64]
    row = (
        Certificate.objects.filter(pk=certificate_id).first()
        if certificate_id.isprintable()
        else None
    )
    if row is None:
        verdict.add("not_recorded")
        return
    recorded = certificate_document.parse(row.document)["content"]
    if certificate_document.canonical(recorded) != certificate_document.canonical(
        content
    ):
        verdict.add("not_as_recorded")
    if Certificate.objects.filter(replaces=row).exists():
        verdict.add("replaced")
