"""Certificates: what a run proved, signed, without the person's data.

A certificate is issued once per run and never changed; the next run's certificate names
the one it replaces. The runner counted what is inside; here it is put
together, signed, kept and checked.
"""

from __future__ import annotations

import platform
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import django
from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from gdpr import pagination
from gdpr.certificates import document as certificate_document
from gdpr.certificates import identifiers, limits, statement
from gdpr.certificates import keys as signing_keys
from gdpr.certificates.document import Verdict
from gdpr.certificates.identifiers import Sought
from gdpr.certificates.statement import Kept
from gdpr.models import Case, Certificate
from gdpr.pagination import Page, PageQuery
from memory.journal import append as journal
from memory.models import ids
from memory.rules import errors
from memory.rules.permissions import Actor


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a run counted and sought. Of it only digests and numbers are signed.

    ``identifiers`` are values in memory. ``rows_digest`` is the hex SHA-256 of the ids
    of the rows that were acted on. ``places`` are the places that were searched, with
    their counts; ``remains`` the sentences of the search on what it left out.
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
    identifiers: Sequence[Sought] = ()
    places: Sequence[Mapping[str, Any]] = ()
    kept: Sequence[Kept] = ()
    proposed: Mapping[str, int] = field(default_factory=dict)
    methods: Sequence[str] = ()
    remains: Sequence[str] = ()
    does_not_prove: Sequence[str] = ()
    recipients: Mapping[str, Any] = field(default_factory=dict)


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


def _approvals(case: Case) -> dict[str, Any]:
    # Behind an API key is whoever made it.
    opener = getattr(case, "opened_key_maker", "") or case.opened_by_id
    approver = getattr(case, "approved_key_maker", "") or case.approved_by_id
    return {
        "count": 1 if approver else 0,
        "two_persons": bool(approver) and approver != opener,
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
        "identity": statement.identity(case),
        **_checked(case, facts, name, now),
        **({"recipients": dict(facts.recipients)} if facts.recipients else {}),
        "holders": {name: dict(counts) for name, counts in facts.holders.items()},
        "plan_hash": facts.plan_hash,
        "rows_digest": facts.rows_digest,
        "residue": dict(facts.residue),
        "journal": dict(facts.journal),
        "ledger_action": facts.ledger_action,
        "replaces": before.pk if before else None,
        "software": _software(),
    }


def _checked(case: Case, facts: Facts, name: str, now: datetime) -> dict[str, Any]:
    """Return what the certificate says was checked: its verdict and its lists."""
    left_out = limits.not_searched(case, now, facts.remains, facts.recipients)
    unsought = sum(not item.sought_in for item in facts.identifiers)
    verdict = statement.of(
        case,
        facts.residue,
        statement.exceptions(facts.kept, left_out, unsought),
        is_complete=facts.result == "complete",
    )
    code = identifiers.check_code(journal.key(), name)
    return verdict.as_json() | {
        "identifiers": identifiers.as_json(facts.identifiers, code),
        "forms": statement.sought_forms(case),
        "searched": _searched(facts),
        "not_searched": left_out,
        "kept": {
            "rows": [line.as_json() for line in facts.kept],
            "proposed": dict(facts.proposed),
        },
        "rows_spared": _spared(facts.kept),
        "does_not_prove": limits.not_proved(case, facts.does_not_prove),
    }


def _searched(facts: Facts) -> dict[str, Any]:
    counts = ("searches", "files", "bytes_searched")
    return {
        "places": [dict(place) for place in facts.places],
        "reading_paths": statement.reading_paths(),
        "methods": list(facts.methods),
        **{name: facts.residue.get(name, 0) for name in counts},
    }


def _spared(kept: Iterable[Kept]) -> dict[str, Any]:
    """Return the rows that decisions keep, by ground, over all places."""
    counts: Counter[str] = Counter()
    for line in kept:
        if line.code != "rule":
            counts[line.code] += line.rows or 0
    return {"total": counts.total(), "grounds": dict(sorted(counts.items()))}


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


def verdict_of(certificate: Certificate) -> dict[str, Any]:
    """Return the verdict and the exceptions of a certificate, for its case."""
    content = certificate_document.parse(certificate.document)["content"]
    return {name: content[name] for name in ("verdict", "exceptions")}


def kept_by_rule(certificate: Certificate) -> Iterator[str]:
    """Yield why rows stay by a rule of the program, a sentence for each place."""
    content = certificate_document.parse(certificate.document)["content"]
    for line in content.get("kept", {}).get("rows", ()):
        if line["code"] == "rule":
            yield line["sentence"]


def check_code(actor: Actor, certificate: Certificate) -> str:
    """Return the code that tests whether an identifier was among those sought.

    Empty for a certificate of version 1, and after the installation's key changed.
    """
    actor.require("gdpr.manage", certificate.workspace_id)
    content = certificate_document.parse(certificate.document)["content"]
    code = identifiers.check_code(journal.key(), certificate.pk)
    section = content.get("identifiers", {})
    is_current = section.get("check_code_sha256") == identifiers.fingerprint(code)
    return code if is_current else ""


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
