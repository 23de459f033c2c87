"""The webhooks page, for admins. A new secret is shown once."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from memory import http_out, webhooks
from memory.models import DeliveryStatus, WebhookDelivery
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.web import pages

NAMES: Final = {
    "memory.health_band_changed": gettext_lazy(
        "Memory health changed its band: red, yellow or green"
    )
}
EVENTS: Final = tuple((event, NAMES.get(event, event)) for event in webhooks.EVENTS)


class WebhookForm(forms.Form):
    """A new webhook: its address and its events."""

    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=http_out.URL_LENGTH,
        widget=forms.URLInput(
            attrs={"placeholder": gettext_lazy("https://example.com/hooks")}
        ),
        help_text=gettext_lazy(
            "Gets each event as a signed POST. Redirects are not followed."
        ),
    )
    events = forms.MultipleChoiceField(
        label=gettext_lazy("Events"),
        choices=EVENTS,
        initial=list(webhooks.EVENTS),
        widget=forms.CheckboxSelectMultiple,
    )


class SwitchForm(forms.Form):
    """On or off."""

    active = forms.TypedChoiceField(
        choices=(("on", "On"), ("off", "Off")), coerce=lambda text: text == "on"
    )


def _page(
    request: HttpRequest, actor: Actor, status: int = 200, **extra_context: Any
) -> HttpResponse:
    form = WebhookForm(auto_id="hook_%s")
    context = {"webhooks": webhooks.all_webhooks(actor), "form": form, **extra_context}
    part = pages.fragment(request, "body")
    template = f"workspace/webhooks.html{part}"
    return render(request, template, context, status=status)


@never_cache
@require_http_methods(pages.METHODS)
def webhook_list(request: HttpRequest) -> HttpResponse:
    """Show the webhooks with their last deliveries; a POST adds one."""
    actor = pages.actor(request)
    actor.require(webhooks.PERMISSION)
    if request.method != "POST":
        return _page(request, actor)
    form = WebhookForm(request.POST, auto_id="hook_%s")
    webhook, status = pages.submit(
        form,
        lambda fields: webhooks.create(fields["url"], fields["events"], by=actor),
    )
    if webhook:
        return _page(request, actor, 201, created=webhook)
    return _page(request, actor, status, form=form)


@pages.action("workspace:webhooks")
def remove(request: HttpRequest, webhook_id: str) -> str:
    """Delete a webhook and its deliveries."""
    actor = pages.actor(request)
    hook = webhooks.webhook(actor, webhook_id)
    webhooks.remove(hook, by=actor)
    return gettext("Webhook to {host} removed").format(host=hook.host)


@pages.action("workspace:webhooks")
def switch(request: HttpRequest, webhook_id: str) -> str:
    """Pause or resume a webhook."""
    actor = pages.actor(request)
    hook = webhooks.webhook(actor, webhook_id)
    form = SwitchForm(request.POST)
    if not form.is_valid():
        raise errors.Invalid(gettext("Say on or off."))
    active = form.cleaned_data["active"]
    webhooks.switch(hook, active=active, by=actor)
    if active:
        return gettext("Webhook to {host} resumed").format(host=hook.host)
    return gettext("Webhook to {host} paused").format(host=hook.host)


def _send(row: WebhookDelivery, arrived: str, pending: str) -> tuple[int, str]:
    """Send a delivery now and report the result; the scheduled job retries it."""
    if webhooks.send(row) == DeliveryStatus.SENT:
        return messages.SUCCESS, arrived.format(host=row.webhook.host)
    return messages.WARNING, pending.format(host=row.webhook.host)


@pages.action("workspace:webhooks")
def test(request: HttpRequest, webhook_id: str) -> tuple[int, str]:
    """Send a test message now."""
    actor = pages.actor(request)
    hook = webhooks.webhook(actor, webhook_id)
    return _send(
        webhooks.queue_test(hook, by=actor),
        gettext("The test to {host} arrived"),
        gettext("The test to {host} did not arrive yet; see below"),
    )


@pages.action("workspace:webhooks")
def replay(request: HttpRequest, delivery_id: str) -> tuple[int, str]:
    """Send a finished delivery again, now."""
    actor = pages.actor(request)
    webhooks.replay(webhooks.delivery(actor, delivery_id), by=actor)
    return _send(
        webhooks.delivery(actor, delivery_id),
        gettext("The delivery to {host} arrived"),
        gettext("The delivery to {host} did not arrive yet; see below"),
    )
