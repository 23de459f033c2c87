"""The operations on personal data, as rows for ``tests.api.operations``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from django.utils import timezone

from gdpr import suppression
from gdpr.cases import dry_run, legal_holds
from gdpr.cases import workflow as cases
from gdpr.cases.legal_holds import NewHold
from gdpr.cases.workflow import NewCase
from gdpr.certificates import issue as certificates
from gdpr.export import make as export
from gdpr.letters import keeping, templates
from gdpr.letters.keeping import NewLetter
from gdpr.models import (
    Case,
    CaseKind,
    Certificate,
    Export,
    ExportState,
    Hold,
    Letter,
    LetterTemplate,
    Recipient,
    RetentionRule,
    Subject,
    Suppression,
)
from gdpr.recipients import actions as recipient_actions
from gdpr.recipients import contacts as recipient_contacts
from gdpr.recipients.actions import NewRecipient
from gdpr.retention import rules as retention_rules
from gdpr.retention.rules import NewRule
from gdpr.subjects import registry as subjects
from gdpr.subjects.registry import NewAlias
from tests.gdpr import kit
from tests.gdpr import recipients as of_recipients
from tests.gdpr import requests as make
from tests.world import World


def subject(world: World) -> Subject:
    """Return the person that the operations are about."""
    if "subject" not in world.kept:
        world.kept["subject"] = make.subject(world)
    result: Subject = world.kept["subject"]
    return result


def case(world: World) -> Case:
    """Return an open erasure of the person, opened by the system."""
    if "case" not in world.kept:
        new = NewCase(
            subject_id=subject(world).id,
            kind=CaseKind.ERASURE,
            reason="Left",
            **make.UNIDENTIFIED,
        )
        world.kept["case"] = cases.open_case(new, by=world.system())
    result: Case = world.kept["case"]
    return result


def hold(world: World) -> Hold:
    """Return a hold on the person's journal entries."""
    if "hold" not in world.kept:
        new = NewHold(
            reason="Audit",
            review_at=timezone.now() + timedelta(days=30),
            scope="journal",
        )
        world.kept["hold"] = legal_holds.place(
            subject(world), new, by=world.system(), places=frozenset({"journal"})
        )
    result: Hold = world.kept["hold"]
    return result


def exported(world: World) -> Export:
    """Return a bundle about the person, ready to download."""
    if "export" not in world.kept:
        new_export = export.request(subject(world), by=world.system())
        world.kept["export"] = export.make(new_export)
    row: Export = world.kept["export"]
    return row


def waiting_words(world: World) -> Export:
    """Return a bundle about the person that waits for a decision on a word."""
    row: Export | None = world.kept.get("export")
    if row is None or row.state != ExportState.REVIEW:
        row = world.kept["export"] = words_of(world, subject(world))
    return row


def words_of(world: World, person: Subject) -> Export:
    """Return a bundle about somebody that waits for a decision on a word."""
    entry = world.entry("A letter that Ingrid wrote to Karim Haddad")
    kit.link(person, "journal", entry.id)
    return export.make(export.request(person, by=world.system()))


def plan_hash(world: World) -> str:
    """Return the hash of the case's plan, made by the system."""
    if "plan_hash" not in world.kept:
        plan = dry_run.make(case(world), by=world.system())
        world.kept["plan_hash"] = plan.plan_hash
    return str(world.kept["plan_hash"])


def certified(world: World) -> Certificate:
    return certificates.issue(case(world), make.facts())


def alias(world: World) -> str:
    """Return the id of an alias of the person."""
    new = NewAlias("email", "maria@example.org")
    return str(subjects.add_alias(subject(world).id, new, by=world.system()).pk)


def suppressed(world: World) -> str:
    """Return the id of a suppressed name."""
    alias(world)
    suppression.suppress(subject(world))
    row = Suppression.objects.filter(workspace_id=world.acme.id).latest("pk")
    return str(row.pk)


def retention_rule(world: World) -> RetentionRule:
    """Return a rule of retention, added once, switched off."""
    rule = RetentionRule.objects.filter(workspace=world.acme).first()
    new = NewRule(place="journal", kind="llm.call", days=30, reason="Old")
    return rule or retention_rules.add(new, by=world.actor("owner"))


def letter(world: World) -> Letter:
    """Return a kept letter of the case, not sent."""
    row = Letter.objects.filter(case=case(world), sent_at=None).first()
    new = NewLetter(
        occasion="received", language="en", subject="Your request", body="It arrived."
    )
    return row or keeping.keep(case(world), new, by=world.system())


def letter_text(world: World) -> str:
    """Return which text the workspace has of its own, as a query."""
    where = templates.place("received", "", "en")
    row = LetterTemplate.objects.filter(workspace=world.acme).first()
    if row is None:
        templates.save(where, "Hello", "{greeting}", 0, by=world.system())
    return "occasion=received&language=en&version=1"


def recipient(world: World) -> Recipient:
    """Return a recipient of the person's case, which is complete."""
    if "recipient" not in world.kept:
        new = NewRecipient(name="Print shop")
        world.kept["recipient"] = recipient_actions.add(
            case(world), new, by=world.system()
        )
        of_recipients.complete(case(world))
    row: Recipient = world.kept["recipient"]
    return row


def notified(world: World) -> Recipient:
    """Return the recipient, notified by hand."""
    if "notified" not in world.kept:
        row = of_recipients.fresh(recipient(world))
        world.kept["notified"] = recipient_actions.notify_by_hand(
            row, by=world.system()
        )
    row = world.kept["notified"]
    assert isinstance(row, Recipient)
    return row


def contact(world: World) -> str:
    """Return the id of an address of a recipient."""
    row = recipient_contacts.put("shop", "dpo@shop.example", by=world.system())
    return str(row.pk)


def _merging(world: World) -> Any:
    return {"into": make.subject(world).id}


PARTS: Final[dict[str, Callable[[World], str]]] = {
    "subject_id": lambda world: subject(world).id,
    "subject": lambda world: subject(world).id,
    "alias_id": lambda world: alias(world),
    "suppression_id": lambda world: suppressed(world),
    "case_id": lambda world: case(world).id,
    "hold_id": lambda world: hold(world).pk,
    "rule_id": lambda world: retention_rule(world).pk,
    "certificate_id": lambda world: certified(world).pk,
    "export_id": lambda world: exported(world).pk,
    "recipient_id": lambda world: recipient(world).pk,
    "contact_id": lambda world: contact(world),
    "place": lambda _: "journal",
    "letter_id": lambda world: letter(world).pk,
}


def _opening(world: World) -> Any:
    return {"subject_id": subject(world).id, "kind": "access", "reason": "Asked"}


def _executing(world: World) -> Any:
    digest = plan_hash(world)
    return {"plan_hash": digest, "phrase": cases.phrase(case(world), digest)}


def _deciding(world: World) -> Any:
    """Keep an entry that its writer linked to the person."""
    if "linked" not in world.kept:
        world.kept["linked"] = world.entry("A talk about boats").id
        kit.link(subject(world), "journal", world.kept["linked"])
    return {
        "plan_hash": plan_hash(world),
        "verdict": "spared",
        "rows": [{"place": "journal", "id": world.kept["linked"]}],
        "ground": "must_stay",
        "reason": "A court asked",
    }


def _holding(_: World) -> Any:
    soon = timezone.now() + timedelta(days=30)
    return {"reason": "Audit", "review_at": soon.isoformat()}


_REASON: Final = {"reason": "because"}
_PATH: Final = "/gdpr/cases/{case_id}"
_SUBJECT: Final = "/gdpr/subjects/{subject_id}"
_RECIPIENT: Final = f"{_PATH}/recipients/{{recipient_id}}"
_HOLDS: Final = "/gdpr/subjects/{subject_id}/holds"
#                own ope com vie age red loo str nob exp rev
_LIST: Final = "200 403 200 403 403 403 200 200 401 401 401"
_READ: Final = "200 403 200 403 403 403 200 404 401 401 401"
_WRITE: Final = "200 403 200 403 403 403 403 404 401 401 401"
_MAKE: Final = "201 403 201 403 403 403 403 404 401 401 401"
_OPEN: Final = "200 200 200 200 200 200 200 200 200 200 200"

# id, method, path, statuses, body, query, before
ROWS: Final[tuple[tuple[Any, ...], ...]] = (
    ("open_case", "post", "/gdpr/cases", _MAKE, _opening),
    ("list_cases", "get", "/gdpr/cases", _LIST),
    ("get_case", "get", _PATH, _READ),
    ("verify_identity", "post", f"{_PATH}/identity", _WRITE,
     lambda _: {"how": "by code"}),
    ("skip_identity", "post", f"{_PATH}/skip_identity", _WRITE,
     lambda _: {"ground": "own_decision", **_REASON}),
    ("plan_case", "post", f"{_PATH}/plan", _WRITE),
    ("decide_rows", "post", f"{_PATH}/decisions", _WRITE, _deciding),
    ("approve_case", "post", f"{_PATH}/approve", _WRITE,
     lambda world: {"plan_hash": plan_hash(world)}),
    ("execute_case", "post", f"{_PATH}/execute",
     "202 403 202 403 403 403 403 404 401 401 401", _executing),
    ("extend_case", "post", f"{_PATH}/extend", _WRITE,
     lambda _: {**_REASON, "months": 1}),
    ("refuse_case", "post", f"{_PATH}/refuse", _WRITE, lambda _: dict(_REASON)),
    ("assign_case", "post", f"{_PATH}/assign", _WRITE,
     lambda _: {"assignee": "owner@acme.example"}),
    ("comment_case", "post", f"{_PATH}/comments", _MAKE,
     lambda _: {"text": "Called twice"}),
    ("attach_to_case", "post", f"{_PATH}/attachments", _MAKE,
     lambda _: {"name": "letter.pdf", "sha256": "a" * 64, "bytes": 900}),
    ("get_certificate", "get", f"{_PATH}/certificate", _READ, None, None, certified),
    ("list_certificates", "get", "/gdpr/certificates", _LIST),
    ("read_certificate", "get", "/gdpr/certificates/{certificate_id}", _READ),
    ("verify_certificate", "post", "/gdpr/certificates/verify", _OPEN),
    ("public_keys", "get", "/gdpr/keys", _OPEN),
    ("create_subject", "post", "/gdpr/subjects",
     "201 403 201 403 403 403 403 201 401 401 401",
     lambda _: {"aliases": [{"kind": "email", "value": "maria@example.org"}]}),
    ("list_subjects", "get", "/gdpr/subjects", _LIST),
    ("get_subject", "get", _SUBJECT, _READ),
    ("add_alias", "post", f"{_SUBJECT}/aliases", _MAKE,
     lambda _: {"kind": "name", "value": "Maria Keller"}),
    ("remove_alias", "delete", f"{_SUBJECT}/aliases/{{alias_id}}",
     "204 403 204 403 403 403 403 404 401 401 401"),
    ("dismiss_address", "post", f"{_SUBJECT}/not_theirs", _WRITE,
     lambda _: {"kind": "email", "value": "jan@example.org"}),
    ("merge_subject", "post", f"{_SUBJECT}/merge", _WRITE, _merging),
    ("note_consent", "post", f"{_SUBJECT}/consent", _WRITE,
     lambda _: {"consent": "given"}),
    ("lift_restriction", "post", f"{_SUBJECT}/lift_restriction", _WRITE,
     lambda _: dict(_REASON)),
    ("list_suppressions", "get", "/gdpr/suppressions", _LIST),
    ("lift_suppression", "post", "/gdpr/suppressions/{suppression_id}/lift", _WRITE,
     lambda _: dict(_REASON)),
    ("list_holds", "get", "/gdpr/holds", _LIST),
    ("list_subject_holds", "get", _HOLDS, _READ),
    ("place_hold", "post", _HOLDS, _MAKE, _holding),
    ("release_hold", "delete", f"{_HOLDS}/{{hold_id}}", _WRITE,
     lambda _: dict(_REASON)),
    ("forward_request", "post", "/gdpr/requests",
     "201 403 201 403 403 403 403 201 401 401 401",
     lambda _: {"kind": "access", "email": "mara@example.org"}),
    ("list_retention_rules", "get", "/gdpr/retention", _LIST),
    ("add_retention_rule", "post", "/gdpr/retention",
     "201 403 403 403 403 403 403 201 401 401 401",
     lambda _: {"place": "journal", "kind": "net.*", "days": 9, "reason": "Old"}),
    ("try_retention_rule", "get", "/gdpr/retention/{rule_id}/dry_run", _READ),
    ("change_retention_rule", "patch", "/gdpr/retention/{rule_id}",
     "200 403 403 403 403 403 403 404 401 401 401", lambda _: {"active": False}),
    ("remove_retention_rule", "delete", "/gdpr/retention/{rule_id}",
     "204 403 403 403 403 403 403 404 401 401 401"),
    ("list_recipients", "get", f"{_PATH}/recipients", _READ),
    ("add_recipient", "post", f"{_PATH}/recipients", _MAKE,
     lambda _: {"name": "Print shop"}),
    ("notify_recipient", "post", f"{_RECIPIENT}/notify", _WRITE,
     lambda _: {"way": "hand"}),
    ("decline_notice", "post", f"{_RECIPIENT}/not_possible", _WRITE,
     lambda _: {"ground": "not_possible", **_REASON}),
    ("answer_of_recipient", "post", f"{_RECIPIENT}/answer", _WRITE,
     lambda _: {"answer": "not_held"}, None, notified),
    ("read_notice", "get", f"{_RECIPIENT}/notice",
     "200 403 200 403 403 403 403 404 401 401 401"),
    ("list_recipient_contacts", "get", "/gdpr/recipient_contacts", _LIST),
    ("set_recipient_contact", "put", "/gdpr/recipient_contacts",
     "200 403 200 403 403 403 403 200 401 401 401",
     lambda _: {"name": "shop", "email": "dpo@shop.example"}),
    ("remove_recipient_contact", "delete", "/gdpr/recipient_contacts/{contact_id}",
     "204 403 204 403 403 403 403 404 401 401 401"),
    ("list_exports", "get", "/gdpr/exports", _LIST),
    ("make_export", "post", "/gdpr/exports",
     "202 403 202 403 403 403 403 404 401 401 401",
     lambda world: {"subject_id": subject(world).id}),
    ("get_export", "get", "/gdpr/exports/{export_id}", _READ),
    ("read_export", "get", "/gdpr/exports/{export_id}/download",
     "200 403 200 403 403 403 403 404 401 401 401"),
    ("remove_export", "delete", "/gdpr/exports/{export_id}",
     "204 403 204 403 403 403 403 404 401 401 401"),
    ("list_export_words", "get", "/gdpr/exports/{export_id}/words", _WRITE,
     None, None, waiting_words),
    ("decide_export_words", "post", "/gdpr/exports/{export_id}/words", _WRITE,
     lambda _: {"verdict": "cover", "all_doubtful": True}, None, waiting_words),
    ("export_user_data", "get", "/admin/users/{subject}/data",
     "200 403 200 403 403 403 403 404 401 401 401"),
    ("erase_user_data", "delete", "/admin/users/{subject}/data",
     "202 403 202 403 403 403 403 404 401 401 401",
     lambda _: _REASON | make.UNIDENTIFIED),
    ("list_gdpr_actions", "get", "/gdpr/actions", _LIST),
    ("export_gdpr_actions", "post", "/gdpr/actions/export",
     "200 403 200 403 403 403 200 200 401 401 401", lambda _: {}),
    ("month_report", "get", "/gdpr/reports/month", _LIST),
    ("request_register", "get", "/gdpr/reports/register", _LIST),
    ("processing_record", "get", "/gdpr/reports/processing", _LIST),
    ("confirm_processing", "put", "/gdpr/reports/processing/{place}",
     "200 403 200 403 403 403 403 200 401 401 401",
     lambda _: {"purpose": "Support", "legal_basis": "Article 6(1)(b)"}),
    ("list_letters", "get", f"{_PATH}/letters", _READ),
    ("make_letter", "post", f"{_PATH}/letters", _WRITE,
     lambda _: {"occasion": "received"}),
    ("get_letter", "get", f"{_PATH}/letters/{{letter_id}}",
     "200 403 200 403 403 403 403 404 401 401 401"),
    ("send_letter", "post", f"{_PATH}/letters/{{letter_id}}/send", _WRITE,
     lambda _: {"way": "post"}),
    ("remove_letter", "delete", f"{_PATH}/letters/{{letter_id}}",
     "204 403 204 403 403 403 403 404 401 401 401"),
    ("get_correspondence", "get", f"{_PATH}/correspondence",
     "200 403 200 403 403 403 403 404 401 401 401"),
    ("change_correspondence", "put", f"{_PATH}/correspondence", _WRITE,
     lambda _: {"email": "mara@example.org", "language": "de"}),
    ("list_letter_templates", "get", "/gdpr/letter_templates", _LIST),
    ("change_letter_template", "put", "/gdpr/letter_templates",
     "200 403 200 403 403 403 403 200 401 401 401",
     lambda _: {"occasion": "received", "language": "en", "subject": "Hello",
                "body": "{greeting}"}),
    ("reset_letter_template", "delete", "/gdpr/letter_templates",
     "204 403 204 403 403 403 403 404 401 401 401", None, letter_text),
    ("privacy_settings", "get", "/gdpr/settings", _LIST),
    ("change_privacy_settings", "patch", "/gdpr/settings",
     "200 403 403 403 403 403 403 200 401 401 401",
     lambda _: {"require_identity": True}),
)  # fmt: skip
