"""A field that names one agent among many: typed, with a list of suggestions.

Addresses carry an agent's id; what people type is its slug, with the crew's before it
where two crews have an agent of that slug. Works without scripts, as a datalist.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.utils.translation import gettext

from memory.models import Agent

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

LIST_ID: Final = "agents"
# Suggestions only: an agent beyond them is found by its name all the same.
SUGGESTIONS: Final = 250


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What is typed for an agent, and its crew."""

    name: str
    crew: str


class AgentField(forms.CharField):
    """One agent by slug, by crew and slug, or by id; the value is the id."""

    def __init__(
        self, *, label: StrOrPromise, empty: StrOrPromise, required: bool = False,
        help_text: StrOrPromise = "",
    ) -> None:  # fmt: skip
        attrs = {"list": LIST_ID, "autocomplete": "off", "placeholder": empty}
        widget = forms.TextInput({**attrs, "type": "search", "spellcheck": "false"})
        super().__init__(
            label=label,
            required=required,
            help_text=help_text,
            max_length=200,
            widget=widget,
        )
        self.agents: list[Agent] = []
        self._names: dict[str, str] = {}

    def offer(self, agents: Sequence[Agent]) -> None:
        """Set the agents that can be named."""
        self.agents = list(agents)
        counts = Counter(agent.slug for agent in agents)
        self._names = {
            agent.id: agent.slug if counts[agent.slug] == 1 else _full_name(agent)
            for agent in agents
        }

    @property
    def suggestions(self) -> list[Suggestion]:
        """The names of the first agents, for a datalist."""
        agents = self.agents[:SUGGESTIONS]
        return [Suggestion(self._names[agent.id], agent.crew.slug) for agent in agents]

    def find(self, text: str) -> list[Agent]:
        """Return the agents that a text names: one, none, or those of several crews."""
        name = text.strip().lower()
        same_id = [agent for agent in self.agents if agent.id == text.strip()]
        return same_id or [
            agent for agent in self.agents if name in (agent.slug, _full_name(agent))
        ]

    def id_of(self, text: str) -> str:
        """Return the id of the agent that a text names, else the text itself."""
        agents = self.find(text) if text else []
        return agents[0].id if len(agents) == 1 else text

    @property
    def names(self) -> dict[str, str]:
        """What is typed for each agent, by its id."""
        return self._names

    def prepare_value(self, value: Any) -> Any:
        """Show the name of an agent whose id came with a link."""
        return self._names.get(str(value), value)

    def clean(self, value: Any) -> str:
        """Return the id of the agent, "" for none."""
        text = str(super().clean(value))
        if not text:
            return ""
        agents = self.find(text)
        if len(agents) == 1:
            return agents[0].id
        if agents:
            names = gettext(" or ").join(_full_name(agent) for agent in agents)
            fault = gettext(
                "Several crews have an agent of this name: write {names}."
            ).format(names=names)
            raise forms.ValidationError(fault, code="ambiguous_agent")
        fault = gettext("No agent here has this name. Choose one from the list.")
        raise forms.ValidationError(fault, code="unknown_agent")


def _full_name(agent: Agent) -> str:
    return f"{agent.crew.slug}/{agent.slug}"
