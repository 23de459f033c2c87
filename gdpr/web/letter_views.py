"""Pages of letters of a case: draft, letter, address."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from gdpr.cases import correspondence, transitions
from gdpr.letters import drafts, keeping, placeholders, sending, templates
from gdpr.letters.drafts import Draft
from gdpr.letters.keeping import NewLetter
from gdpr.models import Case, Letter
from gdpr.processing import controller
from gdpr.web import case_views, letter_panel, letter_words
from gdpr.web.letter_forms import AddressForm, LetterForm
from memory.accounts import mail
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.web import pages

# A mail server that is down is the page's matter too: the officer tries again.
PAGE_STATUSES: Final = (*pages.MENDABLE, errors.Unavailable.status)


def _case(request: HttpRequest, case_id: str) -> tuple[Case, Actor]:
    actor = pages.actor(request)
    case = transitions.case(actor, case_id)
    actor.require(keeping.MAY)
    return case, actor


def _case_url(case_id: str) -> str:
    return reverse("privacy:case", args=[case_id]) + "#letters"


def _site(request: HttpRequest) -> str:
    return f"{request.scheme}://{request.get_host()}"


# ── Where the answer goes ────────────────────────────────────────────────────
@never_cache
@require_POST
def change_address(request: HttpRequest, case_id: str) -> HttpResponse:
    """Keep where the answer goes; a faulty address is shown in its form."""
    case, actor = _case(request, case_id)
    form = AddressForm(request.POST, auto_id="address-%s")
    _, status = pages.submit(
        form, lambda _: correspondence.keep(case, form.address(), by=actor)
    )
    if status != 200:
        return case_views.with_address_form(request, case, form, status)
    messages.success(request, gettext("Kept for the answer, sealed"))
    return redirect(_case_url(case_id))


# ── A draft ──────────────────────────────────────────────────────────────────
@never_cache
@require_http_methods(pages.METHODS)
def new(request: HttpRequest, case_id: str) -> HttpResponse:
    """Show a draft to edit; keep what the officer made of it."""
    case, actor = _case(request, case_id)
    data = request.POST if request.method == "POST" else request.GET
    occasion, language = data.get("occasion", ""), data.get("language", "")
    try:
        draft = drafts.make(case, occasion, language, by=actor, site=_site(request))
    except errors.AppError as error:
        pages.reraise_unless_mendable(error)
        messages.error(request, error.detail)
        return redirect(_case_url(case_id))
    if request.method != "POST":
        initial = {"subject": draft.subject, "body": draft.body}
        return _draft_page(request, case, draft, LetterForm(initial=initial))
    form = LetterForm(request.POST)
    letter, status = pages.submit(
        form, lambda fields: _keep(case, draft, fields, actor)
    )
    if letter is None:
        return _draft_page(request, case, draft, form, status)
    messages.success(request, gettext("Kept, sealed. It was not sent yet."))
    return redirect("privacy:letter", case_id, letter.id)


def _keep(case: Case, draft: Draft, fields: dict[str, Any], actor: Actor) -> Letter:
    # An edited text is in the language that was chosen.
    language = draft.language if fields["body"] == draft.body else draft.requested
    new_letter = NewLetter(occasion=draft.occasion, language=language, **fields)
    return keeping.keep(case, new_letter, by=actor)


def _draft_page(
    request: HttpRequest,
    case: Case,
    draft: Draft,
    form: LetterForm,
    status: int = 200,
) -> HttpResponse:
    languages = templates.languages(case.workspace_id)
    has_sent_letter = case.letters.filter(
        occasion=draft.occasion, sent_at__isnull=False
    ).exists()
    if not has_sent_letter:
        del form.fields["repeat"]
        form.cleaned_data = {}
    context = {
        "case": case,
        "draft": draft,
        "form": form,
        "has_sent_letter": has_sent_letter,
        "choice": letter_panel.choice(
            case, languages, draft.occasion, None, draft.requested
        ),
        "occasion": letter_words.occasion(draft.occasion),
        "language_name": letter_words.language(draft.language),
        "requested_name": letter_words.language(draft.requested),
        "controller": controller.of(case.workspace_id),
    }
    return render(request, "gdpr/letter_draft.html", context, status=status)


# ── A letter ─────────────────────────────────────────────────────────────────
@never_cache
@require_GET
def detail(request: HttpRequest, case_id: str, letter_id: str) -> HttpResponse:
    """Show a letter, also for printing; the audit log records who looked."""
    case, actor = _case(request, case_id)
    letter = keeping.get(actor, case, letter_id)
    content = keeping.read(letter, by=actor)
    address = correspondence.present(actor, case)
    context = {
        "case": case,
        "letter": letter,
        "content": content,
        "address": address,
        "to": content.to or (address.post if address else ""),
        "language_name": letter_words.language(letter.language),
        "is_unclear": sending.is_unclear(letter),
        "mails": mail.server_set(),
        "open_names": placeholders.left_open(f"{content.subject}\n{content.body}"),
    }
    return render(request, "gdpr/letter.html", context)


@never_cache
@require_GET
def text_file(request: HttpRequest, case_id: str, letter_id: str) -> HttpResponse:
    """Download a letter as plain text; the audit log records it."""
    case, actor = _case(request, case_id)
    letter = keeping.get(actor, case, letter_id)
    content = keeping.read(letter, by=actor)
    parts = [content.to, content.subject, content.body]
    answer = HttpResponse(
        "\n\n".join(part for part in parts if part) + "\n",
        content_type="text/plain; charset=utf-8",
    )
    answer["Content-Disposition"] = f'attachment; filename="{letter.pk}.txt"'
    return answer


def _letter_url(case_id: str, letter_id: str) -> str:
    return reverse("privacy:letter", args=[case_id, letter_id])


def _letter(request: HttpRequest, case_id: str, letter_id: str) -> tuple[Letter, Actor]:
    case, actor = _case(request, case_id)
    return keeping.get(actor, case, letter_id), actor


@pages.action(_letter_url, page_statuses=PAGE_STATUSES)
def send(request: HttpRequest, case_id: str, letter_id: str) -> str:
    """Mail a letter."""
    letter, actor = _letter(request, case_id, letter_id)
    sending.by_mail(letter, by=actor, repeat=request.POST.get("repeat") == "1")
    return gettext("Sent. What a mail server took cannot be called back.")


@pages.action(_letter_url, page_statuses=PAGE_STATUSES)
def posted(request: HttpRequest, case_id: str, letter_id: str) -> str:
    """Note that a letter went by post."""
    letter, actor = _letter(request, case_id, letter_id)
    sending.by_post(letter, by=actor)
    return gettext("Noted: it went by post, or was handed over")


@pages.action(lambda case_id, **_: _case_url(case_id), page_statuses=PAGE_STATUSES)
def remove(request: HttpRequest, case_id: str, letter_id: str) -> str:
    """Remove a letter that was never sent."""
    letter, actor = _letter(request, case_id, letter_id)
    keeping.remove(letter, by=actor)
    return gettext("Removed. It was never sent.")
