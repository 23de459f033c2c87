"""The journal's forms: the filters of its list, and the priority of one entry.

The filters are those of the API, under the same names, so that a query string works for
both. A bad value becomes an error next to its field and never an error page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy, gettext_noop, pgettext

from memory import workspace_tree
from memory.journal import filter_params, timeline
from memory.journal.queries import JournalFilter
from memory.models import Agent, Crew
from memory.rules import entries, errors
from memory.rules.entries import ActorType, Priority, Severity
from memory.rules.permissions import Actor
from memory.web.agent_field import AgentField
from memory.web.filter_forms import FilterForm, MomentField, text_field

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

FIELD_OF: Final = {"bad_range": "until"}
# Whose entries are shown → the filter's has_agent. Agents come first.
SHOWS: Final = {"agents": True, "system": False, "all": None}
SHOW_WORDS: Final = {
    "agents": gettext_noop("Agents"),
    "system": gettext_noop("People and system"),
    "all": gettext_noop("All"),
}
Choices = list[tuple[str, str]]


def severities() -> Choices:
    return [(name.value, pgettext("severity", name.value)) for name in Severity]


def priorities() -> Choices:
    return [(name.value, pgettext("priority", name.value)) for name in Priority]


def writers() -> Choices:
    """Return the types of actors in the reader's language."""
    names = {
        ActorType.AGENT: pgettext("actor type", "agent"),
        ActorType.USER: pgettext("actor type", "user"),
        ActorType.SYSTEM: pgettext("actor type", "system"),
        ActorType.KEEPER: pgettext("actor type", "keeper"),
        ActorType.SIDECAR: pgettext("actor type", "sidecar"),
        ActorType.ORCHESTRATOR: pgettext("actor type", "orchestrator"),
    }
    return [(name.value, words) for name, words in names.items()]


def _refuse_unknown(name: str) -> Callable[[str], None]:
    """Return a validator of one value, or of several separated by commas."""

    def validate(value: str) -> None:
        try:
            filter_params.parse({name: value})
        except errors.Invalid as error:
            raise ValidationError(error.detail, code=error.problem_code) from None

    return validate


def _choice(label: StrOrPromise, limit: int = 2_000, **options: Any) -> forms.CharField:
    """Return a select that accepts a comma-separated list, as the API does."""
    return forms.CharField(
        label=label, required=False, max_length=limit, widget=forms.Select, **options
    )


@dataclass(frozen=True, slots=True)
class Chip:
    """One set filter, in words, and the URL without it."""

    label: str
    value: str
    href: str


@dataclass(frozen=True, slots=True)
class Side:
    """One choice of whose entries are shown, and the URL that makes it."""

    words: str
    href: str
    is_current: bool


class JournalForm(FilterForm):
    q = text_field(gettext_lazy("Words"), 1_000)
    crew_id = _choice(gettext_lazy("Crew"), entries.ID_CHARS)
    agent_id = AgentField(label=gettext_lazy("Agent"), empty=gettext_lazy("Any"))
    entry_type = _choice(gettext_lazy("Type"))
    severity = _choice(
        gettext_lazy("Severity"), 200, validators=[_refuse_unknown("severity")]
    )
    since = MomentField(label=gettext_lazy("Since"))
    until = MomentField(label=gettext_lazy("Until"), upper=True)
    priority = _choice(
        gettext_lazy("Priority"), 200, validators=[_refuse_unknown("priority")]
    )
    actor_type = _choice(
        gettext_lazy("Written by"), 200, validators=[_refuse_unknown("actor_type")]
    )
    exclude_entry_type = _choice(gettext_lazy("Without type"))
    subject = text_field(gettext_lazy("Person"), entries.SUBJECT_CHARS)
    mission_id = text_field(gettext_lazy("Mission"), entries.ID_CHARS)
    trace_id = text_field(gettext_lazy("Trace"), entries.ID_CHARS)

    show = forms.CharField(
        required=False, max_length=10, widget=forms.HiddenInput(attrs={"id": None})
    )

    PRIMARY = ("q", "crew_id", "agent_id", "entry_type", "severity", "since")
    SECONDARY = (
        "until",
        "priority",
        "actor_type",
        "exclude_entry_type",
        "subject",
        "mission_id",
        "trace_id",
    )

    def __init__(self, data: QueryDict, *, by: Actor) -> None:
        super().__init__(data, auto_id="f-%s")
        self.crews: list[Crew] = workspace_tree.crews(by)
        self.agents: list[Agent] = workspace_tree.agents(by)
        types = [(name, name) for name in timeline.entry_types(by)]
        self._offer("crew_id", [(c.id, c.slug) for c in self.crews])
        self.offer_agents(self.agents)
        self._offer("entry_type", types)
        none = pgettext("entry type", "None")
        self._offer("exclude_entry_type", types, none=none)
        self._offer("severity", severities())
        self._offer("priority", priorities())
        self._offer("actor_type", writers())
        self.set_search_field(gettext("Words in summary or payload"))
        self.set_date_controls(["since", "until"])

    def _offer(
        self, name: str, choices: Sequence[tuple[str, str]], none: str = ""
    ) -> None:
        """Fill a select; a comma-separated list from a link becomes one more choice."""
        raw_value = self.raw_value(name)
        names, extra = dict(choices), []
        if raw_value and raw_value not in names:
            parts = [names.get(part, part) for part in raw_value.split(",")]
            extra = [(raw_value, gettext(" or ").join(parts))]
        widget = self.fields[name].widget
        assert isinstance(widget, forms.Select)  # noqa: S101  (declared above)
        widget.choices = [("", none or gettext("Any")), *choices, *extra]

    def clean(self) -> dict[str, Any]:
        """Refuse ids that the workspace does not have."""
        fields: dict[str, Any] = super().clean() or {}
        if fields.get("show") and fields["show"] not in SHOWS:
            error = errors.unknown_value("show", SHOWS)
            self.add_error(None, error.detail)
        crew_id = fields.get("crew_id")
        if crew_id and crew_id not in {crew.id for crew in self.crews}:
            self.add_error("crew_id", gettext("This workspace has no such crew."))
        return fields

    def show_error(self, error: errors.Invalid) -> None:
        """Show an error of the service next to its field."""
        self.add_error(FIELD_OF.get(error.problem_code), error.detail)

    def journal_filter(self) -> JournalFilter | None:
        """Return the filter for the service, None when a field is invalid."""
        if not self.is_valid():
            return None
        texts = {k: v if v != "" else None for k, v in self.cleaned_data.items()}
        has_agent = SHOWS[texts.pop("show") or "agents"]
        return filter_params.parse(
            {**texts, "q": texts["q"] or "", "has_agent": has_agent}
        )

    # ── For the template ─────────────────────────────────────────────────────
    @property
    def query(self) -> str:
        """The set filters as a query string, without cursors."""
        return _encode(self._raw_values())

    def words_of(self, name: str) -> dict[str, str]:
        """Return the values of a filter, each with what the reader sees for it."""
        field = self.fields[name]
        if isinstance(field, AgentField):
            return field.names
        choices = getattr(field.widget, "choices", ())
        return {str(value): str(words) for value, words in choices}

    def _raw_values(self) -> dict[str, str]:
        return {n: value for n in self.fields if (value := self.raw_value(n))}

    def chips(self, base: str) -> list[Chip]:
        """Return the set filters, each with the URL that drops it."""
        raw_values = self._raw_values()
        chips = []
        for name, value in raw_values.items():
            if name == "show":
                continue
            rest = _encode({n: v for n, v in raw_values.items() if n != name})
            words = self.words_of(name).get(value, value)
            href = f"{base}?{rest}" if rest else base
            chips.append(Chip(str(self.fields[name].label), words, href))
        return chips

    def sides(self, base: str) -> list[Side]:
        """Return the switch of whose entries are shown; the other filters stay."""
        raw_values = self._raw_values()
        current = raw_values.pop("show", "agents")
        sides = []
        for name, words in SHOW_WORDS.items():
            values = raw_values if name == "agents" else {**raw_values, "show": name}
            href = f"{base}?{_encode(values)}" if values else base
            sides.append(Side(gettext(words), href, name == current))
        return sides


def _encode(values: dict[str, str]) -> str:
    params = QueryDict(mutable=True)
    params.update(values)
    return params.urlencode()


class PriorityForm(forms.Form):
    """The priority of an entry, and the reason."""

    priority = forms.ChoiceField(label=gettext_lazy("Priority"), choices=priorities)
    reason = forms.CharField(
        label=gettext_lazy("Reason, kept in the history"),
        required=False,
        max_length=1_000,
    )
