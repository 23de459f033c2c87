"""Pages of cases: the list, a new one, one case with its plan, run and proof."""

from __future__ import annotations

from typing import Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from gdpr.api.cases import StaleVersion
from gdpr.cases import (
    bulk,
    overview,
    privacy_settings,
    queries,
    reminder_email,
    transitions,
)
from gdpr.cases import workflow as cases
from gdpr.cases.workflow import NewCase
from gdpr.letters import bulk as letters_bulk
from gdpr.letters import occasions
from gdpr.models import Case, CaseKind, Subject
from gdpr.recipients import queries as recipients
from gdpr.reports import case_list as case_list_file
from gdpr.subjects import access_log
from gdpr.subjects import registry as subjects
from gdpr.web import case_page, case_words, letter_panel
from gdpr.web.case_actions import ACTIONS
from gdpr.web.forms import AttachForm, CaseFilterForm, NewCaseForm
from gdpr.web.letter_forms import AddressForm
from gdpr.web.report_views import csv_response
from memory.accounts import mail
from memory.rules import errors
from memory.rules.bulk import Item, parse
from memory.rules.permissions import Actor
from memory.web import pages
from memory.web.bulk_page import Report

PAGE: Final = 50
CHOICES: Final = 8
# What an act on many cases says of those that it changed.
MANY_WORDS: Final = {
    "assign": (
        gettext_noop("{count} case assigned"),
        gettext_noop("{count} cases assigned"),
    ),
    "undo": (
        gettext_noop("{count} case is assigned as before"),
        gettext_noop("{count} cases are assigned as before"),
    ),
    "remind": (
        gettext_noop("{count} reminder noted"),
        gettext_noop("{count} reminders noted"),
    ),
    "announce": (
        gettext_noop("{count} letter written: the request arrived"),
        gettext_noop("{count} letters written: the request arrived"),
    ),
    "extend": (
        gettext_noop("{count} deadline extended; tell the person, with the reason"),
        gettext_noop("{count} deadlines extended; tell the people, with the reason"),
    ),
}


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Redirect to the list of cases."""
    pages.actor(request).require("gdpr.read")
    return redirect("privacy:cases")


# ── The list ─────────────────────────────────────────────────────────────────
def _list_page(
    request: HttpRequest,
    *,
    report: Report | None = None,
    refusal: errors.AppError | None = None,
) -> HttpResponse:
    """Render the cases that match, the most urgent first."""
    actor = pages.actor(request)
    people = reminder_email.recipients(actor.workspace_id)
    form = CaseFilterForm(request.GET, people=people)
    query = form.query()
    cursor = request.GET.get("cursor") or None
    page = queries.page(actor, query, limit=PAGE, cursor=cursor)
    rules = privacy_settings.of(actor.workspace_id)
    lines = [
        (case, queries.deadline(case, rules), f"{case.id}:{case.version}")
        for case in page.items
    ]
    context = {
        "form": form,
        "lines": lines,
        "next_cursor": page.next_cursor,
        "numbers": overview.case_counts(actor),
        "notices": recipients.open_counts(actor),
        "is_narrow": any(request.GET.get(name) for name in form.fields),
        "rules": rules,
        "people": people,
        "has_open": any(case.closed_at is None for case, *_ in lines),
        "report": report,
        "refusal": refusal,
        # A refused act changed nothing: what was ticked and typed stays.
        "typed": request.POST if refusal else {},
        "ticked": request.POST.getlist("items") if refusal else [],
        "mails": mail.server_set(),
        "letters_missing": occasions.missing_in(page.items),
    }
    status = refusal.status if refusal else 200
    return render(request, "gdpr/cases.html", context, status=status)


@never_cache
@require_GET
def case_list(request: HttpRequest) -> HttpResponse:
    """List cases, the most urgent first."""
    pages.actor(request).require("gdpr.read")
    return _list_page(request)


@require_POST
def list_csv(request: HttpRequest) -> HttpResponseBase:
    """Download the cases that the filters match; the journal records it."""
    actor = pages.actor(request)
    actor.require("gdpr.read")
    people = reminder_email.recipients(actor.workspace_id)
    form = CaseFilterForm(request.GET, people=people)
    return csv_response(case_list_file.csv(actor, form.query()), "cases")


@never_cache
@require_http_methods(pages.METHODS)
def act_on_many(request: HttpRequest) -> HttpResponse:
    """Assign the ticked cases, remind, announce, extend, or undo an assignment."""
    if request.method != "POST":
        return redirect(pages.address("privacy:cases", query=request.GET.urlencode()))
    actor = pages.actor(request)
    act = "undo" if "undo" in request.POST else request.POST.get("act", "assign")
    try:
        site = f"{request.scheme}://{request.get_host()}"
        items = _acted(act, request.POST, actor, site)
    except (errors.Invalid, errors.TooLarge) as error:
        return _list_page(request, refusal=error)
    report = Report(
        items=items,
        words=MANY_WORDS[act],
        action=pages.address("privacy:many_cases", query=request.GET.urlencode()),
        item_page="privacy:case",
        undo="1" if act == "assign" else "",
    )
    return _list_page(request, report=report)


def _acted(act: str, data: QueryDict, actor: Actor, site: str) -> list[Item]:
    """Carry out an act on the ticked cases; return the result of each."""
    picks = parse(data.getlist("items"))
    if act == "undo":
        return bulk.undo(actor, picks)
    if act == "assign":
        return bulk.assign(actor, picks, data.get("assignee", ""))
    if act == "remind":
        return bulk.remind(actor, picks)
    if act == "announce":
        return letters_bulk.announce(actor, picks, site=site)
    if act == "extend":
        months = pages.number(data.get("months", "")) or 0
        return bulk.extend(actor, picks, months, data.get("reason", ""))
    raise errors.unknown_value("act", sorted(MANY_WORDS))


# ── A new case ───────────────────────────────────────────────────────────────
@never_cache
def new(request: HttpRequest) -> HttpResponse:
    """Open a case for a person who is registered, or register them with it."""
    actor = pages.actor(request)
    actor.require("gdpr.manage")
    if request.method != "POST":
        initial = {"who": request.GET.get("who", "")[:320], "kind": "erasure"}
        return _new_case_page(request, NewCaseForm(initial=initial))
    form = NewCaseForm(request.POST)
    if not form.is_valid():
        return _new_case_page(request, form, status=422)
    try:
        subject = _find_subject(form, request.POST.get("subject_id", ""), actor)
        if not isinstance(subject, Subject):
            return _new_case_page(request, form, candidates=subject, status=422)
        case = _open(form, subject, actor)
    except errors.AppError as error:
        pages.reraise_unless_mendable(error)
        form.add_error(None, error.detail)
        return _new_case_page(request, form, status=error.status)
    messages.success(request, gettext("Case {id} is open").format(id=case.id))
    return redirect("privacy:case", case.id)


def _new_case_page(
    request: HttpRequest,
    form: NewCaseForm,
    *,
    candidates: list[Subject] | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {"form": form, "candidates": candidates}
    return render(request, "gdpr/new_case.html", context, status=status)


def _find_subject(
    form: NewCaseForm, subject_id: str, actor: Actor
) -> Subject | list[Subject]:
    """Return the person, or the candidates when it is unclear who is meant."""
    if subject_id:
        return subjects.get(actor, subject_id)
    query = form.cleaned_data["who"].strip()
    if not query:
        aliases, display_name = form.aliases(), form.cleaned_data["display_name"]
        return subjects.create(display_name, aliases, by=actor)
    try:
        return subjects.find(query, by=actor)
    except (errors.NotFound, errors.Conflict):
        candidates, _ = subjects.list_subjects(actor, q=query, limit=CHOICES)
        return candidates


def _open(form: NewCaseForm, subject: Subject, actor: Actor) -> Case:
    data = form.cleaned_data
    new_case = NewCase(
        subject_id=subject.pk,
        kind=CaseKind(data["kind"]),
        reason=data["reason"],
        requester=data["requester"],
        ticket=data["ticket"],
        received_at=form.received(
            privacy_settings.zone(privacy_settings.of(actor.workspace_id))
        ),
        correction=form.correction(),
        identity_how=data["identity_how"],
    )
    return cases.open_case(new_case, by=actor)


# ── One case ─────────────────────────────────────────────────────────────────
def _case_page(
    request: HttpRequest,
    case: Case,
    *,
    refusal: errors.AppError | None = None,
    revealed: bool = False,
    address_form: AddressForm | None = None,
    status: int = 200,
) -> HttpResponse:
    """Render a case; with a refusal, forms keep their input."""
    actor = pages.actor(request)
    page = case_page.of(actor, case)
    fragment = pages.target_fragment(request, "live") if request.method == "GET" else ""
    context = {
        "page": page,
        "revealed": revealed,
        "refusal": refusal,
        "advice": case_words.advice(refusal) if refusal else "",
        "typed": request.POST if refusal else {},
        "attach": AttachForm(),
        # The fragment of a run has no letters, and is asked for every second.
        "letters": None if fragment else letter_panel.of(actor, case, address_form),
    }
    status = refusal.status if refusal else status
    answer = render(request, f"gdpr/case.html{fragment}", context, status=status)
    if fragment and not page.is_live:
        # The run has ended: the whole page changes.
        answer["HX-Refresh"] = "true"
    return answer


def with_address_form(
    request: HttpRequest, case: Case, form: AddressForm, status: int
) -> HttpResponse:
    """Render a case with a faulty address in its form."""
    return _case_page(request, case, address_form=form, status=status)


@never_cache
@require_GET
def detail(request: HttpRequest, case_id: str) -> HttpResponse:
    """Show the state of a case and what comes next."""
    return _case_page(request, transitions.case(pages.actor(request), case_id))


@never_cache
@require_POST
def samples(request: HttpRequest, case_id: str) -> HttpResponse:
    """Show the samples of the plan; the audit log records it."""
    actor = pages.actor(request)
    case = transitions.case(actor, case_id)
    access_log.record_samples_view(case, by=actor)
    return _case_page(request, case, revealed=True)


@require_POST
def act(request: HttpRequest, case_id: str, action: str) -> HttpResponse:
    """Run a row of ``ACTIONS``; a refusal is shown on the case's page."""
    actor = pages.actor(request)
    case = transitions.case(actor, case_id)
    actor.require("gdpr.manage")
    row = ACTIONS[action]
    form = row.form(request.POST, request.FILES) if row.form else None
    if form and not form.is_valid():
        faults = [str(fault) for field in form.errors.values() for fault in field]
        refusal = errors.Invalid(" ".join(faults), code="bad_form")
        return _case_page(request, case, refusal=refusal)
    values = row.values(request.POST, form)
    version = request.POST.get("version", "")
    try:
        if version and version != str(case.version):
            raise StaleVersion(version=case.version)
        row.service(case, *values, by=actor)
    except errors.AppError as error:
        pages.reraise_unless_mendable(error)
        return _case_page(request, transitions.case(actor, case_id), refusal=error)
    messages.success(request, row.success(values))
    return redirect("privacy:case", case_id)
