"""The forms of the webhooks page; the service validates the rules."""

from __future__ import annotations

from typing import Final

from django import forms

from memory import http_out, webhooks

NAMES: Final = {
    "memory.health_band_changed": "Memory health changed its band: red, yellow or green"
}
EVENTS: Final = tuple((event, NAMES.get(event, event)) for event in webhooks.EVENTS)


class WebhookForm(forms.Form):
    """A new webhook: its address and its events."""

    url = forms.CharField(
        label="Address",
        max_length=http_out.URL_LENGTH,
        widget=forms.URLInput(attrs={"placeholder": "https://example.com/hooks"}),
        help_text="Gets each event as a signed POST. Redirects are not followed.",
    )
    events = forms.MultipleChoiceField(
        label="Events",
        choices=EVENTS,
        initial=list(webhooks.EVENTS),
        widget=forms.CheckboxSelectMultiple,
    )


class SwitchForm(forms.Form):
    """On or off."""

    active = forms.TypedChoiceField(
        choices=(("on", "On"), ("off", "Off")), coerce=lambda text: text == "on"
    )
