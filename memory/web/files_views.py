"""The views of the memory files' pages.

A refused write is answered with its page: the typed text is kept and the reason shown,
with the current text when the file is full, or with the case when the text is held.
"""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from memory.files import editing, listing, paths
from memory.files.listing import FilePage
from memory.rules import errors, tiers
from memory.rules.permissions import Actor
from memory.rules.tiers import Tier, WriteMode
from memory.web import markdown, pages

QUERY_CHARS: Final = 500
# Names, which a browser leaves as they are.
NO_LANGUAGE: Final = {"translate": "no"}
MODES: Final = {mode.value: mode for mode in WriteMode}


class OpenForm(forms.Form):
    """The file to open; it need not exist yet."""

    owner = forms.ChoiceField(
        label=gettext_lazy("Whose"), widget=forms.Select(NO_LANGUAGE)
    )
    tier = forms.ChoiceField(
        label=gettext_lazy("Tier"),
        choices=[(tier.value, tier.value) for tier in Tier],
        widget=forms.Select(NO_LANGUAGE),
        help_text=gettext_lazy(
            "The kind of memory file, with its own cap and readers."
        ),
    )
    key = forms.CharField(
        label=gettext_lazy("Key"),
        required=False,
        max_length=64,
        help_text=gettext_lazy(
            "A day for daily (today when empty), a person for peers."
        ),
    )

    def __init__(self, actor: Actor, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"auto_id": "open_%s", **kwargs})
        shared = gettext("shared")
        choices = [
            (
                owner.id,
                f"{owner.crew.slug} · {owner.agent.slug if owner.agent else shared}",
            )
            for owner in listing.owners(actor)
        ]
        pages.offer(self, "owner", choices)


# ── The tree ─────────────────────────────────────────────────────────────────
def _browse(request: HttpRequest, form: OpenForm, status: int = 200) -> HttpResponse:
    actor = pages.actor(request)
    query = request.GET.get("q", "").strip()[:QUERY_CHARS]
    owner_id = request.GET.get("owner", "") if query else ""
    context = {
        "tree": listing.tree(actor),
        "q": query,
        "wanted": owner_id,
        "answers": listing.search(actor, query, owner_id) if query else None,
        "form": form,
    }
    template = f"memory/browse.html{pages.target_fragment(request, 'files')}"
    return render(request, template, context, status=status)


@require_GET
def browse_files(request: HttpRequest) -> HttpResponse:
    """Show every file by crew and agent, or the hits of a search."""
    return _browse(request, OpenForm(pages.actor(request)))


@require_GET
def open_file(request: HttpRequest) -> HttpResponse:
    """Redirect to the file of a tier and a key."""
    actor = pages.actor(request)
    form = OpenForm(actor, request.GET)
    if form.is_valid():
        fields = form.cleaned_data
        key = fields["key"]
        if not key and fields["tier"] in tiers.DATED:
            key = timezone.now().date().isoformat()
        try:
            place = tiers.place(fields["tier"], key)
            owner = listing.owner(actor, fields["owner"]).of(place)
            if owner.agent is None and not place.rule.shared:
                fault = gettext("{tier} belongs to an agent.")
                form.add_error("owner", fault.format(tier=place.tier.value))
            else:
                return redirect("files:file", owner.id, place.label)
        except errors.Invalid as error:
            form.add_error("key", error.detail)
    return _browse(request, form, status=422)


# ── One file ─────────────────────────────────────────────────────────────────
def _file_page(request: HttpRequest, owner_id: str, label: str) -> FilePage:
    actor = pages.actor(request)
    owner = listing.owner(actor, owner_id)
    return listing.file(actor, owner, listing.place(owner, label))


def _file(
    request: HttpRequest,
    page: FilePage,
    draft: dict[str, Any] | None = None,
    refusal: errors.AppError | None = None,
) -> HttpResponse:
    text = page.text.text if page.text else ""
    mode = (draft or {}).get("mode") or request.GET.get("edit", "")
    actor = pages.actor(request)
    context = {
        "page": page,
        "raw": request.GET.get("view") == "raw",
        "lines": text.splitlines(),
        "rendered": markdown.render(text),
        "mode": mode if mode in MODES and actor.can("files.write") else "",
        "draft": draft or {"text": text if mode == "replace" else ""},
        "refusal": refusal,
    }
    status = refusal.status if refusal else 200
    template = f"memory/file.html{pages.target_fragment(request, 'file')}"
    return render(request, template, context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
def file(request: HttpRequest, owner_id: str, label: str) -> HttpResponse:
    """Show a file; a POST writes it, for an operator."""
    page = _file_page(request, owner_id, label)
    if request.method != "POST":
        return _file(request, page)
    draft = {name: request.POST.get(name, "") for name in ("mode", "text", "base")}
    if draft["mode"] not in MODES:
        raise errors.Invalid(gettext("mode is replace or append."))
    mode, actor = MODES[draft["mode"]], pages.actor(request)
    try:
        result = editing.edit(
            page.owner, page.place, draft["text"], mode, base=draft["base"], by=actor
        )
    except errors.AppError as error:
        pages.reraise_unless_mendable(error)
        return _file(request, _file_page(request, owner_id, label), draft, error)
    message = gettext("{label} written, version {number}")
    messages.success(request, message.format(label=label, number=result.version.number))
    return redirect("files:file", owner_id, label)


# ── History ──────────────────────────────────────────────────────────────────
def _history(
    request: HttpRequest, page: FilePage, refusal: errors.AppError | None = None
) -> HttpResponse:
    row = paths.row_of(page.owner, page.place)
    log = listing.log(row)
    first, second = (pages.number(request.GET.get(name, "")) for name in ("a", "b"))
    if first is None and second is None and len(log) > 1:
        first, second = log[1].number, log[0].number
    has_pair = first is not None and second is not None
    context = {
        "page": page,
        "log": log,
        "a": first,
        "b": second,
        "compared": listing.compare(row, first or 0, second or 0) if has_pair else None,
        "refusal": refusal,
    }
    status = refusal.status if refusal else 200
    template = f"memory/versions.html{pages.target_fragment(request, 'history')}"
    return render(request, template, context, status=status)


@require_GET
def history(request: HttpRequest, owner_id: str, label: str) -> HttpResponse:
    """Show a file's versions and what changed between two of them."""
    return _history(request, _file_page(request, owner_id, label))


@require_POST
def restore(request: HttpRequest, owner_id: str, label: str) -> HttpResponse:
    """Restore a version as a new one; a refusal is shown on the history page."""
    page, actor = _file_page(request, owner_id, label), pages.actor(request)
    number = pages.number(request.POST.get("number", ""))
    if number is None:
        raise errors.Invalid(gettext("number is a version's number."))
    try:
        result = editing.restore(page.owner, page.place, number, by=actor)
    except errors.AppError as error:
        pages.reraise_unless_mendable(error)
        return _history(request, _file_page(request, owner_id, label), error)
    message = gettext("Version {number} restored as version {new}")
    messages.success(request, message.format(number=number, new=result.version.number))
    return redirect("files:versions", owner_id, label)
