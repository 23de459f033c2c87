"""What the quarantine's page shows: counts, the list, one case, what just happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.http import QueryDict
from django.urls import reverse

from memory.models import HeldFile, HeldState, SavedFilter
from memory.review import decide as review
from memory.review import detail as review_detail
from memory.review import highlight, preview
from memory.review import queue as review_queue
from memory.review.decide import Decision
from memory.review.detail import Dossier, Line
from memory.review.queue import Group, HeldFilter, Standing
from memory.rules.permissions import Actor
from memory.web.quarantine_forms import PRESETS, DecisionForm, FilterForm

KEPT: Final = ("state", "q", "source", "agent_id", "family", "age")
# The order of the decision bar: decision, key, look. None is the one to press: which
# is right is what the reviewer is there to say.
BUTTONS: Final = (
    (Decision.REDACT, "r", ""),
    (Decision.RELEASE, "a", ""),
    (Decision.DISCARD, "x", "danger"),
    (Decision.BLOCK_SOURCE, "b", "danger"),
    (Decision.RELEASE_AND_ALLOW, "f", "plain last"),
)


@dataclass(frozen=True, slots=True)
class Button:
    """One way to decide."""

    value: str
    words: str
    key: str
    css: str


BUTTON_ROWS: Final = [
    Button(one.value, review_detail.DECISIONS[one][0], key, css)
    for one, key, css in BUTTONS
]


@dataclass(frozen=True, slots=True)
class Tab:
    """One state of the switch."""

    state: str
    words: str
    count: int
    href: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Done:
    """What was just decided, with the way back."""

    held: HeldFile
    words: str


@dataclass(frozen=True, slots=True)
class InboxPage:
    """Everything on the page. ``fault`` is a refusal to show above the case."""

    state: str
    standing: Standing
    tabs: list[Tab]
    lines: list[Line]
    form: FilterForm
    is_filtered: bool
    case: Dossier | None
    previous: str
    following: str
    groups: list[Group]
    saved: list[SavedFilter]
    query: str
    done: Done | None
    fault: str
    decision: DecisionForm
    view: str

    @property
    def buttons(self) -> list[Button]:
        """The ways to decide, in the order of the bar."""
        return BUTTON_ROWS

    @property
    def presets(self) -> list[str]:
        """Reasons to choose from."""
        return [value for value, _ in PRESETS if value]

    @property
    def as_read(self) -> str:
        """The open text as the rules saw it."""
        return highlight.as_read(preview.text_of(self.case.held)) if self.case else ""

    @property
    def bytes(self) -> list[str]:
        """The first bytes of the open text."""
        return highlight.hexdump(bytes(self.case.held.body)) if self.case else []

    @property
    def title(self) -> str:
        """The finding the page opens with."""
        count = self.standing.held
        if not count:
            return "No text waits for a decision"
        verb = "text waits" if count == 1 else "texts wait"
        return f"{count:,} {verb} for a decision"


def kept(data: QueryDict, state: str) -> str:
    """Return the part of an address that carries filters from page to page."""
    made = QueryDict(mutable=True)
    for name in KEPT:
        value = data.get(name, "")
        if value:
            made[name] = value
    made["state"] = state
    return made.urlencode()


def address(name: str, query: str, *args: str, **more: str) -> str:
    """Return an address below the quarantine with filters."""
    made = QueryDict(query, mutable=True)
    for key, value in more.items():
        made[key] = value
    path = reverse(f"quarantine:{name}", args=args)
    return f"{path}?{made.urlencode()}" if made else path


def state_of(data: QueryDict, held: HeldFile | None) -> str:
    """Return which list stands left of a case."""
    asked = str(data.get("state") or "")
    if asked in review_queue.STATES:
        return asked
    return held.state if held else HeldState.HELD.value


def listing(actor: Actor, data: QueryDict, held: HeldFile) -> list[Line]:
    """Return the list a case stands in, as the page would show it."""
    form = FilterForm(data, offered=review_queue.choices(actor))
    rows = review_queue.listing(actor, form.wanted(state_of(data, held)))
    return [review_detail.line(row) for row in rows]


def neighbours(lines: list[Line], held: HeldFile | None) -> tuple[str, str]:
    """Return the ids before and after a case in its list; empty where there is none."""
    ids = [line.held.id for line in lines]
    if held is None or held.id not in ids:
        return "", ids[0] if ids else ""
    at = ids.index(held.id)
    return ids[at - 1] if at else "", ids[at + 1] if at + 1 < len(ids) else ""


def _tabs(standing: Standing, state: str) -> list[Tab]:
    return [
        Tab(
            value,
            words,
            count,
            address("inbox", "", state=value),
            is_current=value == state,
        )
        for value, words, count in standing.by_state
    ]


def _done(actor: Actor, data: QueryDict) -> Done | None:
    name = str(data.get("done") or "")
    if not name:
        return None
    held = review_queue.held_file(actor, name)
    if held.state == HeldState.HELD:
        return Done(held, "Back in the queue")
    words = review_detail.DECISIONS.get(Decision(held.decision), ("", held.state))[1]
    return Done(held, words)


def build(
    actor: Actor,
    data: QueryDict,
    held: HeldFile | None = None,
    *,
    fault: str = "",
    decision: DecisionForm | None = None,
) -> InboxPage:
    """Gather the page; without a case named, the first of the list is opened."""
    state = state_of(data, held)
    form = FilterForm(data, offered=review_queue.choices(actor))
    wanted = form.wanted(state)
    rows = review_queue.listing(actor, wanted)
    lines = [review_detail.line(row) for row in rows]
    chosen = held or (rows[0] if rows else None)
    if chosen is not None:
        review.view(chosen, by=actor)
    before, after = neighbours(lines, chosen)
    ticked = decision.redactions if decision is not None else ()
    is_held = state == HeldState.HELD
    standing = review_queue.standing(actor)
    return InboxPage(
        state=state,
        standing=standing,
        tabs=_tabs(standing, state),
        lines=lines,
        form=form,
        is_filtered=wanted != HeldFilter(state=state),
        case=review_detail.of(chosen, actor, ticked) if chosen else None,
        previous=before,
        following=after,
        groups=review_queue.group_summary(rows) if is_held else [],
        saved=review_queue.saved(actor),
        query=kept(data, state),
        done=_done(actor, data),
        fault=fault,
        decision=decision or DecisionForm(),
        view=str(data.get("view") or "text"),
    )
