"""The page that takes a file of journal entries."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods

from memory import journal_upload
from memory.jobs import work
from memory.journal_upload import FILE_BYTES, JOB, MAX_AGE, MAX_LINES
from memory.rules import errors
from memory.web import pages

EXAMPLE: Final = (
    '{"entry_type": "assignment.failed", "summary": "Refund above $200 was denied",'
    ' "ts": "2026-11-21T09:30:00Z", "crew": "support", "agent": "ada"}'
)

REFUSALS: Final = (
    journal_upload.NoLines,
    journal_upload.TooManyLines,
    errors.Conflict,
)


class ImportForm(forms.Form):
    """A file of JSON lines, and whether crews and agents may be made."""

    file = forms.FileField(
        label=gettext_lazy("File"),
        widget=forms.FileInput(attrs={"accept": ".jsonl,.ndjson,.json,.txt"}),
    )
    create = forms.BooleanField(
        label=gettext_lazy("Make crews and agents that are not here yet"),
        required=False,
    )

    def clean_file(self) -> Any:
        """Refuse a file that is too large, before it is read."""
        file = self.cleaned_data["file"]
        if file.size > FILE_BYTES:
            text = gettext("A file has at most {limit}; this one has {size}.")
            sizes = {"limit": FILE_BYTES, "size": file.size}
            shown = {name: filesizeformat(size) for name, size in sizes.items()}
            raise forms.ValidationError(text.format(**shown))
        return file


@require_http_methods(["GET", "POST"])
def import_entries(request: HttpRequest) -> HttpResponse:
    """Show the form, or take the file and go to the run that appends its lines."""
    actor = pages.actor(request)
    actor.require("journal.import")
    form = ImportForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            run = journal_upload.begin(actor, data["file"], create=data["create"])
        except REFUSALS as error:
            form.add_error("file", error.detail)
        else:
            return redirect("jobs:work", JOB, run.pk)
    context = {
        "form": form,
        "example": EXAMPLE,
        "max_lines": MAX_LINES,
        "max_bytes": FILE_BYTES,
        "days": MAX_AGE.days,
        "work": work.latest(actor, JOB, within=MAX_AGE),
    }
    status = 422 if form.errors else 200
    return render(request, "memory/journal_import.html", context, status=status)
