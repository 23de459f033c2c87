"""What the page Questions shows: the recall log by what was not answered well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

from django.http import QueryDict
from django.utils.http import urlencode
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from episodic.index import engine
from episodic.models import LoggedQuestion
from episodic.recall import questions, ranking, unanswered
from episodic.recall.questions import LogState, QuestionFilter
from episodic.recall.request import K_DEFAULT, Mode
from episodic.scopes import Scope
from memory import workspace_tree
from memory.models import Agent
from memory.rules import errors
from memory.rules.permissions import Actor, Role
from memory.web import pages
from memory.web.agent_field import AgentField, Suggestion
from memory.web.filter_forms import FilterForm

PAGE: Final = 40
UNANSWERED: Final = "unanswered"
# Value in the address, word on the tab, and which questions it lists.
VIEWS: Final = {
    UNANSWERED: (gettext_noop("Found nothing"), QuestionFilter(found_nothing=True)),
    "slow": (gettext_noop("Slow"), QuestionFilter(slow=True)),
    "degraded": (gettext_noop("Degraded"), QuestionFilter(degraded=True)),
    "all": (gettext_noop("All"), QuestionFilter()),
}


class AgentFilterForm(FilterForm):
    """Whose memory was asked."""

    agent_id = AgentField(label=gettext_lazy("Agent"), empty=gettext_lazy("Any"))
    PRIMARY = ("agent_id",)

    def __init__(self, data: QueryDict, agents: list[Agent]) -> None:
        super().__init__(data, auto_id="f-%s")
        self._agent_field.offer(agents)

    @property
    def _agent_field(self) -> AgentField:
        return cast("AgentField", self.fields["agent_id"])

    @property
    def agent_names(self) -> list[Suggestion]:
        """The suggestions of the field that names an agent."""
        return self._agent_field.suggestions

    @property
    def agent_id_chosen(self) -> str:
        return str(self.cleaned_data["agent_id"]) if self.is_valid() else ""


@dataclass(frozen=True, slots=True)
class Line:
    """One question, or several in the same words; addresses lead to the explorer."""

    row: LoggedQuestion
    count: int
    askers: list[str]
    explorer: str

    @property
    def check(self) -> str:
        """The address of the form that saves it as a recall check."""
        return f"{self.explorer}#h-check"

    @property
    def degraded(self) -> str:
        """Which ranking was missing, in words; "" for none."""
        return ranking.degraded_text(self.row.degraded)

    @property
    def hit_count(self) -> int:
        return len(vars(self.row)["returned"])

    @property
    def best_cosine(self) -> float | None:
        """The cosine of the nearest entry that came back, None without any."""
        cosines = [hit.cosine for hit in vars(self.row)["returned"]]
        return max((c for c in cosines if c is not None), default=None)


@dataclass(frozen=True, slots=True)
class QuestionsPage:
    """Everything on the page."""

    state: LogState
    form: AgentFilterForm
    view: str
    lines: list[Line]
    next_cursor: str | None
    admins: list[str]

    @property
    def views(self) -> list[tuple[str, str]]:
        return [(value, gettext(word)) for value, (word, _) in VIEWS.items()]

    @property
    def title(self) -> str:
        return gettext(VIEWS[self.view][0])

    @property
    def slow_ms(self) -> float:
        return questions.SLOW_MS

    @property
    def near_cosine(self) -> float | None:
        """The cosine from which an entry counts as near, None where none is known."""
        return unanswered.NEAR_COSINE.get(engine.embedder().model)

    @property
    def status(self) -> int:
        return 422 if self.form.errors else 200


def _explorer(row: LoggedQuestion, agents: dict[str, Agent], crews: set[str]) -> str:
    """Return the address that asks the question again, as whoever asked it.

    An agent or crew that is gone is left out: then the whole workspace is asked.
    """
    params = {"query": row.question}
    scope = row.scope if row.scope in list(Scope) else ""
    if row.agent_id in agents:
        params |= {"agent_id": row.agent_id or "", "scope": scope}
    elif row.agent_id is None and row.crew_id in crews:
        params |= {"crew_id": row.crew_id or "", "scope": scope}
    if row.mode != Mode.HYBRID:
        params["mode"] = row.mode
    if row.k != K_DEFAULT:
        params["k"] = str(row.k)
    address = urlencode({name: value for name, value in params.items() if value})
    return pages.address("episodic:recall", query=address)


def _lines(
    actor: Actor, view: str, agents: list[Agent], agent_id: str, cursor: str | None
) -> tuple[list[Line], str | None]:
    by_id = {agent.id: agent for agent in agents}
    crews = {crew.id for crew in workspace_tree.crews(actor)}
    if view == UNANSWERED:
        groups = questions.unanswered_groups(
            agent_id or None, limit=PAGE, cursor=cursor, by=actor
        )
        lines = [
            Line(g.latest, g.count, g.askers, _explorer(g.latest, by_id, crews))
            for g in groups.items
        ]
        return lines, groups.next_cursor
    filters = VIEWS[view][1].of_agent(agent_id or None)
    page = questions.page(filters, limit=PAGE, cursor=cursor, by=actor)
    slugs = {agent.id: agent.slug for agent in agents}
    lines = [
        Line(
            row,
            1,
            [questions.asker(row.agent_id, row.asked_by, slugs)],
            _explorer(row, by_id, crews),
        )
        for row in page.items
    ]
    return lines, page.next_cursor


def build(actor: Actor, params: QueryDict) -> QuestionsPage:
    """Return the page for the parameters of an address."""
    view = params.get("show") or UNANSWERED
    if view not in VIEWS:
        detail = gettext("There is no such list of questions.")
        raise errors.Invalid(detail, code="unknown_list")
    state = questions.state(actor)
    agents = workspace_tree.agents(actor)
    form = AgentFilterForm(params, agents)
    lines: list[Line] = []
    next_cursor = None
    if form.is_valid():
        cursor = params.get("cursor") or None
        lines, next_cursor = _lines(actor, view, agents, form.agent_id_chosen, cursor)
    admins = [] if state.is_on else _admins(actor)
    return QuestionsPage(state, form, view, lines, next_cursor, admins)


def _admins(actor: Actor) -> list[str]:
    """Return whom to ask for the switch."""
    members = workspace_tree.members(actor)
    return [member.user.email for member in members if member.role == Role.ADMIN]
