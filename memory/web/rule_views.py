"""The views of the scanner rules: find them, try a text, change the policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods

from memory.figures import grouped
from memory.files import policy, quarantine, scanner_words
from memory.files.agreement import FEW_DECISIONS
from memory.files.policy import PolicyChange
from memory.review import (
    context_words,
    labels,
    policy_table,
    proposals,
    rule_tester,
    workbench,
)
from memory.review.rule_tester import Attempt
from memory.review.workbench import Listing
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.scanner import provenance, registry
from memory.scanner.provenance import Writer
from memory.web import pages, scanner_figures
from memory.web.quarantine_forms import RuleFilterForm, TextForm

REGIONS: Final = ("listing", "draft", "tried")
FILTERS: Final = ("q", "family", "state", "sort")


# ── The draft: changes that are not saved, carried by the forms ──────────────
def _values(pairs: Iterable[str]) -> dict[str, str]:
    """Return values by key from ``key:value``; a key may itself have a colon."""
    return {key: value for key, _, value in (pair.rpartition(":") for pair in pairs)}


def _changing(actor: Actor, values: dict[str, str]) -> dict[str, str]:
    """Return values without those that are in force already."""
    return {change.key: change.after for change in policy.changes(actor, values)}


def _draft(actor: Actor, params: QueryDict) -> dict[str, str]:
    """Return the draft that a form carries; only an admin has one."""
    if not actor.can("scanner.manage"):
        return {}
    kinds = _values(pair for pair in params.getlist("kind") if pair)
    values = _values(params.getlist("set")) | policy_table.modes_of(kinds)
    return _changing(actor, values)


def _bulk(actor: Actor, params: QueryDict, listing: Listing) -> dict[str, str]:
    """Return what a button for many rules adds to the draft."""
    scope = params.get("apply", "")
    if scope not in ("ticked", "all") or not actor.can("scanner.manage"):
        return {}
    ids = [line.card.rule.id for line in listing.matching]
    if scope == "ticked":
        ids = params.getlist("tick")
    return dict.fromkeys(ids, params.get("to", ""))


def _page(params: QueryDict, name: str) -> int:
    return pages.number(params.get(name, "")) or 1


def _address(params: QueryDict, draft: dict[str, str], page: int) -> str:
    """Return the address of the list with the draft, without what says nothing."""
    query = QueryDict(mutable=True)
    query.update({name: str(params[name]) for name in FILTERS if params.get(name)})
    if page > 1:
        query["page"] = str(page)
    if draft:
        query.setlist("set", [f"{key}:{value}" for key, value in draft.items()])
    path = reverse("quarantine:rules")
    return f"{path}?{query.urlencode(safe=':')}" if query else path


# ── The workbench ────────────────────────────────────────────────────────────
def _draft_context(
    actor: Actor, params: QueryDict, draft: dict[str, str], page: int
) -> dict[str, Any]:
    return {
        "changes": policy.changes(actor, draft),
        "address": _address(params, draft, page),
        "forget": _address(params, {}, page),
    }


def _context(actor: Actor, params: QueryDict) -> dict[str, Any]:
    draft, filters = _draft(actor, params), RuleFilterForm(params)
    page = _page(params, "here" if params.get("apply") else "page")
    listing = workbench.listing(actor, filters.rule_filter(), draft, page)
    if bulk := _bulk(actor, params, listing):
        draft = _changing(actor, draft | bulk)
        matching = [
            replace(line, mode=draft.get(line.card.rule.id, line.card.mode))
            for line in listing.matching
        ]
        listing = replace(listing, matching=matching)
    lines = policy.lines(actor)
    return _draft_context(actor, params, draft, listing.page) | {
        "filters": filters,
        "listing": listing,
        "elsewhere": [
            (key, mode)
            for key, mode in draft.items()
            if key in registry.BY_ID and key not in listing.ids
        ],
        "kinds": policy_table.lines(
            quarantine.rule_modes(actor.workspace_id), draft, listing.by_kind
        ),
        "lines": [(line, draft.get(line.key, line.action)) for line in lines],
        "set_lines": [line for line in lines if line.action],
        "modes": policy.MODES,
        "actions": quarantine.ACTIONS,
        "version": registry.VERSION,
        "measured": policy_table.measured(),
        "parts": context_words.table(),
        "usual": provenance.context(None),
        "few": FEW_DECISIONS,
        "proposed": proposals.pending_count(actor),
        "unfiltered": _address(QueryDict(), draft, 1),
    }


def _part(request: HttpRequest) -> str:
    """Return the region that htmx swaps, "" for the whole page."""
    return next(filter(None, (pages.target_fragment(request, r) for r in REGIONS)), "")


@require_http_methods(pages.METHODS)
def rules(request: HttpRequest) -> HttpResponse:
    """Show the rules; a POST scans a text and shows which of them fire."""
    actor = pages.actor(request)
    actor.require("scanner.read")
    part = _part(request)
    if request.method == "POST":
        return _try_text(request, actor, part)
    if part == "#draft":
        draft = _draft(actor, request.GET)
        context = _draft_context(actor, request.GET, draft, _page(request.GET, "here"))
    else:
        context = _context(actor, request.GET) | _attempt_context(TextForm(), None)
        context |= scanner_figures.context()
    response = render(request, f"memory/rules.html{part}", context)
    if part:
        response["HX-Replace-Url"] = context["address"]
    return response


def _attempt_context(form: TextForm, attempt: Attempt | None) -> dict[str, Any]:
    return {"form": form, "tried": attempt}


def _try_text(request: HttpRequest, actor: Actor, part: str) -> HttpResponse:
    form, attempt = TextForm(request.POST), None
    if form.is_valid():
        fields = form.cleaned_data
        draft = _draft(actor, request.POST)
        attempt = rule_tester.attempt(
            actor,
            fields["text"],
            fields["source"],
            draft,
            tier=fields["tier"],
            writer=fields["writer"] or Writer.OWN,
        )
    context = _attempt_context(form, attempt)
    if not part:
        context |= _context(actor, request.POST) | scanner_figures.context()
    status = 200 if attempt else 422
    return render(request, f"memory/rules.html{part}", context, status=status)


# ── One rule ─────────────────────────────────────────────────────────────────
@require_http_methods(pages.METHODS)
def rule(request: HttpRequest, rule_id: str) -> HttpResponse:
    """Show one rule and the effect of another mode; a POST sets the mode."""
    actor = pages.actor(request)
    actor.require("scanner.read")
    card = policy.card(actor, rule_id)
    if request.method == "POST":
        mode = request.POST.get("mode", "")
        before = policy.set_rule(rule_id, mode, by=actor)
        words = gettext("{rule} set to {mode}, was {before}").format(
            rule=rule_id,
            mode=scanner_words.word(mode),
            before=scanner_words.word(before),
        )
        messages.success(request, words)
        return redirect("quarantine:rule", rule_id)
    mode = request.GET.get("mode", "")
    context = {
        "card": card,
        "modes": policy.MODES,
        "mode": mode,
        "replay": rule_tester.replay(actor, {rule_id: mode}) if mode else None,
        "fires": rule_tester.attempt(actor, card.rule.fires, "tool"),
        "few": FEW_DECISIONS,
        "decisions": labels.of_rule(actor, rule_id),
    }
    return render(request, "memory/rule.html", context)


# ── Reviewing and saving a draft ─────────────────────────────────────────────
@require_http_methods(pages.METHODS)
def policy_change(request: HttpRequest) -> HttpResponse:
    """Show all changes of a draft as one diff; a POST saves them, or none."""
    actor = pages.actor(request)
    actor.require("scanner.manage")
    if request.method != "POST":
        return _review(request, actor, request.GET)
    draft = _values(request.POST.getlist("set"))
    base = _values(request.POST.getlist("base"))
    try:
        changes = policy.save(draft, by=actor, base=base)
    except errors.Conflict as conflict:
        return _review(request, actor, request.POST, base, conflict)
    # None when all is so already, as after the same form sent twice.
    if changes:
        words = ngettext("{count} change saved", "{count} changes saved", len(changes))
        messages.success(request, words.format(count=grouped(len(changes))))
    return redirect("quarantine:rules")


def _review(
    request: HttpRequest,
    actor: Actor,
    params: QueryDict,
    base: dict[str, str] | None = None,
    conflict: errors.Conflict | None = None,
) -> HttpResponse:
    """Show a diff; after a conflict, with the lines that somebody else changed."""
    draft = _draft(actor, params)
    changes = policy.changes(actor, draft)
    hits = workbench.daily_hits(actor).by_rule
    context = {
        "rows": [(change, _hits(change, hits)) for change in changes],
        "conflict": conflict,
        "stale": policy.later_changes(actor, base or {}),
        "back": _address(params, draft, 1),
        "forget": reverse("quarantine:rules"),
        "replay": rule_tester.replay(actor, draft) if params.get("replay") else None,
    }
    status = conflict.status if conflict else 200
    return render(request, "memory/policy_review.html", context, status=status)


def _hits(change: PolicyChange, hits: Mapping[str, list[int]]) -> int | None:
    """Return a rule's hits; None for a line of a tier or source."""
    if change.key not in registry.BY_ID:
        return None
    return sum(hits.get(change.key, []))
