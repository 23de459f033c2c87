"""The journal's forms: the filters of its list, and the priority of one entry.

The filters are those of the API, under the same names, so that a query string works for
both. A bad value becomes an error next to its field and never an error page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.dateparse import parse_date, parse_datetime

from memory import workspace_tree
from memory.journal import filter_params, timeline
from memory.journal.queries import JournalFilter
from memory.models import Agent, Crew
from memory.rules import entries, errors
from memory.rules.entries import Priority, Severity
from memory.rules.permissions import Actor

FIRST_YEAR: Final = 1970
LAST_YEAR: Final = 9000
BAD_MOMENT: Final = "Use a day, 2026-11-14, or a time in UTC, 2026-11-14T08:30Z."
FIELD_OF: Final = {"bad_range": "until"}


class MomentField(forms.CharField):
    """A day or a time, in UTC. As an upper limit, a day means its last millisecond."""

    def __init__(self, *, upper: bool = False, **kwargs: Any) -> None:
        super().__init__(max_length=40, required=False, **kwargs)
        self.upper = upper

    def clean(self, value: Any) -> datetime | None:
        """Return the time, None for an empty field."""
        text = super().clean(value)
        if not text:
            return None
        try:
            moment = self._parse(text)
        except (ValueError, OverflowError):
            moment = None
        if moment is None:
            raise ValidationError(BAD_MOMENT, code="bad_moment")
        return moment

    def _parse(self, text: str) -> datetime | None:
        day = parse_date(text)
        if day is not None:
            start = datetime.combine(day, time(), tzinfo=UTC)
            last = start + timedelta(days=1) - timedelta(milliseconds=1)
            return _within(last if self.upper else start)
        # An unescaped plus sign of a query string arrives as a space.
        moment = parse_datetime(text.replace(" ", "+") if "T" in text else text)
        if moment is None:
            return None
        return _within(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def _within(moment: datetime) -> datetime | None:
    """Return the time in UTC, None for a year that no entry can have."""
    in_range = FIRST_YEAR <= moment.year <= LAST_YEAR
    return moment.astimezone(UTC) if in_range else None


def _text(label: str, limit: int, hint: str = "") -> forms.CharField:
    return forms.CharField(
        label=label, required=False, max_length=limit, help_text=hint
    )


def _choice(label: str, limit: int = 2_000) -> forms.CharField:
    """Return a select that accepts a comma-separated list, as the API does."""
    return forms.CharField(
        label=label, required=False, max_length=limit, widget=forms.Select
    )


@dataclass(frozen=True, slots=True)
class Chip:
    """One set filter, in words, and the URL without it."""

    label: str
    value: str
    href: str


class JournalForm(forms.Form):
    q = _text("Words", 1_000)
    crew_id = _choice("Crew", entries.ID_CHARS)
    agent_id = _choice("Agent", entries.ID_CHARS)
    entry_type = _choice("Type")
    severity = _choice("Severity", 200)
    since = MomentField(label="Since")
    until = MomentField(label="Until", upper=True)
    priority = _choice("Priority", 200)
    exclude_entry_type = _choice("Without type")
    subject = _text("Person", entries.SUBJECT_CHARS)
    mission_id = _text("Mission", entries.ID_CHARS)
    trace_id = _text("Trace", entries.ID_CHARS)

    PRIMARY: Final = ("q", "crew_id", "agent_id", "entry_type", "severity", "since")
    SECONDARY: Final = (
        "until",
        "priority",
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
        self._set_widgets()

    def _offer(
        self, name: str, choices: Sequence[tuple[str, str]], none: str = "Any"
    ) -> None:
        """Fill a select; a comma-separated list from a link becomes one more choice."""
        raw_value = self._raw_value(name)
        extra: list[tuple[str, str]] = []
        if raw_value and raw_value not in dict(choices):
            extra = [(raw_value, raw_value.replace(",", " or "))]
        widget = self.fields[name].widget
        assert isinstance(widget, forms.Select)  # noqa: S101  (declared above)
        widget.choices = [("", none), *choices, *extra]

    def _raw_value(self, name: str) -> str:
        return str(self.data.get(name) or "").strip()

    def _set_widgets(self) -> None:
        self.fields["q"].widget.input_type = "search"
        self.fields["q"].widget.attrs["placeholder"] = "Words in summary or payload"
        for name in ("since", "until"):
            # A date control would not show a time from a link.
            is_day = len(self._raw_value(name)) in (0, len("2026-11-14"))
            self.fields[name].widget.input_type = "date" if is_day else "text"

    def _one_of(self, name: str, valid_ids: Iterable[str], noun: str) -> str | None:
        value = str(self.cleaned_data.get(name) or "")
        if value and value not in set(valid_ids):
            raise ValidationError(f"This workspace has no such {noun}.")
        return value or None

    def clean_crew_id(self) -> str | None:
        return self._one_of("crew_id", (c.id for c in self.crews), "crew")

    def clean_agent_id(self) -> str | None:
        return self._one_of("agent_id", (a.id for a in self.agents), "agent")

    def _enum(self, name: str) -> str:
        """Return a valid value, or several separated by commas."""
        value = str(self.cleaned_data.get(name) or "")
        try:
            filter_params.parse({name: value})
        except errors.Invalid as error:
            raise ValidationError(error.detail, code=error.problem_code) from None
        return value

    def clean_severity(self) -> str:
        return self._enum("severity")

    def clean_priority(self) -> str:
        return self._enum("priority")

    def show_error(self, error: errors.Invalid) -> None:
        """Show an error of the service next to its field."""
        self.add_error(FIELD_OF.get(error.problem_code), error.detail)

    def journal_filter(self) -> JournalFilter | None:
        """Return the filter for the service, None when a field is invalid."""
        if not self.is_valid():
            return None
        texts = {k: v if v != "" else None for k, v in self.cleaned_data.items()}
        return filter_params.parse({**texts, "q": texts["q"] or ""})

    # ── For the template ─────────────────────────────────────────────────────
    @property
    def primary(self) -> list[forms.BoundField]:
        """The fields that are always shown."""
        return [self[name] for name in self.PRIMARY]

    @property
    def secondary(self) -> list[forms.BoundField]:
        """The fields under "More filters"."""
        return [self[name] for name in self.SECONDARY]

    @property
    def shows_secondary(self) -> bool:
        """Whether a filter under "More filters" is set."""
        return any(self._raw_value(name) for name in self.SECONDARY)

    @property
    def query(self) -> str:
        """The set filters as a query string, without cursors."""
        return _encode(
            {n: self._raw_value(n) for n in self.fields if self._raw_value(n)}
        )

    def chips(self, base: str) -> list[Chip]:
        """Return the set filters, each with the URL that drops it."""
        raw_values = {n: self._raw_value(n) for n in self.fields if self._raw_value(n)}
        chips = []
        for name, value in raw_values.items():
            rest = _encode({n: v for n, v in raw_values.items() if n != name})
            words = self._in_words(name, value)
            label = str(self.fields[name].label)
            chips.append(Chip(label, words, f"{base}?{rest}" if rest else base))
        return chips

    def _in_words(self, name: str, value: str) -> str:
        choices = getattr(self.fields[name].widget, "choices", ())
        return str(dict(choices).get(value, value))


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
