"""The places of the rail and their tabs, in one table.

A place is what a person looks for; its tabs are the pages it is made of. A tab is shown
to those who may open it, a place to those who may open one of its tabs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from django.urls import NoReverseMatch, reverse

from memory.rules.permissions import Actor
from memory.rules.translation import pgettext_noop


@dataclass(frozen=True, slots=True)
class Tab:
    """A page: its title, its route, and the permission it needs ("" for none).

    ``count`` names the number that stands beside it in the frame's context.
    """

    title: str
    route: str
    permission: str = ""
    count: str = ""
    url: str = ""
    is_current: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """An entry of the rail; ``key`` follows ``g`` on the keyboard."""

    title: str
    key: str
    tabs: tuple[Tab, ...]

    @property
    def url(self) -> str:
        return self.tabs[0].url

    @property
    def is_current(self) -> bool:
        return any(tab.is_current for tab in self.tabs)


PLACES: Final = (
    Place(
        pgettext_noop("place", "Home"),
        "h",
        (Tab(pgettext_noop("place", "Home"), "home"),),
    ),
    Place(
        pgettext_noop("place", "Health"),
        "e",
        (Tab(pgettext_noop("place", "Health"), "health:page", "health.read"),),
    ),
    Place(
        pgettext_noop("place", "Recall"),
        "r",
        (
            Tab(pgettext_noop("place", "Recall"), "episodic:recall"),
            Tab(pgettext_noop("place", "Saved checks"), "episodic:checks"),
            Tab(pgettext_noop("place", "Questions"), "episodic:questions"),
            Tab(pgettext_noop("place", "Index"), "episodic:index"),
        ),
    ),
    Place(
        pgettext_noop("place", "Map"),
        "m",
        (Tab(pgettext_noop("place", "Map"), "map:page", "journal.read"),),
    ),
    Place(
        pgettext_noop("place", "Journal"),
        "j",
        (Tab(pgettext_noop("place", "Journal"), "memory:journal"),),
    ),
    Place(
        pgettext_noop("place", "Memory"),
        "f",
        (
            Tab(pgettext_noop("place", "Files"), "files:browse"),
            Tab(pgettext_noop("place", "Records"), "records:list", "records.read"),
        ),
    ),
    Place(
        pgettext_noop("place", "Review"),
        "q",
        (
            Tab(
                pgettext_noop("place", "Quarantine"),
                "quarantine:inbox",
                "quarantine.read",
                "waiting",
            ),
            Tab(
                pgettext_noop("place", "Proposals"),
                "proposals:list",
                "proposals.read",
                "proposals_waiting",
            ),
            Tab(
                pgettext_noop("place", "Scanner rules"),
                "quarantine:rules",
                "quarantine.read",
            ),
        ),
    ),
    Place(
        pgettext_noop("place", "Personal data"),
        "p",
        (
            Tab(
                pgettext_noop("place", "Cases"),
                "privacy:cases",
                "gdpr.read",
                "case_numbers",
            ),
            Tab(pgettext_noop("place", "Subjects"), "privacy:subjects", "gdpr.read"),
            Tab(pgettext_noop("place", "Holds"), "privacy:holds", "gdpr.read"),
            Tab(
                pgettext_noop("place", "Certificates"),
                "privacy:certificates",
                "gdpr.read",
            ),
            Tab(pgettext_noop("place", "Audit log"), "privacy:ledger", "gdpr.read"),
            Tab(pgettext_noop("place", "Exports"), "privacy:exports", "gdpr.read"),
            Tab(pgettext_noop("place", "Suppressed"), "privacy:kept_out", "gdpr.read"),
            Tab(pgettext_noop("place", "Retention"), "privacy:retention", "gdpr.read"),
            Tab(pgettext_noop("place", "Reports"), "privacy:reports", "gdpr.read"),
            Tab(pgettext_noop("place", "Record"), "privacy:processing", "gdpr.read"),
            Tab(pgettext_noop("place", "Settings"), "privacy:settings", "gdpr.read"),
        ),
    ),
    Place(
        pgettext_noop("place", "Agents"),
        "a",
        (
            Tab(pgettext_noop("place", "Agents"), "workspace:agents", "agents.read"),
            Tab(pgettext_noop("place", "Keys"), "workspace:keys", "keys.read"),
        ),
    ),
    Place(
        pgettext_noop("place", "Workspace"),
        "w",
        (
            Tab(pgettext_noop("place", "Members"), "workspace:members", "members.read"),
            Tab(
                pgettext_noop("place", "Settings"),
                "workspace:settings",
                "settings.read",
            ),
            Tab(
                pgettext_noop("place", "Memory gateway"),
                "workspace:gateway",
                "keys.manage",
            ),
            Tab(
                pgettext_noop("place", "Webhooks"),
                "workspace:webhooks",
                "workspace.manage",
            ),
            Tab(pgettext_noop("place", "Providers"), "providers", "providers.read"),
            Tab(pgettext_noop("place", "Conformance"), "conformance", "providers.read"),
            Tab(pgettext_noop("place", "Jobs"), "jobs:board", "jobs.read"),
        ),
    ),
)
# Pages whose address is not below their tab's.
OWN_TAB: Final = {
    "privacy:calendar": "privacy:cases",
    "privacy:recipients": "privacy:cases",
    "privacy:certificate": "privacy:certificates",
    "workspace:crew": "workspace:agents",
}


def _url(route: str) -> str:
    """Return the address of a route, "" for a route that this version lacks."""
    try:
        return reverse(route)
    except NoReverseMatch:
        return ""


def _current_route(path: str, view_name: str, urls: dict[str, str]) -> str:
    """Return the route of the tab that a page belongs to, "" for none."""
    if view_name in OWN_TAB:
        return OWN_TAB[view_name]
    above = [
        (len(url), route)
        for route, url in urls.items()
        if path == url or (url != "/" and path.startswith(url))
    ]
    return max(above, default=(0, ""))[1]


def of(actor: Actor, path: str, view_name: str = "") -> list[Place]:
    """Return the places an actor may open, with addresses and the current tab."""
    urls = {
        tab.route: url
        for place in PLACES
        for tab in place.tabs
        if (not tab.permission or actor.can(tab.permission))
        and (url := _url(tab.route))
    }
    here = _current_route(path, view_name, urls)
    places = []
    for place in PLACES:
        tabs = tuple(
            replace(tab, url=urls[tab.route], is_current=tab.route == here)
            for tab in place.tabs
            if tab.route in urls
        )
        if tabs:
            places.append(replace(place, tabs=tabs))
    return places


def context(actor: Actor, path: str, view_name: str) -> dict[str, Any]:
    """Return what the rail and the row of tabs show."""
    places = of(actor, path, view_name)
    current = next((place for place in places if place.is_current), None)
    return {"rail_places": places, "current_place": current}
