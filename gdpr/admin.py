"""Personal data in the Django admin: read-only; actions go through the services."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from gdpr.cases import actions as case_actions
from gdpr.cases import legal_holds
from gdpr.models import (
    Case,
    CasePlan,
    CaseStep,
    Certificate,
    Correspondence,
    GdprAction,
    Hold,
    Letter,
    LetterTemplate,
    Recipient,
    RecipientContact,
    SigningKey,
    Subject,
    Suppression,
)
from memory.admin import rows

REASON = "released in the Django admin"


@admin.register(Case)
class CaseRows(rows.ReadOnly):
    """Cases without the free text of the request; that is on the case's page."""

    actions = ("take", "leave")
    list_display = (
        "id", "kind", "state", "subject_ref", "due_at", "extended_until", "assignee",
        "run",
    )  # fmt: skip
    list_filter = ("state", "kind", "workspace")
    search_fields = ("=id", "=subject_ref", "=ticket")
    search_help_text = "The id of a case or a subject, or a ticket, whole."
    ordering = ("due_at", "id")
    exclude = ("reason", "requester", "identity_how", "correction", "result")

    @admin.action(description="Assign to me")
    def take(self, request: HttpRequest, queryset: QuerySet[Case]) -> None:
        self.act_on_each(
            request, queryset,
            lambda row, by: case_actions.assign(row, by.label, by=by),
            "assigned to you",
        )  # fmt: skip

    @admin.action(description="Take from whom they are assigned to")
    def leave(self, request: HttpRequest, queryset: QuerySet[Case]) -> None:
        self.act_on_each(
            request, queryset,
            lambda row, by: case_actions.assign(row, "", by=by),
            "assigned to nobody",
        )  # fmt: skip


@admin.register(CasePlan)
class PlanRows(rows.ReadOnly):
    """Plans without their samples and row ids."""

    list_display = ("case_link", "number", "head", "made_by", "made_at")
    list_filter = ("workspace",)
    search_fields = ("=case__id", "=plan_hash")
    exclude = ("body", "rows")

    @admin.display(description="case", ordering="case_id")
    def case_link(self, row: CasePlan) -> str | SafeString:
        return rows.link(row.case, row.case_id)

    @admin.display(description="hash")
    def head(self, row: CasePlan) -> str:
        return rows.short(row.plan_hash)


@admin.register(CaseStep)
class StepRows(rows.ReadOnly):
    list_display = ("case_id", "run", "position", "name", "state", "done", "total")
    list_filter = ("state", "workspace")
    search_fields = ("=case__id", "=name")


@admin.register(Hold)
class HoldRows(rows.ReadOnly):
    actions = ("release",)
    list_display = (
        "id", "subject_id", "scope", "owner", "review_at", "placed_at", "released_at",
    )  # fmt: skip
    list_filter = ("scope", "workspace")
    search_fields = ("=id", "=subject__id")

    @admin.action(description="Release; what only it kept goes on")
    def release(self, request: HttpRequest, queryset: QuerySet[Hold]) -> None:
        self.act_on_each(
            request, queryset,
            lambda row, by: legal_holds.release(row, REASON, by=by),
            "released",
        )  # fmt: skip


@admin.register(GdprAction)
class ActionRows(rows.ReadOnly):
    """The audit log."""

    list_display = (
        "id", "action", "status", "subject_ref", "case_ref", "actor_label",
        "initiated_at", "completed_at",
    )  # fmt: skip
    list_filter = ("action", "status", "workspace")
    search_fields = ("=id", "=subject_ref", "=case_ref")


@admin.register(Certificate)
class CertificateRows(rows.ReadOnly):
    """Certificates, as they were signed."""

    list_display = ("id", "case_id", "run", "result", "key_id", "issued_at")
    list_filter = ("result", "workspace")
    search_fields = ("=id", "=case__id", "=key_id")


@admin.register(SigningKey)
class KeyRows(rows.ReadOnly):
    """Public keys; the command ``gdpr_key`` rotates them."""

    list_display = ("key_id", "public_key", "made_at", "retired_at")
    list_select_related = False


@admin.register(Subject)
class SubjectRows(rows.ReadOnly):
    """People by id; their names are on their page."""

    list_display = (
        "id", "consent", "restricted_at", "opted_out_at", "erased_at", "created_at",
    )  # fmt: skip
    list_filter = ("consent", "workspace")
    search_fields = ("=id",)
    exclude = ("display_name", "consent_note")


@admin.register(Suppression)
class SuppressionRows(rows.ReadOnly):
    """Suppressed names, as keyed digests."""

    list_display = ("kind", "head", "subject_ref", "case_ref", "since", "lifted_at")
    list_filter = ("kind", "workspace")
    search_fields = ("=subject_ref", "=case_ref")

    @admin.display(description="digest")
    def head(self, row: Suppression) -> str:
        return rows.short(row.digest)


# ── Letters and recipients ───────────────────────────────────────────────────
@admin.register(Letter)
class LetterRows(rows.ReadOnly):
    """Letters without what they say; that is sealed, and on the letter's page."""

    list_display = (
        "id", "case_id", "occasion", "language", "way", "kept_at", "sent_at",
        "keep_until",
    )  # fmt: skip
    list_filter = ("occasion", "way", "workspace")
    search_fields = ("=id", "=case__id")
    exclude = ("sealed",)


@admin.register(Correspondence)
class CorrespondenceRows(rows.ReadOnly):
    """Which cases have an address; the address is sealed, and on the case's page."""

    list_display = ("case_id", "language", "source", "changed_by", "changed_at")
    list_filter = ("source", "workspace")
    search_fields = ("=case__id",)
    exclude = ("sealed",)


@admin.register(LetterTemplate)
class LetterTemplateRows(rows.ReadOnly):
    """A workspace's own texts of letters."""

    list_display = (
        "occasion", "kind", "language", "version", "changed_by", "changed_at",
    )  # fmt: skip
    list_filter = ("occasion", "language", "workspace")
    search_fields = ("subject",)


@admin.register(Recipient)
class RecipientRows(rows.ReadOnly):
    """Recipients and notices without officers' texts and the sealed identifiers."""

    list_display = ("id", "case_id", "kind", "name", "state", "way", "notified_at")
    list_filter = ("state", "kind", "workspace")
    search_fields = ("=id", "=case__id", "=name")
    exclude = ("received", "reason", "answer_note", "sealed")


@admin.register(RecipientContact)
class RecipientContactRows(rows.ReadOnly):
    """Where notices to recipients go."""

    list_display = ("name", "email", "language", "changed_by", "changed_at")
    list_filter = ("language", "workspace")
    search_fields = ("=name",)
