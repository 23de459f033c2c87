"""The public request form, without a login: asking, and confirming by the link."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from gdpr.cases import privacy_settings
from gdpr.intake import form as intake
from gdpr.intake.receive import TEXT_CHARS, NewRequest
from gdpr.models import CaseKind
from memory.models import Workspace
from memory.rules import errors
from memory.web import pages

# What a person asks for, in their words.
KINDS: Final = (
    (CaseKind.ACCESS, gettext_lazy("What do you keep about me? (Article 15)")),
    (CaseKind.RECTIFICATION, gettext_lazy("Something is wrong (Article 16)")),
    (CaseKind.ERASURE, gettext_lazy("Erase my data (Article 17)")),
    (CaseKind.RESTRICTION, gettext_lazy("Do not use it for now (Article 18)")),
    (CaseKind.PORTABILITY, gettext_lazy("Give me my data as a file (Article 20)")),
    (CaseKind.OBJECTION, gettext_lazy("Stop using my data (Article 21)")),
)
PAGE: Final = "gdpr/request.html"


class RequestForm(forms.Form):
    """What a person asks for."""

    kind = forms.ChoiceField(
        label=gettext_lazy("What do you ask for?"),
        choices=[(kind.value, label) for kind, label in KINDS],
        widget=forms.RadioSelect,
    )
    email = forms.EmailField(
        label=gettext_lazy("Your e-mail address"),
        max_length=254,
        help_text=gettext_lazy("A link is sent to it; the request counts once opened."),
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )
    name = forms.CharField(
        label=gettext_lazy("Your name"),
        max_length=intake.NAME_CHARS,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    wrong = forms.CharField(
        label=gettext_lazy("If something is wrong: what"),
        max_length=2_000,
        required=False,
    )
    right = forms.CharField(
        label=gettext_lazy("And what is right"), max_length=2_000, required=False
    )
    text = forms.CharField(
        label=gettext_lazy("What else helps to answer"),
        max_length=TEXT_CHARS,
        required=False,
        help_text=gettext_lazy(
            "Do not send documents or passwords; you are asked for a proof if needed."
        ),
        widget=forms.Textarea(attrs={"rows": 4}),
    )

    def clean(self) -> dict[str, Any]:
        """Require both halves of a correction."""
        data: dict[str, Any] = super().clean() or {}
        if data.get("kind") == CaseKind.RECTIFICATION:
            for name in ("wrong", "right"):
                if not data.get(name):
                    self.add_error(name, gettext("A rectification needs this."))
        return data

    def request(self) -> NewRequest:
        data = self.cleaned_data
        kind = CaseKind(data["kind"])
        is_correction = kind is CaseKind.RECTIFICATION
        return NewRequest(
            kind=kind,
            email=data["email"],
            name=data["name"],
            text=data["text"],
            correction=(
                {name: data[name] for name in ("wrong", "right")}
                if is_correction
                else {}
            ),
        )


def _name(workspace: Workspace) -> str:
    return workspace.name or workspace.slug


@login_not_required
@never_cache
@require_http_methods(pages.METHODS)
def ask(request: HttpRequest, workspace: str) -> HttpResponse:
    """Show the form; a POST mails the link."""
    home = intake.workspace_of(workspace)
    form = RequestForm(request.POST if request.method == "POST" else None)
    context = {"name": _name(home), "form": form, "state": "asking"}
    if not form.is_bound:
        return render(request, PAGE, context)
    base = settings.PUBLIC_URL or f"{request.scheme}://{request.get_host()}"
    try:
        _, status = pages.submit(form, lambda _: intake.ask(home, form.request(), base))
    except errors.Unavailable as error:
        form.add_error(None, error.detail)
        status = error.status
    if status == 200:
        context["state"] = "sent"
    return render(request, PAGE, context, status=status)


@login_not_required
@never_cache
@require_http_methods(pages.METHODS)
def confirm(request: HttpRequest, token: str) -> HttpResponse:
    """Show one button, so that a preview of the link does nothing; a POST confirms."""
    try:
        row = intake.by_token(token)
        context: dict[str, Any] = {"name": _name(row.workspace), "state": "confirming"}
        context |= {"waiting": row, "asks": dict(KINDS)[CaseKind(row.kind)]}
        if request.method == "POST":
            case = intake.confirm(token).case
            zone = privacy_settings.zone(privacy_settings.of(case.workspace_id))
            due_at = case.extended_until or case.due_at
            context |= {"state": "received", "case": case}
            context["due"] = due_at.astimezone(zone).date()
    except errors.NotFound:
        return render(request, PAGE, {"state": "gone", "name": ""}, status=410)
    return render(request, PAGE, context)
