"""The filters of the list of agents."""

from __future__ import annotations

from collections.abc import Sequence

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy

from episodic.agents import overview
from episodic.agents.overview import AgentFilter
from memory.models import Crew
from memory.web import pages
from memory.web.filter_forms import FilterForm


class AgentListForm(FilterForm):
    """Words of a name, a crew and an order; the buttons above choose the list."""

    q = forms.CharField(label=gettext_lazy("Name"), required=False, max_length=100)
    crew_id = forms.ChoiceField(label=gettext_lazy("Crew"), required=False)
    sort = forms.ChoiceField(
        label=gettext_lazy("Order"),
        required=False,
        choices=[(name, gettext_lazy(word)) for name, word in overview.SORTS.items()],
    )
    PRIMARY = ("q", "crew_id", "sort")

    def __init__(self, data: QueryDict, *, crews: Sequence[Crew]) -> None:
        super().__init__(data, auto_id="f-%s")
        choices = [("", gettext("Any")), *((crew.id, crew.slug) for crew in crews)]
        pages.offer(self, "crew_id", choices)
        self.set_search_field(gettext("Agent or crew"))

    def agent_filter(self) -> AgentFilter:
        """Return the filter for the service; an invalid field is left out."""
        self.is_valid()
        fields = {name: value for name, value in self.cleaned_data.items() if value}
        number = pages.number(self.raw_value("page"))
        return AgentFilter(show=self.raw_value("show"), page=number or 1, **fields)
