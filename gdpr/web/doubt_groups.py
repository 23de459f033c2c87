"""The doubtful rows of a plan in groups, each decided on with one tick."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gdpr.cases import dry_run
from gdpr.data_map import registry

# From so many undecided rows on, they can be decided on by group.
LEAST_ROWS = 2


@dataclass(frozen=True, slots=True)
class Group:
    """The undecided rows of one form of the name, or of one place.

    ``title`` is stored English, as in the plan.
    """

    name: str
    value: str
    title: str
    count: int


def of(doubts: Mapping[str, Any]) -> list[Group]:
    """Return the groups: by form, then by place, the largest first."""
    forms: Counter[str] = Counter()
    places: Counter[str] = Counter()
    for form, ids_by_place in doubts["by_form"].items():
        for place, ids in ids_by_place.items():
            forms[form] += len(ids)
            places[place] += len(ids)
    if sum(forms.values()) < LEAST_ROWS:
        return []
    return [
        *(
            Group("form", code, dry_run.reason(code), count)
            for code, count in forms.most_common()
        ),
        *(
            Group("place", place, registry.by_name(place).title, count)
            for place, count in places.most_common()
        ),
    ]
