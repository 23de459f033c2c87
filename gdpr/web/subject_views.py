"""Pages of people: the register, and one person with where their data is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from gdpr.cases import open_requests
from gdpr.export import gaps
from gdpr.export import make as export
from gdpr.models import Subject
from gdpr.subjects import access_log, profile
from gdpr.subjects import registry as subjects
from gdpr.web.forms import PersonForm
from gdpr.web.subject_actions import ACTIONS, FORMS
from memory.rules import errors
from memory.web import pages

PAGE: Final = 40


@never_cache
@require_GET
def listing(request: HttpRequest) -> HttpResponse:
    """List the people, newest first; a search is by id, alias or name."""
    return _list_page(request, PersonForm(auto_id="new-%s"))


def _list_page(
    request: HttpRequest,
    form: PersonForm,
    *,
    refusal: errors.AppError | None = None,
) -> HttpResponse:
    actor = pages.actor(request)
    query = request.GET.get("q", "")[:320]
    cursor = request.GET.get("cursor") or None
    rows, following = subjects.list_subjects(actor, q=query, limit=PAGE, cursor=cursor)
    context = {
        "subjects": rows,
        "next_cursor": following,
        "q": query,
        "form": form,
        "refusal": refusal,
        "adding": form.is_bound,
    }
    status = refusal.status if refusal else (422 if form.errors else 200)
    return render(request, "gdpr/subjects.html", context, status=status)


@require_POST
def new(request: HttpRequest) -> HttpResponse:
    """Register a person."""
    actor = pages.actor(request)
    actor.require("gdpr.manage")
    form = PersonForm(request.POST, auto_id="new-%s")
    if not form.is_valid():
        return _list_page(request, form)
    display_name = form.cleaned_data["display_name"]
    try:
        subject = subjects.create(display_name, form.aliases(), by=actor)
    except errors.AppError as error:
        pages.reraise_unless_mendable(error)
        return _list_page(request, form, refusal=error)
    done = gettext("Registered. What is stored is searched for them.")
    messages.success(request, done)
    return redirect("privacy:subject", subject.pk)


# ── One person ───────────────────────────────────────────────────────────────
def _subject_page(
    request: HttpRequest,
    subject_id: str,
    *,
    refusal: errors.AppError | None = None,
    revealed: bool = False,
    filled: Mapping[str, forms.Form] | None = None,
) -> HttpResponse:
    """Render a person; a form that was ``filled`` keeps its input."""
    actor = pages.actor(request)
    subject_profile = profile.of(subject_id, by=actor)
    subject = subject_profile.subject
    first = {
        "consent": subject.consent,
        "opted_out": subject.opted_out_at is not None,
        "note": subject.consent_note,
    }
    context = {
        "profile": subject_profile,
        "revealed": revealed,
        "refusal": refusal,
        "exports": export.exports(actor, subject_ref=subject.pk)[:5],
        "gaps": gaps.of(actor),
        "alias": FORMS["alias"](),
        "consent": FORMS["consent"](initial=first),
        "merge": FORMS["merge"](),
        "hold": FORMS["hold"](),
        "filled": next(iter(filled or {}), ""),
        "open_requests": open_requests.of_person(actor, subject.pk),
        **(filled or {}),
    }
    status = refusal.status if refusal else (422 if filled else 200)
    return render(request, "gdpr/subject.html", context, status=status)


@never_cache
@require_GET
def detail(request: HttpRequest, subject_id: str) -> HttpResponse:
    """Show where a person is named, without names and samples."""
    return _subject_page(request, subject_id)


@never_cache
@require_POST
def reveal(request: HttpRequest, subject_id: str) -> HttpResponse:
    """Show the names and samples; the audit log records it."""
    access_log.record_names_view(subject_id, by=pages.actor(request))
    return _subject_page(request, subject_id, revealed=True)


@require_POST
def act(
    request: HttpRequest, subject_id: str, action: str, **parts: Any
) -> HttpResponse:
    """Run a row of ``ACTIONS``; a refusal or an invalid form is shown on the page."""
    actor = pages.actor(request)
    subject = subjects.get(actor, subject_id)
    actor.require("gdpr.manage")
    row = ACTIONS[action]
    form = FORMS[row.form](request.POST) if row.form else None
    filled = {row.form: form} if form else None
    if form and not form.is_valid():
        return _subject_page(request, subject_id, filled=filled)
    try:
        result = row.service(subject, form, by=actor, **parts)
    except errors.AppError as error:
        pages.reraise_unless_mendable(error)
        return _subject_page(request, subject_id, refusal=error, filled=filled)
    messages.success(request, gettext(row.message).format(subject_id=subject_id))
    if isinstance(result, Subject):
        return redirect("privacy:subject", result.pk)
    if request.POST.get("revealed"):
        # One of several decisions in a row: keep the names visible.
        access_log.record_names_view(subject_id, by=actor)
        return _subject_page(request, subject_id, revealed=True)
    return redirect("privacy:subject", subject_id)
