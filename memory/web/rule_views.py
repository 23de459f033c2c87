"""The views of the scanner rules: test a text, list the rules, change a mode."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from memory.files import policy, quarantine
from memory.review import detail as review_detail
from memory.review import rule_tester
from memory.rules.permissions import Actor
from memory.scanner import registry
from memory.web import pages
from memory.web.quarantine_forms import TextForm


def _context(actor: Actor) -> dict[str, Any]:
    cards = policy.cards(actor)
    by_family = groupby(cards, key=lambda card: card.rule.family.value)
    lines = policy.lines(actor)
    return {
        "families": [
            (name.replace("_", " "), list(cards_of_family))
            for name, cards_of_family in by_family
        ],
        "count": len(cards),
        "changed": [card for card in cards if card.mode != policy.DEFAULT],
        "lines": lines,
        "set_lines": [line for line in lines if line.action],
        "actions": quarantine.ACTIONS,
        "version": registry.VERSION,
    }


@require_http_methods(pages.METHODS)
def rules(request: HttpRequest) -> HttpResponse:
    """Show the rules; a POST scans a text and shows which of them fire."""
    actor = pages.actor(request)
    actor.require("scanner.read")
    form, attempt, status = TextForm(), None, 200
    if request.method == "POST":
        form = TextForm(request.POST)
        status = 200 if form.is_valid() else 422
        if form.is_valid():
            fields = form.cleaned_data
            attempt = rule_tester.attempt(actor, fields["text"], fields["source"])
    part = pages.fragment(request, "tried")
    level = review_detail.level(attempt.verdict.risk) if attempt else ("", "")
    context = {"form": form, "tried": attempt, "level": level}
    if not part:
        context |= _context(actor)
    return render(request, f"memory/rules.html{part}", context, status=status)


@require_http_methods(pages.METHODS)
def rule(request: HttpRequest, rule_id: str) -> HttpResponse:
    """Show one rule and the effect of another mode; a POST sets the mode."""
    actor = pages.actor(request)
    actor.require("scanner.read")
    card = policy.card(actor, rule_id)
    if request.method == "POST":
        mode = request.POST.get("mode", "")
        before = policy.set_rule(rule_id, mode, by=actor)
        messages.success(request, f"{rule_id} set to {mode}, was {before}")
        return redirect("quarantine:rule", rule_id)
    mode = request.GET.get("mode", "")
    context = {
        "card": card,
        "modes": policy.MODES,
        "mode": mode,
        "replay": rule_tester.replay(actor, rule_id, mode) if mode else None,
        "fires": rule_tester.attempt(actor, card.rule.fires, "tool"),
    }
    return render(request, "memory/rule.html", context)


@pages.action("quarantine:rules", page_statuses=[422])
def policy_change(request: HttpRequest) -> str:
    """Set the action for held verdicts of one tier or source."""
    key, action = request.POST.get("key", ""), request.POST.get("action", "")
    before = policy.set_policy(key, action, by=pages.actor(request))
    return f"{key} set to {action or 'the default'}, was {before or 'the default'}"
