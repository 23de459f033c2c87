"""Pinned entries, written into the memory files that agents start with.

A pinned entry of an agent goes into that agent's own pins.md. One of the crew, or of an
agent that was deleted, goes into CREW.md: the file that every agent of the crew reads.
The line contains the entry's id, so that a pin is written once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from episodic.summarisers.base import one_line
from memory.files import paths, quarantine, writer
from memory.files.paths import Owner
from memory.files.writer import Request
from memory.models import Agent, Crew, JournalEntry
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.rules.tiers import Place, Tier, WriteMode

LINE_CHARS = 400
SOURCE = "consolidate"


@dataclass(frozen=True, slots=True)
class PinReport:
    """How many pins were written, and which entries could not be."""

    count: int
    pending_ids: tuple[str, ...]


def line(entry: JournalEntry) -> str:
    """Return an entry as a line of a pins file."""
    day = entry.ts.date().isoformat()
    return f"- {one_line(entry.summary, LINE_CHARS)} ({entry.id}, {day})"


def _by_file(
    crew: Crew, entries: Iterable[JournalEntry]
) -> dict[tuple[Owner, Place], list[JournalEntry]]:
    agents = {a.id: a for a in Agent.objects.filter(crew=crew).select_related("crew")}
    files: dict[tuple[Owner, Place], list[JournalEntry]] = defaultdict(list)
    for entry in entries:
        agent = agents.get(entry.agent_id or "")
        if agent is None:
            files[Owner(crew), Place(Tier.CREW)].append(entry)
        else:
            files[paths.owner_of_agent(agent), Place(Tier.PINS)].append(entry)
    return files


def write(crew: Crew, entries: Iterable[JournalEntry], *, by: Actor) -> PinReport:
    """Append the missing pins; those of a file that is full stay pending.

    A pin that the scanner holds is not pending: it is in the quarantine.
    """
    count, pending_ids = 0, []
    for (owner, place), rows in _by_file(crew, entries).items():
        body = writer.current_text(owner, place)
        for entry in rows:
            if entry.id in body:
                continue
            text = f"{line(entry)}\n"
            request = Request(owner, place, text, WriteMode.APPEND, SOURCE)
            try:
                body = writer.write(request, by=by).body
                count += 1
            except quarantine.HeldForReview:
                continue
            except errors.AppError:
                pending_ids.append(entry.id)
    return PinReport(count, tuple(pending_ids))
