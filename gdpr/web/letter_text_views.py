"""Pages of the texts that letters start from."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from gdpr.cases.correspondence import clean_language
from gdpr.letters import drafts, placeholders, templates
from gdpr.letters.drafts import Draft
from gdpr.letters.templates import Place, Text
from gdpr.processing import controller
from gdpr.web import letter_words
from gdpr.web.letter_forms import LetterTextFilter, LetterTextForm
from memory.rules import errors
from memory.web import pages


@never_cache
@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """List the texts of a language."""
    actor = pages.actor(request)
    actor.require("gdpr.read")
    code, status = request.GET.get("language", ""), 200
    try:
        language = clean_language(code)
        form = LetterTextFilter({"language": language}, auto_id="f-%s")
    except errors.Invalid as error:
        language, status = clean_language(""), error.status
        form = LetterTextFilter({"language": code}, auto_id="f-%s")
        form.add_error("language", error.detail)
    rows = templates.overview(actor, language)
    context = {
        "form": form,
        "language_name": letter_words.language(language),
        "languages": templates.languages(actor.workspace_id),
        "lines": [
            (where, text, letter_words.occasion(where.occasion), _kind(where))
            for where, text in rows
        ],
        "own": sum(text.own is not None for _, text in rows),
        "is_built_in": letter_words.is_built_in(language),
        "controller": controller.of(actor.workspace_id),
    }
    return render(request, "gdpr/letter_texts.html", context, status=status)


def _kind(where: Place) -> str:
    return letter_words.kind(where.kind)


@never_cache
@require_http_methods(pages.METHODS)
def edit(request: HttpRequest) -> HttpResponse:
    """Show one text; save it, preview it, or go back to the built-in one."""
    actor = pages.actor(request)
    actor.require("gdpr.read")
    data = request.POST if request.method == "POST" else request.GET
    where = templates.place(
        data.get("occasion", ""), data.get("kind", ""), data.get("language", "")
    )
    if request.method != "POST":
        text = templates.text_at(actor, where)
        initial = {"subject": text.subject, "body": text.body}
        return _page(request, where, LetterTextForm(initial=initial))
    actor.require(templates.MAY)
    version = pages.number(data.get("version", "")) or 0
    if data.get("act") == "reset":
        return _reset(request, where, version)
    form = LetterTextForm(request.POST)
    if data.get("act") == "preview":
        draft, status = pages.submit(
            form, lambda fields: drafts.preview(where, **fields, by=actor)
        )
        return _page(request, where, form, status, draft=draft, version=version)
    saved_text, status = pages.submit(
        form, lambda fields: templates.save(where, **fields, version=version, by=actor)
    )
    if saved_text is None:
        return _page(request, where, form, status, version=version)
    messages.success(request, gettext("Kept: letters start from this text now"))
    return redirect(_url(where))


def _reset(request: HttpRequest, where: Place, version: int) -> HttpResponse:
    try:
        templates.reset(where, version, by=pages.actor(request))
    except errors.AppError as error:
        pages.reraise_unless_mendable(error)
        messages.error(request, error.detail)
    else:
        messages.success(request, gettext("The built-in text is in force again"))
    return redirect(_url(where))


def _url(where: Place) -> str:
    params = {"occasion": where.occasion, "kind": where.kind}
    return pages.address("privacy:letter_text", language=where.language, **params)


def _page(
    request: HttpRequest,
    where: Place,
    form: LetterTextForm,
    status: int = 200,
    *,
    draft: Draft | None = None,
    version: int | None = None,
) -> HttpResponse:
    text: Text = templates.text_at(pages.actor(request), where)
    is_own = text.place == where and text.own is not None
    context: dict[str, Any] = {
        "where": where,
        "form": form,
        "text": text,
        "is_own": is_own,
        "version": (text.version if is_own else 0) if version is None else version,
        "occasion": letter_words.occasion(where.occasion),
        "kind": _kind(where),
        "language_name": letter_words.language(where.language),
        "starts_from": letter_words.language(text.place.language),
        "is_other": text.place.language != where.language,
        "placeholders": placeholders.ALL,
        "draft": draft,
    }
    return render(request, "gdpr/letter_text.html", context, status=status)
