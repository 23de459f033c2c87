"""The form of the first agent, with its crew in the same step."""

from __future__ import annotations

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy

from memory.models.tenancy import SLUG
from memory.web.workspace_forms import SLUG_HINT


class FirstAgentForm(forms.Form):
    """A crew, which may exist, and an agent in it."""

    crew = forms.CharField(
        label=gettext_lazy("Crew"),
        max_length=64,
        validators=[SLUG],
    )
    agent = forms.CharField(
        label=gettext_lazy("Agent"),
        max_length=64,
        validators=[SLUG],
    )

    def __init__(self, data: QueryDict | None = None) -> None:
        super().__init__(data, auto_id="first_%s")
        for name, hint in (
            ("crew", gettext("Its agents share a memory.")),
            ("agent", gettext("It writes under this name.")),
        ):
            self.fields[name].help_text = f"{hint} {SLUG_HINT}"
