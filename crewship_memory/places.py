"""The places of the rail and their tabs, in one table.

A place is what a person looks for; its tabs are the pages it is made of. A tab is shown
to those who may open it, a place to those who may open one of its tabs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from django.urls import NoReverseMatch, reverse

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
    Place("Home", "h", (Tab("Home", "home"),)),
    Place("Health", "e", (Tab("Health", "health:page", "health.read"),)),
    Place(
        "Recall",
        "r",
        (
            Tab("Recall", "episodic:recall"),
            Tab("Saved checks", "episodic:checks"),
            Tab("Questions", "episodic:questions"),
            Tab("Index", "episodic:index"),
        ),
    ),
    Place("Map", "m", (Tab("Map", "map:page", "journal.read"),)),
    Place("Journal", "j", (Tab("Journal", "memory:journal"),)),
    Place(
        "Memory",
        "f",
        (
            Tab("Files", "files:browse"),
            Tab("Records", "records:list", "records.read"),
        ),
    ),
    Place(
        "Review",
        "q",
        (
            Tab("Quarantine", "quarantine:inbox", "quarantine.read", "waiting"),
            Tab("Proposals", "proposals:list", "proposals.read", "proposals_waiting"),
            Tab("Scanner rules", "quarantine:rules", "quarantine.read"),
        ),
    ),
    Place(
        "Personal data",
        "p",
        (
            Tab("Cases", "privacy:cases", "gdpr.read", "case_numbers"),
            Tab("Subjects", "privacy:subjects", "gdpr.read"),
            Tab("Holds", "privacy:holds", "gdpr.read"),
            Tab("Certificates", "privacy:certificates", "gdpr.read"),
            Tab("Audit log", "privacy:ledger", "gdpr.read"),
            Tab("Exports", "privacy:exports", "gdpr.read"),
            Tab("Suppressed", "privacy:kept_out", "gdpr.read"),
            Tab("Settings", "privacy:settings", "gdpr.read"),
        ),
    ),
    Place(
        "Agents",
        "a",
        (
            Tab("Agents", "workspace:agents", "agents.read"),
            Tab("Keys", "workspace:keys", "keys.read"),
        ),
    ),
    Place(
        "Workspace",
        "w",
        (
            Tab("Members", "workspace:members", "members.read"),
            Tab("Settings", "workspace:settings", "settings.read"),
            Tab("Memory gateway", "workspace:gateway", "keys.manage"),
            Tab("Webhooks", "workspace:webhooks", "workspace.manage"),
            Tab("Providers", "providers", "providers.read"),
            Tab("Conformance", "conformance", "providers.read"),
            Tab("Jobs", "jobs:board", "jobs.read"),
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
