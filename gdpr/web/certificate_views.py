"""The public page that verifies a certificate, pasted or as a file, without a login."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from gdpr.certificates import document as certificate_document
from gdpr.certificates import identifiers
from gdpr.certificates import issue as certificates
from gdpr.certificates import keys as signing_keys
from gdpr.certificates.document import Verdict
from gdpr.models import AliasKind, CaseKind
from gdpr.web import certificate_lists

MOMENTS = (
    "received_at", "due_at", "approved_at", "started_at", "finished_at", "issued_at",
)  # fmt: skip


class CheckForm(forms.Form):
    """A certificate as text or as a file, and the case it should be about."""

    file = forms.FileField(
        required=False,
        label=gettext_lazy("The certificate's file"),
        help_text=gettext_lazy("Choose it, or drop it onto the field."),
        widget=forms.FileInput(attrs={"accept": ".json,application/json"}),
    )
    text = forms.CharField(
        required=False,
        label=gettext_lazy("Or its text"),
        widget=forms.Textarea(
            attrs={"rows": 6, "spellcheck": "false", "class": "mono"}
        ),
    )
    case_id = forms.CharField(
        required=False,
        max_length=64,
        label=gettext_lazy("Case number"),
        help_text=gettext_lazy(
            "When you were given one: the certificate has to be about it."
        ),
    )

    check_code = forms.CharField(
        required=False,
        max_length=80,
        label=gettext_lazy("Check code"),
        help_text=gettext_lazy(
            "With it you see whether your own address or name was among those sought."
        ),
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off"}),
    )
    kind = forms.ChoiceField(
        required=False,
        choices=AliasKind.choices,
        initial=AliasKind.EMAIL,
        label=gettext_lazy("What it is"),
    )
    value = forms.CharField(
        required=False,
        max_length=2_000,
        label=gettext_lazy("Address, number or name"),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def clean(self) -> dict[str, Any]:
        """Require the file or the text."""
        data: dict[str, Any] = super().clean() or {}
        if bool(data.get("check_code")) != bool(data.get("value")):
            name = "value" if data.get("check_code") else "check_code"
            self.add_error(name, gettext("Give the code and what to look for."))
        if not self.errors and not data.get("file") and not data.get("text"):
            fault = gettext("Choose a file, or paste the certificate's text.")
            self.add_error("file", fault)
        return data

    def document(self) -> bytes:
        """Return the certificate; of too large a file one byte more than allowed."""
        file = self.cleaned_data.get("file")
        if file:
            return bytes(file.read(certificate_document.MAX_BYTES + 1))
        return str(self.cleaned_data["text"]).encode(errors="replace")


def _kind(content: dict[str, Any]) -> str:
    """Return what was asked for, as the reader calls it."""
    kind = str(content.get("kind", ""))
    if kind in CaseKind.values:
        return str(CaseKind(kind).label)
    return kind.capitalize()


def _times(content: dict[str, Any]) -> dict[str, datetime]:
    """Return the dates of a certificate, by their names in it."""
    times = {}
    for name in MOMENTS:
        try:
            times[name] = datetime.fromisoformat(str(content.get(name)))
        except ValueError:
            continue
    return times


def verdict_context(verdict: Verdict) -> dict[str, Any]:
    """Return the context of the page.

    The content of a document that this installation did not sign is never shown: it
    would look like a statement of ours.
    """
    is_trusted = verdict.intact and verdict.key_id in signing_keys.trusted()
    content = verdict.content if is_trusted else None
    return {
        "verdict": verdict,
        "content": content,
        "kind": _kind(content or {}),
        "lists": certificate_lists.of(content or {}),
        "times": _times(content or {}),
    }


def _identifier(
    content: dict[str, Any] | None, data: dict[str, Any]
) -> dict[str, Any] | None:
    """Return whether an identifier was sought; None when nobody asked."""
    if not content or not data["check_code"] or "identifiers" not in content:
        return None
    kind, value = data["kind"] or AliasKind.EMAIL, data["value"]
    try:
        line = identifiers.line_of(content, data["check_code"], kind, value)
    except ValueError:
        return {"is_known": False}
    places = certificate_lists.sought_in(line) if line else []
    return {"is_known": True, "is_listed": line is not None, "sought_in": places}


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def check(request: HttpRequest) -> HttpResponse:
    """Show the form; a POST verifies the certificate and shows the verdict."""
    context: dict[str, Any] = {"keys": signing_keys.published()}
    if request.method != "POST":
        form = CheckForm(initial={"case_id": request.GET.get("case", "")[:64]})
        return render(request, "gdpr/certificate_check.html", context | {"form": form})
    form, status = CheckForm(request.POST, request.FILES), 422
    if form.is_valid():
        case_id = form.cleaned_data["case_id"].strip()
        verdict = certificates.verify(form.document(), case_id=case_id)
        context |= verdict_context(verdict)
        context["identifier"] = _identifier(context["content"], form.cleaned_data)
        status = 200
    template = "gdpr/certificate_check.html"
    return render(request, template, context | {"form": form}, status=status)
