"""What forms of filters share: moments, an agent, fields in view or under "More"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.translation import gettext, gettext_noop

from memory.models import Agent
from memory.web.agent_field import AgentField, Suggestion

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

FIRST_YEAR: Final = 1970
LAST_YEAR: Final = 9000
# Where in a list a person is, and what was done there: no filters.
NO_FILTERS: Final = frozenset({"cursor", "newer", "page", "done", "view"})
BAD_MOMENT: Final = gettext_noop(
    "Use a day, 2026-11-14, or a time in UTC, 2026-11-14T08:30Z."
)


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
            raise ValidationError(gettext(BAD_MOMENT), code="bad_moment")
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


def text_field(label: StrOrPromise, limit: int = 256) -> forms.CharField:
    return forms.CharField(label=label, required=False, max_length=limit)


def set_filters(data: QueryDict) -> str:
    """Return the filters that are set in an address as a query string."""
    params = QueryDict(mutable=True)
    for name, values in data.lists():
        if name not in NO_FILTERS and any(values):
            params.setlist(name, [value for value in values if value])
    return params.urlencode()


class FilterForm(forms.Form):
    """Filters in a query string, some of them always shown."""

    PRIMARY: ClassVar[tuple[str, ...]] = ()
    SECONDARY: ClassVar[tuple[str, ...]] = ()

    def raw_value(self, name: str) -> str:
        """Return what was sent for a field, stripped; for a known agent its id."""
        text = str(self.data.get(name) or "").strip()
        field = self.fields.get(name)
        return field.id_of(text) if isinstance(field, AgentField) else text

    def offer_agents(self, agents: Sequence[Agent]) -> None:
        """Set the agents that the field ``agent_id`` can name."""
        cast("AgentField", self.fields["agent_id"]).offer(agents)

    @property
    def agent_names(self) -> list[Suggestion]:
        """The suggestions of the field ``agent_id``."""
        return cast("AgentField", self.fields["agent_id"]).suggestions

    def set_filters(self, data: QueryDict) -> str:
        """Return the filters of an address as a query string, an agent by its id."""
        params = data.copy()
        for name in self.fields:
            if name in params and isinstance(self.fields[name], AgentField):
                params[name] = self.raw_value(name)
        return set_filters(params)

    def set_search_field(self, placeholder: str) -> None:
        """Make a search field of the field ``q``."""
        self.fields["q"].widget.input_type = "search"
        self.fields["q"].widget.attrs["placeholder"] = placeholder

    def set_date_controls(self, names: Iterable[str]) -> None:
        """Give days a date control, which would not show a time from a link."""
        for name in names:
            is_day = len(self.raw_value(name)) in (0, len("2026-11-14"))
            self.fields[name].widget.input_type = "date" if is_day else "text"

    @property
    def primary(self) -> list[forms.BoundField]:
        """The fields that are always shown."""
        return [self[name] for name in self.PRIMARY]

    @property
    def secondary(self) -> list[forms.BoundField]:
        """The fields under "More"."""
        return [self[name] for name in self.SECONDARY]

    @property
    def shows_secondary(self) -> bool:
        """Whether a field under "More" is set."""
        return any(self.raw_value(name) for name in self.SECONDARY)
