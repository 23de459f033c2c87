"""Where data came from (Article 15(1)(g)), by the rows themselves."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop

from gdpr.export.bundle import Collection, Place
from gdpr.export.readable import values
from gdpr.export.readable.kinds import Row
from gdpr.export.readable.values import Wording

AGENT: Final = gettext_noop("the agent {agent} of the crew {crew}")
LONE_AGENT: Final = gettext_noop("the agent {agent}")
SOME_AGENT: Final = gettext_noop("an agent that does not exist any more")
CREW: Final = gettext_noop("agents of the crew {crew}")
MEMBERS: Final = gettext_noop("members of this workspace")
PROGRAM: Final = gettext_noop("the program itself, from what others wrote")
SENDER: Final = gettext_noop("whoever sent a request about you")
HANDLED: Final = gettext_noop("you, or who asked for you; people who handle requests")
UPLOAD: Final = gettext_noop("a file that a member of this workspace uploaded")
DISK: Final = gettext_noop("a file that was found on the disk")
# Places whose rows do not say who wrote them.
OF_PLACES: Final[dict[str, str]] = {
    "imports": UPLOAD,
    "strays": DISK,
    "intake": SENDER,
    "cases": HANDLED,
    "decisions": MEMBERS,
    "letters": HANDLED,
    "letter_templates": MEMBERS,
    "recipients": HANDLED,
    "logins": MEMBERS,
    "keys": MEMBERS,
    "gateway": MEMBERS,
    "webhooks": MEMBERS,
    "filters": MEMBERS,
    "tenancy": MEMBERS,
    "retention": MEMBERS,
    "priorities": MEMBERS,
    "admin_log": MEMBERS,
    "recall_checks": MEMBERS,
    "proposals": PROGRAM,
    "health": PROGRAM,
}


@dataclass(frozen=True, slots=True)
class Source:
    """Who wrote how many of the rows of a place."""

    name: SafeString
    count: int


def of(place: Place, wording: Wording) -> list[Source]:
    """Return who wrote the rows of a place, the busiest first."""
    counts = Counter(name for row in place.rows for name in _names(place, row, wording))
    return [Source(name, count) for name, count in counts.most_common()]


def of_all(collection: Collection, wording: Wording) -> list[Source]:
    """Return who wrote what a bundle has, over all places, the busiest first."""
    counts: Counter[SafeString] = Counter()
    for place in collection.places:
        for source in of(place, wording):
            counts[source.name] += source.count
    return [Source(name, count) for name, count in counts.most_common()]


def _names(place: Place, row: Row, wording: Wording) -> list[SafeString]:
    if place.name in OF_PLACES:
        return [_text(OF_PLACES[place.name])]
    if place.name == "files":
        writers = {version["written_by"] for version in row["versions"]}
        return [_name(name) for name in sorted(writers)]
    writer = row.get("written_by") or (
        "" if row.get("agent_id") else row.get("asked_by")
    )
    if writer:
        return [_name(writer)]
    if row.get("actor_type") == "user":
        return [_text(MEMBERS)]
    if row.get("actor_type", "agent") == "agent":
        return [_agent(row, wording)]
    return [_text(PROGRAM)]


def _agent(row: Row, wording: Wording) -> SafeString:
    """Return the agent or crew of a row; the program where it has neither."""
    agent = wording.names.get(str(row.get("agent_id") or ""), "")
    crew = wording.names.get(str(row.get("crew_id") or ""), "")
    if agent and crew:
        return _text(AGENT, agent=agent, crew=crew)
    if agent:
        return _text(LONE_AGENT, agent=agent)
    if row.get("agent_id") or row.get("actor_type") == "agent":
        return _text(SOME_AGENT)
    return _text(CREW, crew=crew) if crew else _text(PROGRAM)


def _text(message: str, **names: str) -> SafeString:
    marked = {key: _name(name) for key, name in names.items()}
    return values.markup(gettext(message), **marked)


def _name(name: str) -> SafeString:
    return format_html("<bdi>{}</bdi>", name)
