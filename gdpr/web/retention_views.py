"""The pages of retention: the rules, and the dry run of one."""

from __future__ import annotations

from typing import Final

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from gdpr.models import RetentionPlace, RetentionRule
from gdpr.retention import rules, selection
from gdpr.retention.rules import NewRule
from memory.web import pages

# Types of the journal offered while one is typed.
SUGGESTIONS: Final = (
    "*", "container.metrics", "exec.output_chunk", "llm.call", "network.*",
    "peer.conversation",
)  # fmt: skip


class RuleForm(forms.Form):
    """A new rule."""

    place = forms.ChoiceField(
        label=gettext_lazy("Where"), choices=RetentionPlace.choices
    )
    kind = forms.CharField(
        label=gettext_lazy("Type"),
        max_length=rules.KIND_CHARS,
        help_text=gettext_lazy(
            "An entry type or the kind of a record. network.* is every type that begins"
            " so, * is every type."
        ),
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "list": "retention-types"}
        ),
    )
    days = forms.IntegerField(
        label=gettext_lazy("Days until the text is erased"),
        min_value=1,
        max_value=rules.MAX_DAYS,
        help_text=gettext_lazy(
            "Counted from the time of an entry, and from the last change of a record."
        ),
    )
    reason = forms.CharField(
        label=gettext_lazy("Why it is not needed any longer"),
        max_length=rules.REASON_CHARS,
    )


@never_cache
@require_http_methods(pages.METHODS)
def index(request: HttpRequest) -> HttpResponse:
    """List the rules; an admin adds one."""
    actor = pages.actor(request)
    actor.require("gdpr.read")
    if request.method != "POST":
        return _index(request, RuleForm())
    actor.require(rules.MAY)
    form = RuleForm(request.POST)
    rule, status = pages.submit(
        form, lambda fields: rules.add(NewRule(**fields), by=actor)
    )
    if rule is None:
        return _index(request, form, status)
    messages.success(
        request, gettext("Added, switched off. See what it would erase first.")
    )
    return redirect("privacy:retention_rule", rule.pk)


def _index(request: HttpRequest, form: RuleForm, status: int = 200) -> HttpResponse:
    rows = rules.all_of(pages.actor(request))
    context = {
        "form": form,
        "rows": rows,
        "active": sum(rule.active for rule in rows),
        "suggestions": SUGGESTIONS,
    }
    return render(request, "gdpr/retention.html", context, status=status)


@never_cache
@require_GET
def detail(request: HttpRequest, rule_id: str) -> HttpResponse:
    """Show what a rule would erase now."""
    actor = pages.actor(request)
    rule = rules.get(actor, rule_id)
    trial = rules.dry_run(rule, by=actor)
    context = {
        "rule": rule,
        "trial": trial,
        "kinds": trial.kinds.most_common(),
        "stays": [
            (selection.REASONS[reason], count)
            for reason, count in trial.stays.most_common()
        ],
        "stays_total": sum(trial.stays.values()),
        "before": selection.cutoff(rule),
        "max_days": rules.MAX_DAYS,
    }
    return render(request, "gdpr/retention_rule.html", context)


def _back(rule_id: str) -> str:
    return reverse("privacy:retention_rule", args=[rule_id])


def _rule(request: HttpRequest, rule_id: str) -> RetentionRule:
    """Return the rule a form is about, with the age that the form showed."""
    rule = rules.get(pages.actor(request), rule_id)
    shown_days = pages.number(request.POST.get("shown_days", ""))
    rule.days = shown_days or rule.days
    return rule


@pages.action(_back, page_statuses=pages.MENDABLE)
def switch(request: HttpRequest, rule_id: str) -> str:
    """Switch a rule on, with the number of rows that the page showed, or off."""
    actor = pages.actor(request)
    rule = _rule(request, rule_id)
    if request.POST.get("active") == "on":
        due = pages.number(request.POST.get("due", "")) or 0
        rules.switch_on(rule, due, by=actor)
        return gettext("Switched on. It erases every night what is due.")
    rules.switch_off(rule, by=actor)
    return gettext("Switched off. It erases nothing from now on.")


@pages.action(_back, page_statuses=pages.MENDABLE)
def change_days(request: HttpRequest, rule_id: str) -> str:
    days = pages.number(request.POST.get("days", "")) or 0
    rules.change_days(_rule(request, rule_id), days, by=pages.actor(request))
    return gettext("Changed, and switched off. See what it would erase now.")


@pages.action("privacy:retention", page_statuses=pages.MENDABLE)
def remove(request: HttpRequest, rule_id: str) -> str:
    actor = pages.actor(request)
    rules.remove(rules.get(actor, rule_id), by=actor)
    return gettext("Removed. What it erased stays erased.")
