"""Pages of holds, certificates, the audit log, exports, suppressed names, settings."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from gdpr import audit_log, suppression
from gdpr.api.exports import bundle_response
from gdpr.audit_log import AuditLogQuery
from gdpr.cases import legal_holds, privacy_settings, second_person, transitions
from gdpr.cases.privacy_settings import Change
from gdpr.certificates import issue as certificates
from gdpr.export import gaps
from gdpr.export import make as export
from gdpr.intake import form as intake
from gdpr.models import Certificate
from gdpr.pagination import PageQuery
from gdpr.web import certificate_views
from gdpr.web.workspace_forms import AuditLogForm, SettingsForm
from memory.web import pages

PAGE: Final = 50


def _page_query(request: HttpRequest) -> PageQuery:
    return PageQuery(limit=PAGE, cursor=request.GET.get("cursor") or None)


# ── Holds ────────────────────────────────────────────────────────────────────
@never_cache
@require_GET
def holds_page(request: HttpRequest) -> HttpResponse:
    """List the holds in force or released, the one to review next first."""
    actor = pages.actor(request)
    state = "released" if request.GET.get("state") == "released" else "standing"
    page = legal_holds.page(actor, _page_query(request), state=state)
    active, late = legal_holds.counts(actor)
    now = timezone.now()
    context = {
        "lines": [
            (hold, hold.released_at is None and hold.review_at <= now)
            for hold in page.items
        ],
        "next_cursor": page.next_cursor,
        "standing": active,
        "late": late,
        "state": state,
    }
    return render(request, "gdpr/holds.html", context)


@pages.action("privacy:holds", page_statuses=pages.MENDABLE)
def release(request: HttpRequest, hold_id: str) -> str:
    """Release a hold, with a reason; cases that it stopped go on."""
    actor = pages.actor(request)
    row = legal_holds.hold(actor, hold_id)
    actor.require("gdpr.manage")
    legal_holds.release(row, request.POST.get("reason", ""), by=actor)
    return gettext("Released. Cases on hold because of it continue.")


# ── Certificates ─────────────────────────────────────────────────────────────
@never_cache
@require_GET
def certificates_page(request: HttpRequest) -> HttpResponse:
    """Show the certificates, the newest first."""
    actor = pages.actor(request)
    page = certificates.page(actor, _page_query(request))
    replaced = certificates.replaced(page.items)
    context = {
        "lines": [(row, row.pk in replaced) for row in page.items],
        "next_cursor": page.next_cursor,
        "total": certificates.count(actor),
    }
    return render(request, "gdpr/certificates.html", context)


def _row(request: HttpRequest, case_id: str, certificate_id: str) -> Certificate:
    """Return a certificate, also one that was replaced, or a case's newest."""
    actor = pages.actor(request)
    if certificate_id:
        return certificates.get(actor, certificate_id)
    return certificates.of_case(actor, transitions.case(actor, case_id))


@never_cache
@require_GET
def certificate(
    request: HttpRequest, case_id: str = "", certificate_id: str = ""
) -> HttpResponse:
    """Show a certificate, verified now."""
    row = _row(request, case_id, certificate_id)
    verdict = certificates.verify(row.document, case_id=row.case_id)
    context = certificate_views.verdict_context(verdict)
    context |= {"row": row, "case": row.case}
    actor = pages.actor(request)
    if actor.can("gdpr.manage"):
        context["check_code"] = certificates.check_code(actor, row)
    context["is_replaced"] = bool(certificates.replaced([row]))
    return render(request, "gdpr/certificate.html", context)


@never_cache
@require_GET
def certificate_file(
    request: HttpRequest, case_id: str = "", certificate_id: str = ""
) -> HttpResponse:
    """Return a certificate byte for byte, as a file."""
    row = _row(request, case_id, certificate_id)
    answer = HttpResponse(row.document, content_type="application/json")
    answer["Content-Disposition"] = f'attachment; filename="{row.pk}.json"'
    return answer


# ── The audit log ───────────────────────────────────────────────────────────────
@never_cache
@require_GET
def audit_log_page(request: HttpRequest) -> HttpResponse:
    """Show what was done with people's data, and by whom, newest first."""
    actor = pages.actor(request)
    actor.require("gdpr.read")
    form = AuditLogForm(request.GET, auto_id="f-%s")
    context: dict[str, Any] = {"form": form, "rows": [], "next_cursor": None}
    context["is_narrow"] = any(request.GET.get(name) for name in form.fields)
    if not form.is_valid():
        return render(request, "gdpr/audit_log.html", context, status=422)
    query = AuditLogQuery(**form.cleaned_data)
    cursor = request.GET.get("cursor") or None
    page = audit_log.list_actions(actor, query, limit=PAGE, cursor=cursor)
    context |= {"rows": page.items, "next_cursor": page.next_cursor}
    return render(request, "gdpr/audit_log.html", context)


# ── Exports ──────────────────────────────────────────────────────────────────
@never_cache
@require_GET
def exports_page(request: HttpRequest) -> HttpResponse:
    actor = pages.actor(request)
    page = export.page(actor, _page_query(request))
    context = {"rows": page.items, "next_cursor": page.next_cursor}
    return render(request, "gdpr/exports.html", context | {"gaps": gaps.of(actor)})


@never_cache
@require_GET
def download(request: HttpRequest, export_id: str) -> HttpResponseBase:
    """Download a bundle; the service records it in the audit log."""
    actor = pages.actor(request)
    row = export.get(export_id, by=actor)
    actor.require("gdpr.manage")
    try:
        return bundle_response(row, export.read(row, by=actor))
    except export.NotReady as error:
        messages.error(request, error.detail)
        return redirect("privacy:exports")


@pages.action("privacy:exports")
def remove_export(request: HttpRequest, export_id: str) -> str:
    """Delete a bundle before it expires."""
    actor = pages.actor(request)
    row = export.get(export_id, by=actor)
    actor.require("gdpr.manage")
    is_removed = export.remove(row, by=actor)
    return (
        gettext("The bundle is gone") if is_removed else gettext("It was gone before")
    )


# ── Suppressed names ──────────────────────────────────────────────────────────
@never_cache
@require_GET
def suppressions_page(request: HttpRequest) -> HttpResponse:
    """List the suppressed names by kind and person; the names are not stored."""
    actor = pages.actor(request)
    page = suppression.page(actor, _page_query(request), lifted=True)
    context = {
        "rows": page.items,
        "next_cursor": page.next_cursor,
        "standing": suppression.count_active(actor),
    }
    return render(request, "gdpr/suppressed_names.html", context)


@pages.action("privacy:kept_out", page_statuses=pages.MENDABLE)
def lift_suppression(request: HttpRequest, row_id: int) -> str:
    actor = pages.actor(request)
    actor.require("gdpr.manage")
    suppression.lift(row_id, request.POST.get("reason", ""), by=actor)
    return gettext("The name may be written again")


# ── Settings ─────────────────────────────────────────────────────────────────
@never_cache
@require_http_methods(pages.METHODS)
def settings_page(request: HttpRequest) -> HttpResponse:
    """Show how requests are handled; an admin may change it."""
    actor = pages.actor(request)
    actor.require("gdpr.read")
    rules = privacy_settings.of(actor.workspace_id)
    names = SettingsForm.base_fields
    first = {name: getattr(rules, name) for name in names if name != "reason"}
    if request.method != "POST":
        return _settings(request, SettingsForm(initial=first))
    actor.require("gdpr.settings")
    form = SettingsForm(request.POST)
    _, status = pages.submit(
        form,
        lambda fields: privacy_settings.change(Change(**fields), by=actor),
        faulty="reason",
    )
    if status != 200:
        return _settings(request, form, status)
    messages.success(request, gettext("Kept, and written into the journal"))
    return redirect("privacy:settings")


def _settings(
    request: HttpRequest, form: SettingsForm, status: int = 200
) -> HttpResponse:
    actor = pages.actor(request)
    if not actor.can("gdpr.settings"):
        for field in form.fields.values():
            field.disabled = True
    rules = privacy_settings.of(actor.workspace_id)
    context = {
        "form": form,
        "rules": rules,
        "off": privacy_settings.switched_off(actor.workspace_id),
        "officers": second_person.officer_count(actor.workspace_id),
        "form_slug": intake.open_slug(actor.workspace_id),
    }
    return render(request, "gdpr/settings.html", context, status=status)
