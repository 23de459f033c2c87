"""The form of the first agent, with its crew in the same step."""

from __future__ import annotations

from django import forms
from django.http import QueryDict

from memory.models.tenancy import SLUG
from memory.web.workspace_forms import SLUG_HINT


class FirstAgentForm(forms.Form):
    """A crew, which may exist, and an agent in it."""

    crew = forms.CharField(
        label="Crew",
        max_length=64,
        validators=[SLUG],
        help_text=f"Its agents share a memory. {SLUG_HINT}",
    )
    agent = forms.CharField(
        label="Agent",
        max_length=64,
        validators=[SLUG],
        help_text=f"It writes under this name. {SLUG_HINT}",
    )

    def __init__(self, data: QueryDict | None = None) -> None:
        super().__init__(data, auto_id="first_%s")
