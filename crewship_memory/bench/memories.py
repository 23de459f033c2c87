"""A tenant of a labelled set as a workspace: its documents as entries of a crew.

Each speaker is an agent; the lead of the crew, who asks, reaches all of them. A thread
becomes a trace. Where a set gives no time, threads lie a day apart and the lines of one
half a minute, and documents without a thread an hour: none is another's context.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.utils import timezone
from django.utils.text import slugify

from crewship_memory.bench import dataset
from crewship_memory.bench.sets import Document
from episodic.index import sweep as index
from memory.accounts import workspaces
from memory.journal import append as journal
from memory.models import Agent, Crew
from memory.rules.entries import NewEntry
from memory.rules.permissions import Actor, system

BATCH: Final = 500
HEAD_BYTES: Final = 4_000
ENTRY_TYPE: Final = "peer.conversation"
THREADS_APART: Final = timedelta(days=1)
LINES_APART: Final = timedelta(seconds=30)
SINGLES_APART: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Memory:
    """A filled workspace: who asks in it, and which entry holds which document."""

    asker: Actor
    documents: dict[str, str]


def summary_and_rest(text: str) -> tuple[str, str]:
    """Return a text in two parts: a summary holds no more than HEAD_BYTES."""
    head = text.encode()[:HEAD_BYTES].decode("utf-8", "ignore")
    if head == text:
        return text, ""
    boundary = max(head.rfind(" "), head.rfind("\n"))
    head = head[:boundary] if boundary > 0 else head
    return head, text[len(head) :]


def timed(documents: Sequence[Document]) -> Iterator[tuple[Document, datetime]]:
    """Return the documents in order with a time each: their own, or one made up."""
    threads: dict[str, list[Document]] = {}
    for document in documents:
        threads.setdefault(document.thread or f"\n{document.id}", []).append(document)
    apart = [
        THREADS_APART if lines[0].thread else SINGLES_APART
        for lines in threads.values()
    ]
    start = timezone.now() - sum(apart, timedelta())
    for lines, gap in zip(threads.values(), apart, strict=True):
        lines.sort(key=lambda line: line.order)
        for place, line in enumerate(lines):
            ts = datetime.fromisoformat(line.ts) if line.ts else None
            yield line, ts or start + place * LINES_APART
        start += gap


def entry(document: Document, ts: datetime, speaker: Agent | None) -> NewEntry:
    """Return a document as an entry that is embedded."""
    head, rest = summary_and_rest(document.text.replace("\x00", " "))
    return NewEntry(
        entry_type=ENTRY_TYPE,
        summary=head,
        payload={"text": rest} if rest else {},
        refs={"episodic": True},
        crew_id=speaker.crew_id if speaker else None,
        agent_id=speaker.id if speaker else None,
        trace_id=document.thread,
        ts=ts if ts.tzinfo else timezone.make_aware(ts),
        as_agent=speaker is not None,
    )


def fill(slug: str, documents: Sequence[Document]) -> Memory:
    """Append the documents of a tenant to a new workspace and index them."""
    workspace = dataset.open_workspace(slug)
    by = system(workspace.workspace_id, "bench")
    lead = Agent.objects.get(pk=workspace.actor.id)
    speakers = _agents([d.speaker for d in documents if d.speaker], lead.crew, by)
    dated = list(timed(documents))
    document_ids: dict[str, str] = {}
    for start in range(0, len(dated), BATCH):
        part = dated[start : start + BATCH]
        new = [entry(d, ts, speakers.get(d.speaker or "", lead)) for d, ts in part]
        for row, (document, _) in zip(journal.write(new, by=by), part, strict=True):
            document_ids[row.id] = document.id
    while index.sweep(limit=512).indexed:
        pass
    return Memory(workspace.actor, document_ids)


def _agents(names: Sequence[str], crew: Crew, by: Actor) -> dict[str, Agent]:
    """Return an agent for every name; names that look alike share one."""
    agents: dict[str, Agent] = {}
    for number, name in enumerate(dict.fromkeys(names)):
        slug = slugify(name)[:60].strip("-_").replace("_", "-")
        slug = slug or f"speaker-{number}"
        agents[name], _ = workspaces.ensure_agent(slug, crew, by=by, name=name[:120])
    return agents
