"""One search over memory files and the journal.

Files are ranked by their words, the journal by the registered ranker. The scores of the
two are not comparable, so each list is divided by its own best score, and the two are
merged by that number. Of equal hits, at least the best of each list, files come first,
because a file is what somebody chose to keep.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from memory import scanner, workspace_tree
from memory.files import paths, reading, restricted, search_index
from memory.journal import append as journal
from memory.models import MemoryFile
from memory.ports import ranker
from memory.ports.ranker import Question
from memory.rules import errors
from memory.rules.permissions import Actor

LIMIT: Final = 50
SUMMARY_CHARS: Final = 500


@dataclass(frozen=True, slots=True)
class Hit:
    """One hit; ``where`` has the fields of its source."""

    source: str
    score: float
    snippet: str
    where: dict[str, Any]


def _of_files(
    query: str, scope: str | None, crew_id: str | None, by: Actor
) -> list[Hit]:
    """Return hits in files: an agent's own and, unless it asks for own, its crew's."""
    rows = MemoryFile.objects.filter(workspace_id=by.workspace_id).exclude(sha256="")
    if by.is_agent:
        owner = paths.agent_owner(by.workspace_id, by.id)
        reachable = reading.files(owner, by=by)
        ids = [f.id for f in reachable if scope != "own" or f.agent_id == by.id]
    else:
        by.require("files.read")
        in_scope = rows.filter(crew_id=crew_id) if crew_id else rows
        in_scope = restricted.visible_files(in_scope, by)
        ids = list(in_scope.values_list("id", flat=True))
    chunk_hits = search_index.find(ids, query, LIMIT)
    files = rows.in_bulk([hit.file_id for hit in chunk_hits])
    return [
        Hit(
            "file",
            hit.score,
            scanner.redact_for_prompt(
                reading.visible_text(by.workspace_id, hit.text, by)[
                    : search_index.SNIPPET_CHARS
                ]
            ),
            {
                "label": files[hit.file_id].label,
                "crew_id": files[hit.file_id].crew_id,
                "agent_id": files[hit.file_id].agent_id,
                "line": hit.line,
                "heading": hit.heading,
            },
        )
        for hit in chunk_hits
        if hit.file_id in files
    ]


def _of_journal(
    query: str, scope: str | None, crew_id: str | None, by: Actor
) -> list[Hit]:
    question = Question(
        query=query,
        scope=scope if by.is_agent else None,
        crew_id=crew_id,
        limit=LIMIT,
    )
    return [
        Hit(
            "journal",
            hit.score,
            scanner.redact_for_prompt(hit.entry.summary[:SUMMARY_CHARS]),
            {
                "entry_id": hit.entry.id,
                "entry_type": hit.entry.entry_type,
                "ts": journal.stamp(hit.entry.ts),
                "crew_id": hit.entry.crew_id,
                "agent_id": hit.entry.agent_id,
                "via": hit.via,
            },
        )
        for hit in ranker.ranker().recall(question, by=by)
    ]


def _normalised(hits: list[Hit]) -> list[Hit]:
    best = max((hit.score for hit in hits), default=0.0)
    if best <= 0:
        return hits
    return [replace(hit, score=round(hit.score / best, 4)) for hit in hits]


def search(
    query: str,
    *,
    limit: int = 10,
    scope: str | None = None,
    crew_id: str | None = None,
    by: Actor,
) -> list[Hit]:
    """Return the best hits of both sources, at most ``limit``."""
    by.require("files.read")
    if not query.strip():
        raise errors.Invalid("query must not be blank.", code="blank_query")
    if crew_id is not None:
        workspace_tree.crew(by, crew_id)
    hits = [
        *_normalised(_of_files(query, scope, crew_id, by)),
        *_normalised(_of_journal(query, scope, crew_id, by)),
    ]
    hits.sort(key=lambda hit: (-hit.score, hit.source))
    return hits[: max(1, min(limit, LIMIT))]
