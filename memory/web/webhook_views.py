"""The webhooks page, for admins. A new secret is shown once."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from memory import webhooks
from memory.models import DeliveryStatus, WebhookDelivery
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.web import pages, workspace_views
from memory.web.webhook_forms import SwitchForm, WebhookForm


def _page(
    request: HttpRequest, actor: Actor, status: int = 200, **extra_context: Any
) -> HttpResponse:
    form = WebhookForm(auto_id="hook_%s")
    context = {"webhooks": webhooks.all_webhooks(actor), "form": form, **extra_context}
    part = pages.fragment(request, "body")
    template = f"workspace/webhooks.html{part}"
    return render(request, template, context, status=status)


@never_cache
@require_http_methods(workspace_views.PAGE_METHODS)
def webhook_list(request: HttpRequest) -> HttpResponse:
    """Show the webhooks with their last deliveries; a POST adds one."""
    actor = pages.actor(request)
    actor.require(webhooks.PERMISSION)
    if request.method != "POST":
        return _page(request, actor)
    form = WebhookForm(request.POST, auto_id="hook_%s")
    status = 422
    if form.is_valid():
        fields = form.cleaned_data
        try:
            webhook = webhooks.create(fields["url"], fields["events"], by=actor)
            return _page(request, actor, 201, created=webhook)
        except errors.AppError as error:
            status = workspace_views.fault(form, error)
    return _page(request, actor, status, form=form)


@require_POST
def remove(request: HttpRequest, webhook_id: str) -> HttpResponse:
    """Delete a webhook and its deliveries."""
    actor = pages.actor(request)
    hook = webhooks.webhook(actor, webhook_id)
    webhooks.remove(hook, by=actor)
    messages.success(request, f"Webhook to {hook.host} removed")
    return redirect("workspace:webhooks")


@require_POST
def switch(request: HttpRequest, webhook_id: str) -> HttpResponse:
    """Pause or resume a webhook."""
    actor = pages.actor(request)
    hook = webhooks.webhook(actor, webhook_id)
    form = SwitchForm(request.POST)
    if not form.is_valid():
        raise errors.Invalid("Say on or off.")
    active = form.cleaned_data["active"]
    webhooks.switch(hook, active=active, by=actor)
    word = "resumed" if active else "paused"
    messages.success(request, f"Webhook to {hook.host} {word}")
    return redirect("workspace:webhooks")


def _send(request: HttpRequest, row: WebhookDelivery, subject: str) -> HttpResponse:
    """Send a delivery now and report the result; the scheduled job retries it."""
    host = row.webhook.host
    if webhooks.send(row) == DeliveryStatus.SENT:
        messages.success(request, f"{subject} to {host} arrived")
    else:
        messages.warning(request, f"{subject} to {host} did not arrive yet; see below")
    return redirect("workspace:webhooks")


@require_POST
def test(request: HttpRequest, webhook_id: str) -> HttpResponse:
    """Send a test message now."""
    actor = pages.actor(request)
    hook = webhooks.webhook(actor, webhook_id)
    return _send(request, webhooks.queue_test(hook, by=actor), "The test")


@require_POST
def replay(request: HttpRequest, delivery_id: str) -> HttpResponse:
    """Send a finished delivery again, now."""
    actor = pages.actor(request)
    webhooks.replay(webhooks.delivery(actor, delivery_id), by=actor)
    return _send(request, webhooks.delivery(actor, delivery_id), "The delivery")
