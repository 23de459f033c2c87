"""Pages of recipients: those of a case, and all that are open, with their addresses."""

from __future__ import annotations

from datetime import date
from typing import Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from gdpr.cases import transitions
from gdpr.models import Case, Recipient
from gdpr.pagination import PageQuery
from gdpr.recipients import actions, contacts, listing, queries
from gdpr.recipients.actions import NewAnswer, NewRecipient
from gdpr.web import recipient_lines
from gdpr.web.recipient_forms import AnswerDaysForm, ContactForm, RecipientForm
from memory.accounts import mail
from memory.rules import errors
from memory.web import pages

PAGE: Final = 50


def _page_query(request: HttpRequest) -> PageQuery:
    return PageQuery(limit=PAGE, cursor=request.GET.get("cursor") or None)


# ── The recipients of a case ─────────────────────────────────────────────────
@never_cache
@require_http_methods(pages.METHODS)
def of_case(request: HttpRequest, case_id: str) -> HttpResponse:
    """List the recipients of a case; an officer adds one."""
    actor = pages.actor(request)
    case = transitions.case(actor, case_id)
    if request.method != "POST":
        return _of_case(request, case, RecipientForm())
    actor.require(actions.MAY)
    form = RecipientForm(request.POST)
    row, status = pages.submit(
        form, lambda fields: actions.add(case, NewRecipient(**fields), by=actor)
    )
    if row is None:
        return _of_case(request, case, form, status)
    messages.success(request, gettext("Added"))
    return redirect("privacy:case_recipients", case_id)


def _of_case(
    request: HttpRequest, case: Case, form: RecipientForm, status: int = 200
) -> HttpResponse:
    actor = pages.actor(request)
    page = queries.page(actor, case, _page_query(request))
    is_first = not request.GET.get("cursor")
    context = {
        "case": case,
        "form": form,
        "lines": recipient_lines.lines_of(page.items, with_ways=True),
        "expected": listing.expected(case) if is_first else [],
        "next_cursor": page.next_cursor,
        "counts": queries.case_counts(actor, case),
        "is_notified": case.kind in listing.NOTIFIED_CASES,
        **recipient_lines.choices(),
    }
    return render(request, "gdpr/recipients.html", context, status=status)


def _row(request: HttpRequest, case_id: str, recipient_id: str) -> Recipient:
    actor = pages.actor(request)
    case = transitions.case(actor, case_id)
    row = actions.get(actor, case, recipient_id)
    actor.require(actions.MAY)
    return row


def _back(case_id: str, recipient_id: str) -> str:
    return f"{reverse('privacy:case_recipients', args=[case_id])}#{recipient_id}"


@pages.action(_back, page_statuses=pages.MENDABLE)
def notify(request: HttpRequest, case_id: str, recipient_id: str) -> str:
    """Send a notice by the chosen way, or note that it was sent by hand."""
    row, by = _row(request, case_id, recipient_id), pages.actor(request)
    way = request.POST.get("way", "")
    if way == "hand":
        actions.notify_by_hand(row, by=by)
        return gettext("Noted: you notified the recipient yourself")
    actions.notify(row, way, by=by)
    return gettext("The notice goes out with the next run of the job")


@pages.action(_back, page_statuses=pages.MENDABLE)
def decline(request: HttpRequest, case_id: str, recipient_id: str) -> str:
    """Note that a notice is not possible or disproportionate."""
    row, data = _row(request, case_id, recipient_id), request.POST
    ground, reason = data.get("ground", ""), data.get("reason", "")
    actions.decline(row, ground, reason, by=pages.actor(request))
    return gettext("Noted: no notice goes to this recipient")


@pages.action(_back, page_statuses=pages.MENDABLE)
def answer(request: HttpRequest, case_id: str, recipient_id: str) -> str:
    """Note what a recipient answered."""
    row, data = _row(request, case_id, recipient_id), request.POST
    new = NewAnswer(
        answer=data.get("answer", ""),
        answered_on=_day(data.get("answered_on", "")),
        note=data.get("note", ""),
    )
    actions.answer(row, new, by=pages.actor(request))
    return gettext("The answer is noted")


def _day(text: str) -> date | None:
    """Return a day as a form sends it, None for an empty one."""
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        detail = gettext("This is no date.")
        raise errors.Invalid(detail, code="bad_date") from None


@never_cache
@require_GET
def letter(request: HttpRequest, case_id: str, recipient_id: str) -> HttpResponse:
    """Download the notice as text, in the reader's language, to send by hand."""
    row = _row(request, case_id, recipient_id)
    language = translation.get_language() or "en"
    text = actions.download(row, language, by=pages.actor(request))
    reply = HttpResponse(text, content_type="text/plain; charset=utf-8")
    reply["Content-Disposition"] = f'attachment; filename="{row.pk}.txt"'
    return reply


# ── All that are open, and addresses ─────────────────────────────────────────
@never_cache
@require_http_methods(pages.METHODS)
def index(request: HttpRequest) -> HttpResponse:
    """Show the notices that need something; an officer notes an address."""
    actor = pages.actor(request)
    actor.require("gdpr.read")
    if request.method != "POST":
        return _index(request, ContactForm())
    actor.require(contacts.MAY)
    form = ContactForm(request.POST)
    contact, status = pages.submit(
        form, lambda fields: contacts.put(**fields, by=actor)
    )
    if contact is None:
        return _index(request, form, status=status)
    messages.success(request, gettext("The address is noted"))
    return redirect("privacy:recipients")


def _index(
    request: HttpRequest,
    form: ContactForm,
    days_form: AnswerDaysForm | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    actor = pages.actor(request)
    page = queries.open_page(actor, _page_query(request))
    days = contacts.answer_days(actor.workspace_id)
    context = {
        "form": form,
        "days": days,
        "days_form": days_form or AnswerDaysForm(initial={"days": days}),
        "lines": recipient_lines.lines_of(page.items),
        "next_cursor": page.next_cursor,
        "counts": queries.open_counts(actor),
        "contacts": contacts.all_of(actor),
        "has_mail": mail.server_set(),
    }
    return render(request, "gdpr/open_recipients.html", context, status=status)


@require_http_methods(pages.METHODS)
def change_days(request: HttpRequest) -> HttpResponse:
    """Change how long an answer may take; an admin's act."""
    actor = pages.actor(request)
    actor.require("gdpr.settings")
    if request.method != "POST":
        return redirect("privacy:recipients")
    form = AnswerDaysForm(request.POST)
    days, status = pages.submit(
        form, lambda fields: contacts.change_answer_days(fields["days"], by=actor)
    )
    if days is None:
        return _index(request, ContactForm(), form, status=status)
    messages.success(request, gettext("Kept, and written into the journal"))
    return redirect("privacy:recipients")


@pages.action("privacy:recipients")
def remove_contact(request: HttpRequest, contact_id: int) -> str:
    actor = pages.actor(request)
    actor.require(contacts.MAY)
    contacts.remove(contact_id, by=actor)
    return gettext("The address is removed")
