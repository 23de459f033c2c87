"""The places of the rail and their tabs, in one table.

A place is what a person looks for; its tabs are the pages it is made of. A tab is shown
to those who may open it, a place to those who may open one of its tabs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext_noop

from memory.rules.permissions import Actor


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
    Place(gettext_noop("Home"), "h", (Tab(gettext_noop("Home"), "home"),)),
    Place(
        gettext_noop("Health"),
        "e",
        (Tab(gettext_noop("Health"), "health:page", "health.read"),),
    ),
    Place(
        gettext_noop("Recall"),
        "r",
        (
            Tab(gettext_noop("Recall"), "episodic:recall"),
            Tab(gettext_noop("Saved checks"), "episodic:checks"),
            Tab(gettext_noop("Questions"), "episodic:questions"),
            Tab(gettext_noop("Index"), "episodic:index"),
        ),
    ),
    Place(
        gettext_noop("Map"),
        "m",
        (Tab(gettext_noop("Map"), "map:page", "journal.read"),),
    ),
    Place(
        gettext_noop("Journal"), "j", (Tab(gettext_noop("Journal"), "memory:journal"),)
    ),
    Place(
        gettext_noop("Memory"),
        "f",
        (
            Tab(gettext_noop("Files"), "files:browse"),
            Tab(gettext_noop("Records"), "records:list", "records.read"),
        ),
    ),
    Place(
        gettext_noop("Review"),
        "q",
        (
            Tab(
                gettext_noop("Quarantine"),
                "quarantine:inbox",
                "quarantine.read",
                "waiting",
            ),
            Tab(
                gettext_noop("Proposals"),
                "proposals:list",
                "proposals.read",
                "proposals_waiting",
            ),
            Tab(gettext_noop("Scanner rules"), "quarantine:rules", "quarantine.read"),
        ),
    ),
    Place(
        gettext_noop("Personal data"),
        "p",
        (
            Tab(gettext_noop("Cases"), "privacy:cases", "gdpr.read", "case_numbers"),
            Tab(gettext_noop("Subjects"), "privacy:subjects", "gdpr.read"),
            Tab(gettext_noop("Holds"), "privacy:holds", "gdpr.read"),
            Tab(gettext_noop("Certificates"), "privacy:certificates", "gdpr.read"),
            Tab(gettext_noop("Audit log"), "privacy:ledger", "gdpr.read"),
            Tab(gettext_noop("Exports"), "privacy:exports", "gdpr.read"),
            Tab(gettext_noop("Suppressed"), "privacy:kept_out", "gdpr.read"),
            Tab(gettext_noop("Settings"), "privacy:settings", "gdpr.read"),
        ),
    ),
    Place(
        gettext_noop("Agents"),
        "a",
        (
            Tab(gettext_noop("Agents"), "workspace:agents", "agents.read"),
            Tab(gettext_noop("Keys"), "workspace:keys", "keys.read"),
        ),
    ),
    Place(
        gettext_noop("Workspace"),
        "w",
        (
            Tab(gettext_noop("Members"), "workspace:members", "members.read"),
            Tab(gettext_noop("Settings"), "workspace:settings", "settings.read"),
            Tab(gettext_noop("Memory gateway"), "workspace:gateway", "keys.manage"),
            Tab(gettext_noop("Webhooks"), "workspace:webhooks", "workspace.manage"),
            Tab(gettext_noop("Providers"), "providers", "providers.read"),
            Tab(gettext_noop("Conformance"), "conformance", "providers.read"),
            Tab(gettext_noop("Jobs"), "jobs:board", "jobs.read"),
        ),
    ),
)
# Pages whose address is not below their tab's.
OWN_TAB: Final = {
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
