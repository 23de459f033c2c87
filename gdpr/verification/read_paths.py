"""Searching for the person through the application's read paths.

A hit counts when its text names the person; other hits are normal search results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

from django.utils.translation import gettext_noop

from episodic.index import engine
from episodic.recall import search as recall
from episodic.recall.request import Mode, Request
from episodic.vectors.base import VectorScope
from episodic.vectors.scan import ScanIndex
from gdpr.data_map.base import Person, Trace
from gdpr.matching import name_fields
from memory.files import listing
from memory.journal import queries
from memory.journal.queries import JournalFilter
from memory.models import Agent, JournalEntry
from memory.rules import errors, permissions
from memory.rules.permissions import Actor, AgentRole, Role

AGENTS: Final = 5
K: Final = 50
PAGE: Final = 200
QUERY_CHARS: Final = 400
FILE_SEARCH: Final = gettext_noop("found by the files' search")
JOURNAL_SEARCH: Final = gettext_noop("found by the journal's search")
RECALLED: Final = gettext_noop("recalled, {mode} ranking")


def readers(workspace_id: str) -> list[Actor]:
    """Return the actors of the searches: the system, and agents of different crews."""
    actors, crews = [permissions.system(workspace_id, "gdpr")], set[str]()
    rows = Agent.objects.filter(workspace_id=workspace_id).order_by("-role", "slug")
    for agent in rows:
        if agent.crew_id in crews or len(crews) == AGENTS:
            continue
        crews.add(agent.crew_id)
        actors.append(
            Actor(
                role=Role.AGENT,
                workspace_id=workspace_id,
                id=agent.id,
                label=agent.slug,
                crew_id=agent.crew_id,
                agent_role=AgentRole(agent.role),
                walk_depth=1,
            )
        )
    return actors


def _names_subject(person: Person, row: JournalEntry) -> bool:
    objects = (
        name_fields.json_as_text(row.payload_text),
        name_fields.json_as_text(row.refs_text),
    )
    text = "\n".join([row.summary, *objects])
    return person.subject_id in person.matcher.names(text)


def _journal(person: Person, name: str, by: Actor) -> Iterator[Trace]:
    page = queries.journal_page(by, JournalFilter(q=name), limit=PAGE)
    for row in page.entries:
        if _names_subject(person, row):
            yield Trace("journal", row.id, JOURNAL_SEARCH)


def _recall(person: Person, name: str, by: Actor) -> Iterator[Trace]:
    for mode in _modes(person.workspace_id):
        request = Request(query=name, k=K, mode=mode, mark=False)
        for hit in recall.search(request, by=by).hits:
            if _names_subject(person, hit.entry):
                recalled = RECALLED.format(mode=mode.value)
                yield Trace("journal", hit.entry.id, recalled)


def _modes(workspace_id: str) -> tuple[Mode, ...]:
    """Return the recall modes to run. A vector matrix is not loaded for this.

    It would be read from the stored vectors, which were checked already.
    """
    index = engine.vectors()
    scope = VectorScope(workspace_id=workspace_id, model=engine.embedder().model)
    if isinstance(index, ScanIndex) and not index.holds(scope):
        return (Mode.SPARSE,)
    return Mode.SPARSE, Mode.DENSE


def _files(person: Person, name: str, by: Actor) -> Iterator[Trace]:
    if by.is_agent:
        return
    for answer in listing.search(by, name):
        for hit in answer.hits:
            if person.subject_id in person.matcher.names(hit.snippet):
                yield Trace("files", answer.owner_id, FILE_SEARCH)


ReadPath = Callable[[Person, str, Actor], Iterator[Trace]]
READ_PATHS: Final[tuple[ReadPath, ...]] = (_journal, _recall, _files)


def search(person: Person) -> tuple[int, list[Trace]]:
    """Search every read path for every name; return the number of searches, traces."""
    count, traces = 0, []
    names = dict.fromkeys(
        alias.value[:QUERY_CHARS] for alias in person.matcher.searched
    )
    try:
        for by in readers(person.workspace_id):
            for name in names:
                for read_path in READ_PATHS:
                    count += 1
                    # A name without a letter or a digit is not a valid query.
                    with suppress(errors.Invalid):
                        traces += list(read_path(person, name, by))
    finally:
        # The queries were the person's names, and vectors of queries are cached.
        engine.embedder().clear()
    return count, list(dict.fromkeys(traces))
