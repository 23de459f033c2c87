"""The journal's forms: the filters of its list, and the priority of one entry.

The filters are those of the API, under the same names, so that a query string works for
both. A bad value becomes an error next to its field and never an error page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from memory import workspace_tree
from memory.journal import filter_params, timeline
from memory.journal.queries import JournalFilter
from memory.models import Agent, Crew
from memory.rules import entries, errors
from memory.rules.entries import ActorType, Priority, Severity
from memory.rules.permissions import Actor
from memory.web.filter_forms import FilterForm, MomentField, text_field

FIELD_OF: Final = {"bad_range": "until"}
# Whose entries are shown → the filter's has_agent. Agents come first.
SHOWS: Final = {"agents": True, "system": False, "all": None}
SHOW_WORDS: Final = {"agents": "Agents", "system": "People and system", "all": "All"}


def _refuse_unknown(name: str) -> Callable[[str], None]:
    """Return a validator of one value, or of several separated by commas."""

    def validate(value: str) -> None:
        try:
            filter_params.parse({name: value})
        except errors.Invalid as error:
            raise ValidationError(error.detail, code=error.problem_code) from None

    return validate


def _choice(label: str, limit: int = 2_000, **options: Any) -> forms.CharField:
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
    q = text_field("Words", 1_000)
    crew_id = _choice("Crew", entries.ID_CHARS)
    agent_id = _choice("Agent", entries.ID_CHARS)
    entry_type = _choice("Type")
    severity = _choice("Severity", 200, validators=[_refuse_unknown("severity")])
    since = MomentField(label="Since")
    until = MomentField(label="Until", upper=True)
    priority = _choice("Priority", 200, validators=[_refuse_unknown("priority")])
    actor_type = _choice("Written by", 200, validators=[_refuse_unknown("actor_type")])
    exclude_entry_type = _choice("Without type")
    subject = text_field("Person", entries.SUBJECT_CHARS)
    mission_id = text_field("Mission", entries.ID_CHARS)
    trace_id = text_field("Trace", entries.ID_CHARS)

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
        self._offer("agent_id", [(a.id, a.slug) for a in self.agents])
        self._offer("entry_type", types)
        self._offer("exclude_entry_type", types, none="None")
        self._offer("severity", [(s.value, s.value) for s in Severity])
        self._offer("priority", [(p.value, p.value) for p in Priority])
        self._offer("actor_type", [(a.value, a.value) for a in ActorType])
        self.set_search_field("Words in summary or payload")
        self.set_date_controls(["since", "until"])

    def _offer(
        self, name: str, choices: Sequence[tuple[str, str]], none: str = "Any"
    ) -> None:
        """Fill a select; a comma-separated list from a link becomes one more choice."""
        raw_value = self.raw_value(name)
        extra: list[tuple[str, str]] = []
        if raw_value and raw_value not in dict(choices):
            extra = [(raw_value, raw_value.replace(",", " or "))]
        widget = self.fields[name].widget
        assert isinstance(widget, forms.Select)  # noqa: S101  (declared above)
        widget.choices = [("", none), *choices, *extra]

    def clean(self) -> dict[str, Any]:
        """Refuse ids that the workspace does not have."""
        fields: dict[str, Any] = super().clean() or {}
        if fields.get("show") and fields["show"] not in SHOWS:
            self.add_error(None, f"show is one of {', '.join(SHOWS)}.")
        for noun, rows in (("crew", self.crews), ("agent", self.agents)):
            value = fields.get(f"{noun}_id")
            if value and value not in {row.id for row in rows}:
                self.add_error(f"{noun}_id", f"This workspace has no such {noun}.")
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
            choices = dict(getattr(self.fields[name].widget, "choices", ()))
            words, label = str(choices.get(value, value)), str(self.fields[name].label)
            chips.append(Chip(label, words, f"{base}?{rest}" if rest else base))
        return chips

    def sides(self, base: str) -> list[Side]:
        """Return the switch of whose entries are shown; the other filters stay."""
        raw_values = self._raw_values()
        current = raw_values.pop("show", "agents")
        sides = []
        for name, words in SHOW_WORDS.items():
            values = raw_values if name == "agents" else {**raw_values, "show": name}
            href = f"{base}?{_encode(values)}" if values else base
            sides.append(Side(words, href, name == current))
        return sides


def _encode(values: dict[str, str]) -> str:
    params = QueryDict(mutable=True)
    params.update(values)
    return params.urlencode()


class PriorityForm(forms.Form):
    """The priority of an entry, and the reason."""

    priority = forms.ChoiceField(
        label="Priority", choices=[(p.value, p.value) for p in Priority]
    )
    reason = forms.CharField(
        label="Reason, kept in the history", required=False, max_length=1_000
    )
