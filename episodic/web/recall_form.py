"""The recall explorer's form: the fields of POST /episodic/recall, in an address."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from django import forms
from django.http import QueryDict
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy

from episodic.recall import default_agent, prompt_block
from episodic.recall.request import (
    K_DEFAULT,
    K_MAX,
    QUERY_CHARS,
    Mode,
    Request,
    default_fusion,
)
from episodic.scopes import Scope
from memory import workspace_tree
from memory.journal import timeline
from memory.models import Agent, Crew
from memory.rules import entries
from memory.rules.entries import Priority
from memory.rules.fusion import Fusion
from memory.rules.permissions import Actor
from memory.web import pages
from memory.web.agent_field import AgentField, Suggestion
from memory.web.filter_forms import FilterForm, MomentField

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

FIELD_OF: Final = {
    "scope_needs_agent": "scope",
    "not_in_crew": "crew_id",
    "bad_range": "until",
    "empty_query": "query",
}
# What a question may be compared with: the same one, asked in another way.
AGAINST: Final[dict[str, dict[str, Any]]] = {
    "hybrid-rrf": {"mode": Mode.HYBRID, "fusion": Fusion.RRF},
    "hybrid-convex": {"mode": Mode.HYBRID, "fusion": Fusion.CONVEX},
    "dense": {"mode": Mode.DENSE},
    "sparse": {"mode": Mode.SPARSE},
}
COMPARISON: Final = ("against", "against_as_of", "against_agent_id")
TIME: Final = "time"
AGENT: Final = "agent"
CHARS_MOST: Final = 100_000
# An address with one of these says whose memory it asks for: no agent is chosen.
NAMES_A_REACH: Final = ("query", "agent_id", "crew_id", "entry_id")
EVERYBODY: Final = pgettext_lazy("no agent", "Whole workspace")
UNKNOWN: Final = {"invalid_choice": gettext_lazy("Choose one from the list.")}
Choices = list[tuple[str, Any]]


def _choice(
    label: StrOrPromise, choices: Choices | None = None, *, own: bool = False
) -> forms.ChoiceField:
    """Return a field that has to be one of some; ``own`` for what somebody named."""
    return forms.ChoiceField(
        label=label,
        required=False,
        choices=choices or [],
        error_messages=UNKNOWN,
        widget=forms.Select({} if own else {"translate": "no"}),
    )


class DecimalField(forms.FloatField):
    """A number whose decimal sign is a point or a comma, whoever opens the address."""

    def to_python(self, value: Any) -> Any:
        return super().to_python(str(value or "").replace(",", "."))


class RecallForm(FilterForm):
    """One question with its conditions; all of the page's state is in the address."""

    query = forms.CharField(
        label=gettext_lazy("Query"), required=False, max_length=QUERY_CHARS
    )
    agent_id = AgentField(label=gettext_lazy("Agent"), empty=EVERYBODY)
    scope = _choice(
        gettext_lazy("Scope"),
        [("", gettext_lazy("by role")), *((s.value, s.value) for s in Scope)],
    )
    mode = _choice(gettext_lazy("Mode"), [(m.value, m.value) for m in Mode])
    fusion = _choice(gettext_lazy("Fusion"))
    k = forms.IntegerField(
        label=format_lazy(gettext_lazy("K, 1 to {most}"), most=K_MAX),
        required=False,
        min_value=1,
        max_value=K_MAX,
    )
    crew_id = _choice(gettext_lazy("Crew, without an agent"), own=True)
    since = MomentField(label=gettext_lazy("Since"))
    until = MomentField(label=gettext_lazy("Until"), upper=True)
    as_of = MomentField(label=gettext_lazy("As of, recorded by then"), upper=True)
    min_score = DecimalField(
        label=gettext_lazy("Least cosine"), required=False, min_value=-1, max_value=1
    )
    walk_depth = _choice(
        gettext_lazy("Neighbours"),
        [
            ("", gettext_lazy("as the agent")),
            ("0", gettext_lazy("none")),
            ("1", gettext_lazy("one step")),
        ],
        own=True,
    )
    entry_types = forms.MultipleChoiceField(
        label=gettext_lazy("Entry types, any when none is ticked"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "invalid_choice": gettext_lazy("The journal has no such entry type.")
        },
    )
    entry_id = forms.CharField(
        label=gettext_lazy("I expected"),
        required=False,
        max_length=entries.ID_CHARS,
    )
    max_chars = forms.IntegerField(
        label=gettext_lazy("Budget, characters"),
        required=False,
        min_value=0,
        max_value=CHARS_MOST,
    )
    against = _choice(
        gettext_lazy("Compare with"),
        [
            ("", gettext_lazy("nothing")),
            *((name, name.replace("-", ", ")) for name in AGAINST),
            (TIME, gettext_lazy("another time")),
            (AGENT, gettext_lazy("another agent")),
        ],
    )
    against_as_of = MomentField(label=gettext_lazy("As of, now when empty"), upper=True)
    against_agent_id = AgentField(
        label=gettext_lazy("The other agent"), empty=EVERYBODY
    )
    if_entry_id = forms.CharField(
        label=gettext_lazy("Entry"), required=False, max_length=entries.ID_CHARS
    )
    if_priority = _choice(
        gettext_lazy("As if its priority were"),
        [("", gettext_lazy("chosen for it")), *((p.value, p.value) for p in Priority)],
    )
    legs = forms.ChoiceField(
        required=False,
        choices=[("", "short"), ("all", "all")],
        widget=forms.HiddenInput,
    )

    PRIMARY = ("query", "agent_id", "scope", "mode", "fusion", "k")
    SECONDARY = (
        "crew_id",
        "since",
        "until",
        "as_of",
        "min_score",
        "walk_depth",
    )

    def __init__(self, data: QueryDict, *, by: Actor, previous_agent: str = "") -> None:
        self.given = data
        self.agents: list[Agent] = workspace_tree.agents(by)
        full = data.copy()
        if not any(name in data for name in NAMES_A_REACH):
            agent_ids = {agent.id for agent in self.agents}
            full["agent_id"] = default_agent.choose(by, agent_ids, previous_agent)
        for name, value in {"mode": Mode.HYBRID, "k": str(K_DEFAULT)}.items():
            if not full.get(name):
                full[name] = value
        super().__init__(full, auto_id="r-%s")
        self.crews: list[Crew] = workspace_tree.crews(by)
        default = default_fusion(by.workspace_id)
        names = [(f.value, f.value) for f in Fusion]
        text = gettext("{fusion}, default").format(fusion=default.value)
        pages.offer(self, "fusion", [("", text), *names])
        for name in ("agent_id", "against_agent_id"):
            self._agent_field(name).offer(self.agents)
        pages.offer(
            self,
            "crew_id",
            [("", gettext("Any")), *((c.id, c.slug) for c in self.crews)],
        )
        pages.offer(self, "entry_types", [(t, t) for t in timeline.entry_types(by)])
        for name in ("k", "min_score", "max_chars"):
            # A number field would swallow what is not a number; a fault names it.
            self.fields[name].widget = forms.TextInput({"inputmode": "decimal"})
        self.set_date_controls(["since", "until", "as_of", "against_as_of"])

    def _agent_field(self, name: str) -> AgentField:
        return cast("AgentField", self.fields[name])

    def clean_query(self) -> str:
        """Return the question; once the form was sent, there must be one."""
        text = str(self.cleaned_data["query"])
        if "query" in self.given and not text.strip():
            raise forms.ValidationError(
                gettext("Write a question."), code="empty_query"
            )
        return text

    @property
    def has_question(self) -> bool:
        """Whether there is a question to answer."""
        return bool(str(self.given.get("query") or "").strip())

    @property
    def entry_asked(self) -> str:
        """The entry whose place in the answer is asked about."""
        return str(self.cleaned_data.get("entry_id") or "") if self.is_valid() else ""

    @property
    def agent(self) -> Agent | None:
        """The agent that is asked as, None for none or an unclear name."""
        agents = self._agent_field("agent_id").find(str(self.data.get("agent_id", "")))
        return agents[0] if len(agents) == 1 else None

    @property
    def agent_names(self) -> list[Suggestion]:
        """The suggestions of the fields that name an agent."""
        return self._agent_field("agent_id").suggestions

    @property
    def crew(self) -> Crew | None:
        """The crew whose recall is asked for, when no agent is named."""
        crew_id = self.data.get("crew_id")
        return next((crew for crew in self.crews if crew.id == crew_id), None)

    def request(self) -> Request | None:
        """Return the explained, unmarked request; None when invalid."""
        if not self.is_valid() or not self.has_question:
            return None
        values = self.cleaned_data
        depth = values["walk_depth"]
        return Request(
            query=values["query"],
            scope=values["scope"] or None,
            crew_id=values["crew_id"] or None,
            agent_id=values["agent_id"] or None,
            k=values["k"] or K_DEFAULT,
            mode=Mode(values["mode"]),
            fusion=Fusion(values["fusion"]) if values["fusion"] else None,
            entry_types=tuple(values["entry_types"]),
            since=values["since"],
            until=values["until"],
            as_of=values["as_of"],
            min_score=values["min_score"],
            walk_depth=int(depth) if depth else None,
            explain=True,
            mark=False,
        )

    def other(self, request: Request) -> Request | None:
        """Return the question that this one is compared with, None for none."""
        against = self.cleaned_data["against"]
        if against == TIME:
            return replace(request, as_of=self.cleaned_data["against_as_of"])
        if against == AGENT:
            agent_id = self.cleaned_data["against_agent_id"] or None
            return replace(request, agent_id=agent_id, crew_id=None)
        return replace(request, **AGAINST[against]) if against else None

    @property
    def budget(self) -> int:
        """The characters that the prompt block may fill."""
        limit = self.cleaned_data.get("max_chars") if self.is_valid() else None
        return prompt_block.BUDGET if limit is None else int(limit)

    # ── For the template ─────────────────────────────────────────────────────
    @property
    def shows_secondary(self) -> bool:
        """Whether a field under "More conditions" is set."""
        return super().shows_secondary or bool(self.given.get("entry_types"))

    @property
    def shows_whole_rankings(self) -> bool:
        """Whether the rankings are shown in full."""
        return self.data.get("legs") == "all"

    @property
    def has_comparison_fault(self) -> bool:
        """Whether the comparison's form keeps the question from being answered."""
        return any(name in self.errors for name in COMPARISON)

    @property
    def unseen_faults(self) -> list[str]:
        """The faults of fields that stand beside an answer, while there is none."""
        return [
            f"{self[name].label}: {fault}"
            for name in ("max_chars", "if_entry_id", "if_priority", "legs")
            for fault in self.errors.get(name, [])
        ]

    def address(self, **changes: str) -> str:
        """Return the state as a query string, with changes; "" drops a field."""
        params = QueryDict(mutable=True)
        for name in self.fields:
            values = [value for value in self.given.getlist(name) if value]
            if name in changes:
                values = [changes[name]] if changes[name] else []
            if values:
                params.setlist(name, values)
        return params.urlencode()

    def _but(self, *names: str) -> list[tuple[str, str]]:
        """Return all fields except some, for another form of the page."""
        pairs = QueryDict(self.address(**dict.fromkeys(names, ""))).lists()
        return [(name, value) for name, values in pairs for value in values]

    @property
    def kept_by_entry(self) -> list[tuple[str, str]]:
        """The hidden fields of the form that asks why."""
        return self._but("entry_id")

    @property
    def kept_by_budget(self) -> list[tuple[str, str]]:
        """The hidden fields of the budget's form."""
        return self._but("max_chars")

    @property
    def kept_by_against(self) -> list[tuple[str, str]]:
        """The hidden fields of the comparison's form."""
        return self._but(*COMPARISON)

    @property
    def kept_by_what_if(self) -> list[tuple[str, str]]:
        """The hidden fields of the form of another priority."""
        return self._but("if_entry_id", "if_priority")

    @property
    def question_only(self) -> list[tuple[str, str]]:
        """The question's own fields, without those of the other forms."""
        return self._but(
            "entry_id", "legs", "max_chars", "if_entry_id", "if_priority", *COMPARISON
        )  # fmt: skip
