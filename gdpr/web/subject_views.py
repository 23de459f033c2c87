"""Pages of people: the register, and one person with where their data is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from gdpr.cases import legal_holds, privacy_settings
from gdpr.cases.legal_holds import NewHold
from gdpr.data_map import registry
from gdpr.export import make as export
from gdpr.models import Subject
from gdpr.subjects import access_log, consents, profile, restriction, suggested_aliases
from gdpr.subjects import merge as subject_merge
from gdpr.subjects import registry as subjects
from gdpr.subjects.registry import NewAlias
from gdpr.web.forms import (
    AliasForm,
    ConsentForm,
    HoldForm,
    MergeForm,
    PersonForm,
    ReasonForm,
)
from gdpr.web.refusals import reraise_unless_shown
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.web import pages

PAGE: Final = 40
NAMES: Final = frozenset(holder.name for holder in registry.ALL)
PLACES: Final = [
    (holder.name, holder.title) for holder in registry.ALL if not holder.derived
]
Act = Callable[[Subject, Actor], object]
Filled = Mapping[str, forms.Form]


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
        reraise_unless_shown(error)
        return _list_page(request, form, refusal=error)
    messages.success(request, "Registered. What is stored is searched for them.")
    return redirect("privacy:subject", subject.pk)


# ── One person ───────────────────────────────────────────────────────────────
def _hold_form(data: Any = None) -> HoldForm:
    return HoldForm(data, places=PLACES)


def _subject_page(
    request: HttpRequest,
    subject_id: str,
    *,
    refusal: errors.AppError | None = None,
    revealed: bool = False,
    filled: Filled | None = None,
) -> HttpResponse:
    """Render a person; with a refusal, forms keep their input."""
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
        "alias": AliasForm(auto_id="alias-%s"),
        "consent": ConsentForm(initial=first, auto_id="consent-%s"),
        "merge": MergeForm(auto_id="merge-%s"),
        "hold": _hold_form(),
        "filled": next(iter(filled or {}), ""),
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


def _act(
    request: HttpRequest,
    subject_id: str,
    act: Act,
    message: str,
    filled: Filled | None = None,
) -> HttpResponse:
    """Run an action on a person; a refusal or an invalid form is shown on the page."""
    actor = pages.actor(request)
    subject = subjects.get(actor, subject_id)
    actor.require("gdpr.manage")
    if any(not form.is_valid() for form in (filled or {}).values()):
        return _subject_page(request, subject_id, filled=filled)
    try:
        act(subject, actor)
    except errors.AppError as error:
        reraise_unless_shown(error)
        return _subject_page(request, subject_id, refusal=error, filled=filled)
    messages.success(request, message)
    if request.POST.get("revealed"):
        # One of several decisions in a row: keep the names visible.
        access_log.record_names_view(subject_id, by=actor)
        return _subject_page(request, subject_id, revealed=True)
    return redirect("privacy:subject", subject_id)


@require_POST
def dismiss_address(request: HttpRequest, subject_id: str) -> HttpResponse:
    """Record that a suggested alias is not this person's."""
    form = AliasForm(request.POST, auto_id="alias-%s")

    def act(subject: Subject, by: Actor) -> None:
        data = form.cleaned_data
        suggested_aliases.dismiss(
            subject.pk, NewAlias(data["kind"], data["value"]), by=by
        )

    message = "It is not theirs, and is not asked about again"
    return _act(request, subject_id, act, message, {"alias": form})


@require_POST
def add_alias(request: HttpRequest, subject_id: str) -> HttpResponse:
    form = AliasForm(request.POST, auto_id="alias-%s")

    def act(subject: Subject, by: Actor) -> None:
        data = form.cleaned_data
        subjects.add_alias(subject.pk, NewAlias(data["kind"], data["value"]), by=by)

    message = "Alias added. What is stored is searched for it within a minute."
    return _act(request, subject_id, act, message, {"alias": form})


@require_POST
def remove_alias(request: HttpRequest, subject_id: str, alias_id: int) -> HttpResponse:
    return _act(
        request,
        subject_id,
        lambda subject, by: subjects.remove_alias(subject.pk, alias_id, by=by),
        "Alias removed; rows that were found by it stay linked",
    )


@require_POST
def merge(request: HttpRequest, subject_id: str) -> HttpResponse:
    """Merge two people and show the result."""
    actor = pages.actor(request)
    subjects.get(actor, subject_id)
    actor.require("gdpr.manage")
    form = MergeForm(request.POST, auto_id="merge-%s")
    if not form.is_valid():
        return _subject_page(request, subject_id, filled={"merge": form})
    try:
        stays = subjects.find(form.cleaned_data["into"].strip(), by=actor)
        survivor = subject_merge.merge(subject_id, stays.pk, by=actor)
    except errors.NotFound:
        refusal = errors.Invalid("Nobody is registered by that id or alias.")
        return _subject_page(
            request, subject_id, refusal=refusal, filled={"merge": form}
        )
    except errors.AppError as error:
        reraise_unless_shown(error)
        return _subject_page(request, subject_id, refusal=error, filled={"merge": form})
    messages.success(request, f"{subject_id} is part of this person now")
    return redirect("privacy:subject", survivor.pk)


@require_POST
def consent(request: HttpRequest, subject_id: str) -> HttpResponse:
    """Record a person's consent."""
    form = ConsentForm(request.POST, auto_id="consent-%s")

    def act(subject: Subject, by: Actor) -> None:
        data = form.cleaned_data
        out = data["opted_out"]
        consents.note(subject.pk, data["consent"], data["note"], opted_out=out, by=by)

    return _act(request, subject_id, act, "Kept as they said it", {"consent": form})


@require_POST
def lift(request: HttpRequest, subject_id: str) -> HttpResponse:
    """End a restriction."""
    form = ReasonForm(request.POST)
    return _act(
        request,
        subject_id,
        lambda subject, by: restriction.lift(
            subject, form.cleaned_data["reason"], by=by
        ),
        "The restriction is lifted; the data is in use again",
        {"lifting": form},
    )


@require_POST
def hold(request: HttpRequest, subject_id: str) -> HttpResponse:
    form = _hold_form(request.POST)

    def act(subject: Subject, by: Actor) -> None:
        data = form.cleaned_data
        zone = privacy_settings.zone(privacy_settings.of(by.workspace_id))
        new_hold = NewHold(
            reason=data["reason"],
            review_at=form.review_at(zone),
            scope=data["scope"],
            ground=data["ground"],
        )
        legal_holds.place(subject, new_hold, by=by, places=NAMES)

    return _act(request, subject_id, act, "The hold is in force now", {"hold": form})


@require_POST
def request_export(request: HttpRequest, subject_id: str) -> HttpResponse:
    """Request a bundle of everything about a person."""
    return _act(
        request,
        subject_id,
        lambda subject, by: export.request(subject, by=by),
        "The bundle is being made; it shows here within a minute",
    )
