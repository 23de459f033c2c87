"""The content of the quarantine's page: counts, list, one case, last decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.http import QueryDict
from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext

from memory.accounts import saved_views
from memory.models import HeldFile, HeldState, SavedView, ViewPage
from memory.review import decide as review
from memory.review import detail as review_detail
from memory.review import highlight, preview
from memory.review import queue as review_queue
from memory.review.decide import Decision
from memory.review.detail import CaseDetail, Line
from memory.review.queue import Group, HeldFilter, StateCounts
from memory.rules.permissions import Actor
from memory.web import pages
from memory.web.bulk_page import Report
from memory.web.quarantine_forms import PRESETS, DecisionForm, FilterForm

FILTER_PARAMS: Final = ("state", "q", "source", "agent_id", "family", "age")
# The order of the decision bar: decision, key, style. No decision is styled as the
# primary one, so that the page suggests none.
BUTTONS: Final = (
    (Decision.REDACT, "r", ""),
    (Decision.RELEASE, "a", ""),
    (Decision.DISCARD, "x", "danger"),
    (Decision.BLOCK_SOURCE, "b", "danger"),
    (Decision.RELEASE_AND_ALLOW, "f", "plain last"),
)


@dataclass(frozen=True, slots=True)
class Button:
    value: str
    words: str
    key: str
    css: str


BUTTON_ROWS: Final = [
    Button(decision.value, review_detail.DECISIONS[decision][0], key, css)
    for decision, key, css in BUTTONS
]


@dataclass(frozen=True, slots=True)
class Tab:
    """A link to the list of one state."""

    state: str
    words: str
    count: int
    href: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class RecentDecision:
    """The case that was just decided."""

    held: HeldFile
    words: str


@dataclass(frozen=True, slots=True)
class BulkForm:
    """What the form for the ticked texts sent, and why it was not carried out."""

    fault: str = ""
    picks: tuple[str, ...] = ()
    preset: str = ""
    reason: str = ""

    @classmethod
    def of(cls, data: QueryDict, fault: str) -> BulkForm:
        """Keep the ticks and the reason of a form that was refused."""
        picks = tuple(data.getlist("items"))
        return cls(fault, picks, data.get("preset", ""), data.get("reason", ""))


@dataclass(frozen=True, slots=True)
class InboxPage:
    """Everything on the page. ``fault`` is an error to show above the case."""

    state: str
    counts: StateCounts
    tabs: list[Tab]
    lines: list[Line]
    form: FilterForm
    is_filtered: bool
    case: CaseDetail | None
    previous: str
    following: str
    groups: list[Group]
    saved: list[SavedView]
    query: str
    recent: RecentDecision | None
    fault: str
    decision: DecisionForm
    view: str
    report: Report | None = None
    bulk: BulkForm = BulkForm()

    @property
    def ticked_ids(self) -> set[str]:
        """The ids of the listed texts that are ticked, in the version they were."""
        rows = [line.held for line in self.lines]
        picks = set(self.bulk.picks)
        return {row.id for row in rows if f"{row.id}:{row.version}" in picks}

    @property
    def buttons(self) -> list[Button]:
        """The buttons of the decisions, in their order."""
        return BUTTON_ROWS

    @property
    def presets(self) -> list[str]:
        return [value for value, _ in PRESETS if value]

    @property
    def as_read(self) -> str:
        """The open text as the rules read it."""
        return (
            highlight.as_read(preview.text_of(self.case.held_file)) if self.case else ""
        )

    @property
    def bytes(self) -> list[str]:
        """A hex dump of the first bytes of the open text."""
        return highlight.hexdump(bytes(self.case.held_file.body)) if self.case else []

    @property
    def title(self) -> str:
        count = self.counts.held
        if not count:
            return gettext("No text waits for a decision")
        return ngettext(
            "{count} text waits for a decision",
            "{count} texts wait for a decision",
            count,
        ).format(count=number_format(count, force_grouping=True))


def filter_query(data: QueryDict, state: str) -> str:
    """Return the filters as a query string for links."""
    params = QueryDict(mutable=True)
    for name in FILTER_PARAMS:
        value = data.get(name, "")
        if value:
            params[name] = value
    params["state"] = state
    return params.urlencode()


def state_of(data: QueryDict, case: HeldFile | None) -> str:
    """Return the state whose list is shown next to a case."""
    state = str(data.get("state") or "")
    if state in review_queue.STATES:
        return state
    return case.state if case else HeldState.HELD.value


def listing(actor: Actor, data: QueryDict, case: HeldFile) -> list[Line]:
    """Return the list that contains a case, as the page shows it."""
    form = FilterForm(data, offered=review_queue.choices(actor))
    rows = review_queue.listing(actor, form.held_filter(state_of(data, case)))
    return [review_detail.line(row) for row in rows]


def neighbours(lines: list[Line], case: HeldFile | None) -> tuple[str, str]:
    """Return the ids before and after a case in its list, "" where there is none."""
    ids = [line.held.id for line in lines]
    if case is None or case.id not in ids:
        return "", ids[0] if ids else ""
    at = ids.index(case.id)
    return ids[at - 1] if at else "", ids[at + 1] if at + 1 < len(ids) else ""


def _tabs(counts: StateCounts, state: str) -> list[Tab]:
    return [
        Tab(
            value,
            words,
            count,
            pages.address("quarantine:inbox", state=value),
            is_current=value == state,
        )
        for value, words, count in counts.by_state
    ]


def _recent_decision(actor: Actor, data: QueryDict) -> RecentDecision | None:
    name = str(data.get("done") or "")
    if not name:
        return None
    case = review_queue.held_file(actor, name)
    if case.state == HeldState.HELD:
        return RecentDecision(case, gettext("Back in the queue"))
    words = review_detail.DECISIONS.get(Decision(case.decision), ("", case.state))[1]
    return RecentDecision(case, gettext(words))


def build(
    actor: Actor,
    data: QueryDict,
    case: HeldFile | None = None,
    *,
    fault: str = "",
    decision: DecisionForm | None = None,
    is_list: bool = False,
) -> InboxPage:
    """Return the page; without a case, the first one is opened unless ``is_list``."""
    state = state_of(data, case)
    form = FilterForm(data, offered=review_queue.choices(actor))
    filters = form.held_filter(state)
    rows = review_queue.listing(actor, filters)
    lines = [review_detail.line(row) for row in rows]
    open_case = case or (rows[0] if rows and not is_list else None)
    if open_case is not None:
        review.view(open_case, by=actor)
    before, after = neighbours(lines, open_case)
    spans = decision.redactions if decision is not None else ()
    detail = review_detail.case_detail(open_case, actor, spans) if open_case else None
    counts = review_queue.state_counts(actor)
    return InboxPage(
        state=state,
        counts=counts,
        tabs=_tabs(counts, state),
        lines=lines,
        form=form,
        is_filtered=filters != HeldFilter(state=state),
        case=detail,
        previous=before,
        following=after,
        groups=review_queue.groups(rows) if state == HeldState.HELD else [],
        saved=saved_views.saved(actor, ViewPage.QUARANTINE),
        query=filter_query(data, state),
        recent=_recent_decision(actor, data),
        fault=fault,
        decision=decision or DecisionForm(),
        view=str(data.get("view") or "text"),
    )
