"""The forms of reports: a period, a purpose, who answers for the processing."""

from __future__ import annotations

from datetime import date
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from gdpr.processing import record as processing
from gdpr.processing.controller import CHARS


def _day(label: Any) -> forms.DateField:
    widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    return forms.DateField(label=label, required=False, widget=widget)


class PeriodForm(forms.Form):
    """Days, both included; an empty one is the first of the year, or today."""

    since = _day(gettext_lazy("From"))
    until = _day(gettext_lazy("Until"))

    def day(self, name: str) -> date | None:
        """Return a day, None when it is empty or no day."""
        self.is_valid()
        value: date | None = self.cleaned_data.get(name)
        return value


class PurposeForm(forms.Form):
    """Why a place is processed, and on what ground."""

    purpose = forms.CharField(
        label=gettext_lazy("Purpose"),
        max_length=processing.CHARS,
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    legal_basis = forms.CharField(
        label=gettext_lazy("Legal basis"),
        max_length=processing.CHARS,
        widget=forms.Textarea(attrs={"rows": 2}),
    )


class ControllerForm(forms.Form):
    """Who answers for the processing; the words are those of the settings."""

    controller = forms.CharField(
        label=gettext_lazy("Controller"),
        max_length=CHARS,
        required=False,
        help_text=gettext_lazy(
            "The name of the organisation that decides on the processing."
        ),
    )
    controller_contact = forms.CharField(
        label=gettext_lazy("Contact of the controller"),
        max_length=CHARS,
        required=False,
        help_text=gettext_lazy("Address, e-mail or telephone number."),
    )
    dpo_contact = forms.CharField(
        label=gettext_lazy("Data protection officer"),
        max_length=CHARS,
        required=False,
        help_text=gettext_lazy("Name and contact, where there is one."),
    )
    supervisory_authority = forms.CharField(
        label=gettext_lazy("Supervisory authority"),
        max_length=CHARS,
        required=False,
        help_text=gettext_lazy("Where people may complain: name and address."),
    )
    automated_decisions = forms.CharField(
        label=gettext_lazy("Decisions by programs alone"),
        max_length=CHARS,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=gettext_lazy(
            "Whether agents decide about people without a person, and by which logic"
            " (Article 22)."
        ),
    )
    third_countries = forms.CharField(
        label=gettext_lazy("Countries outside the European Economic Area"),
        max_length=CHARS,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=gettext_lazy(
            "Whether data goes there, and what protects it (Article 46)."
        ),
    )
