"""The palette's lines for a text: pages, acts, names and files, by permission."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop, pgettext

from crewship_memory import places
from crewship_memory.find import rows
from crewship_memory.find.hits import Group, Hit
from gdpr.subjects import registry as subjects
from memory.jobs import registry as jobs
from memory.models import Agent, Crew, Membership, MemoryFile
from memory.rules.permissions import Actor
from memory.web import pages

MAX_HITS: Final = 12
PER_GROUP: Final = 4
QUERY_CHARS: Final = 500


@dataclass(frozen=True, slots=True)
class Act:
    """Something to do, the page where it is done, and who may."""

    title: str
    route: str
    permission: str


ACTS: Final = (
    Act(gettext_noop("Recompute health"), "health:page", "health.recompute"),
    Act(gettext_noop("Review held texts"), "quarantine:inbox", "quarantine.decide"),
    Act(gettext_noop("Decide on proposals"), "proposals:list", "proposals.decide"),
    Act(
        gettext_noop("Try a text on the scanner rules"),
        "quarantine:rules",
        "scanner.read",
    ),
    Act(gettext_noop("Index entries now"), "episodic:index", "index.run"),
    Act(gettext_noop("Run a job"), "jobs:board", "jobs.run"),
    Act(gettext_noop("Import entries"), "memory:import", "journal.import"),
    Act(gettext_noop("Verify the chain"), "memory:journal", "journal.verify"),
    Act(gettext_noop("New case"), "privacy:new_case", "gdpr.manage"),
    Act(gettext_noop("Register a subject"), "privacy:subjects", "gdpr.manage"),
    Act(gettext_noop("Add an agent"), "workspace:agents", "agents.manage"),
    Act(gettext_noop("Issue a key"), "workspace:keys", "keys.manage"),
    Act(gettext_noop("Invite a person"), "workspace:members", "members.manage"),
    Act(gettext_noop("Add a webhook"), "workspace:webhooks", "workspace.manage"),
    Act(gettext_noop("Change settings"), "workspace:settings", "settings.manage"),
    Act(gettext_noop("Look up a word in the glossary"), "glossary", ""),
    Act(gettext_noop("Change the password"), "account_change_password", ""),
)


def straight(actor: Actor, text: str) -> Hit | None:
    """Return the row or key that a text names exactly, None when it names none."""
    return rows.by_ids(actor, [text]).get(text) or rows.key_of(actor, text)


def search(actor: Actor, text: str, recent: Iterable[str] = ()) -> list[Group]:
    """Return at most ``MAX_HITS`` lines in groups; recent rows for an empty text."""
    text = text.strip()[:QUERY_CHARS]
    if not text:
        opened = rows.by_ids(actor, recent)
        groups = [
            Group(
                gettext("Recent"),
                [_opening(row_id, hit) for row_id, hit in opened.items()],
            ),
            Group(gettext("Pages"), _pages(actor, "")),
        ]
        return _bounded(groups, 0)
    exact = straight(actor, text)
    groups = [
        Group(gettext("Exact"), [exact] if exact else []),
        Group(gettext("Pages"), _pages(actor, text)[:PER_GROUP]),
        Group(pgettext("something to do", "Acts"), _acts(actor, text)[:PER_GROUP]),
        Group(gettext("Agents and crews"), _agents(actor, text)),
        Group(gettext("People"), _people(actor, text)),
        Group(gettext("Files"), _files(actor, text)),
    ]
    journal = Hit(
        gettext("Search the journal for these words"),
        text[:60],
        pages.address("memory:journal", q=text),
    )
    return [*_bounded(groups, 1), Group(gettext("Journal"), [journal])]


def _bounded(groups: list[Group], reserved: int) -> list[Group]:
    """Return the groups that have lines, cut where the palette is full."""
    space = MAX_HITS - reserved
    bounded = []
    for group in groups:
        if hits := group.hits[:space]:
            bounded.append(Group(group.title, hits))
            space -= len(hits)
    return bounded


def _opening(row_id: str, hit: Hit) -> Hit:
    """Return a line that opens a row by its id and puts it among the recent ones."""
    return Hit(hit.title, hit.detail, reverse("find_open", args=[row_id]))


def _pages(actor: Actor, text: str) -> list[Hit]:
    """Return pages and jobs, those whose own title begins with the text first."""
    folded = text.casefold()
    pairs = [
        (title, Hit(title, pgettext("place", place.title), tab.url))
        for place in places.of(actor, "")
        for tab in place.tabs
        for title in [pgettext("place", tab.title)]
        # In English as well: who changes the language still finds the page.
        if folded in f"{pgettext('place', place.title)} {title}".casefold()
        or folded in f"{place.title} {tab.title}".casefold()
    ]
    if text and actor.can("jobs.read"):
        pairs += [
            (
                job.name,
                Hit(
                    gettext(job.title),
                    gettext("Job"),
                    reverse("jobs:history", args=[job.name]),
                ),
            )
            for job in jobs.registered()
            if folded in f"{gettext(job.title)} {job.title} {job.name}".casefold()
        ]
    pairs.sort(key=lambda pair: not pair[0].casefold().startswith(folded))
    return [hit for _, hit in pairs]


def _acts(actor: Actor, text: str) -> list[Hit]:
    return [
        Hit(gettext(act.title), pgettext("something to do", "Act"), reverse(act.route))
        for act in ACTS
        if text.casefold() in f"{gettext(act.title)} {act.title}".casefold()
        and (not act.permission or actor.can(act.permission))
    ]


def _agents(actor: Actor, text: str) -> list[Hit]:
    if not actor.can("agents.read"):
        return []
    named = Q(slug__icontains=text) | Q(name__icontains=text) | Q(pk=text)
    agents = Agent.objects.filter(named, workspace_id=actor.workspace_id)
    hits = []
    for agent in agents.select_related("crew").order_by("slug")[:PER_GROUP]:
        opening = reverse("find_open", args=[agent.pk])
        kind = gettext("Agent of {crew}").format(crew=agent.crew.slug)
        hits.append(Hit(agent.slug, kind, opening))
    if len(hits) == 1:
        recall = pages.address("episodic:recall", agent_id=agents[0].pk)
        ask = gettext("Ask what {agent} recalls").format(agent=hits[0].title)
        hits.append(Hit(ask, pgettext("something to do", "Act"), recall))
    crews = Crew.objects.filter(workspace_id=actor.workspace_id)
    named_crews = crews.filter(slug__icontains=text).order_by("slug")[:PER_GROUP]
    hits += [
        Hit(crew.slug, gettext("Crew"), reverse("find_open", args=[crew.pk]))
        for crew in named_crews
    ]
    return hits[:PER_GROUP]


def _people(actor: Actor, text: str) -> list[Hit]:
    hits = []
    if actor.can("gdpr.read"):
        some, _ = subjects.list_subjects(actor, q=text, limit=PER_GROUP)
        hits = [
            Hit(
                subject.display_name or subject.pk,
                gettext("Subject"),
                reverse("find_open", args=[subject.pk]),
            )
            for subject in some
        ]
    if actor.can("members.read"):
        named = Q(user__email__icontains=text) | Q(user__name__icontains=text)
        members = Membership.objects.filter(named, workspace_id=actor.workspace_id)
        hits += [
            Hit(member.user.email, gettext("Member"), reverse("workspace:members"))
            for member in members.select_related("user").order_by("pk")[:PER_GROUP]
        ]
    return hits[:PER_GROUP]


def _files(actor: Actor, text: str) -> list[Hit]:
    if not actor.can("files.read"):
        return []
    files = MemoryFile.objects.filter(
        workspace_id=actor.workspace_id, path__icontains=text
    ).exclude(sha256="")
    return [
        Hit(file.path, gettext("File"), reverse("find_open", args=[file.pk]))
        for file in files.order_by("path")[:PER_GROUP]
    ]
