"""Pairs of records that say nearly the same, and keeping only the newer of two.

Both take a place in an answer where one would do. They stand near each other, so they
raise coherence, and no metric rises when one goes: what is gained is room in answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext, pgettext

from episodic.health import snapshots as health
from episodic.models import MemoryRelation
from memory import records
from memory.models import Record
from memory.records import Provenance
from memory.records.access import reach
from memory.rules import errors
from memory.rules.permissions import Actor

LEAST_COSINE: Final = 0.97
# The newest records that are looked at, and the pairs that are listed.
RECORDS_READ: Final = 2_000
LISTED: Final = 50
REASON_LENGTH: Final = 500


@dataclass(frozen=True, slots=True)
class Pair:
    """Two current records of one owner and scope, and how near they are."""

    newer: Record
    older: Record
    cosine: float


def count(actor: Actor, crew_id: str | None = None) -> int:
    """Return how many pairs of a scope would be listed."""
    return len(_nearest(actor, crew_id))


def pairs(actor: Actor, crew_id: str | None = None) -> list[Pair]:
    """Return the nearest pairs among the newest records of a scope."""
    hits = _nearest(actor, crew_id)
    ids = [record_id for newer, older, _ in hits for record_id in (newer, older)]
    rows = reach(None, by=actor, among=ids).in_bulk()
    return [
        Pair(rows[newer], rows[older], cosine)
        for newer, older, cosine in hits
        if newer in rows and older in rows
    ]


def _nearest(actor: Actor, crew_id: str | None) -> list[tuple[str, str, float]]:
    """Return the nearest pairs: the newer record's id, the older's, the cosine."""
    crew = health.scope(actor, crew_id)
    rows = records.current_records(None, by=actor).filter(current_entry__isnull=False)
    if crew:
        rows = rows.filter(crew_id=crew)
    # A pair has one owner and one scope.
    columns = ("current_entry_id", "pk", "crew_id", "agent_id", "scope_key")
    newest = {
        entry_id: (record_id, place)
        for entry_id, record_id, *place in rows.values_list(*columns)[:RECORDS_READ]
    }
    edges = MemoryRelation.objects.filter(
        workspace_id=actor.workspace_id,
        src__in=newest,
        relation=MemoryRelation.Kind.SIMILAR,
        weight__gte=LEAST_COSINE,
    )
    hits = []
    for src, dst, weight in edges.order_by("-weight", "id").values_list(
        "src_id", "dst_id", "weight"
    ):
        # Each record once: what is left of it shows after the first decision.
        newer, older = newest.get(src), newest.get(dst)
        if newer is not None and older is not None and newer[1] == older[1]:
            hits.append((newer[0], older[0], weight))
            del newest[src], newest[dst]
        if len(hits) == LISTED:
            break
    return hits


def merge(
    actor: Actor, newer_id: str, older_id: str, reason: str, crew_id: str | None = None
) -> Record:
    """Replace two records that are still a pair by one with the newer one's text.

    Both stay in the history. Raises Conflict where they are no pair any more.
    """
    actor.require("records.write")
    reason = reason.strip()
    if not reason or "\0" in reason:
        detail = gettext("Replacing records needs a reason.")
        raise errors.Invalid(detail, code="no_reason")
    if len(reason) > REASON_LENGTH:
        raise errors.TooLarge(
            what=pgettext("too large", "reason"), limit=REASON_LENGTH, size=len(reason)
        )
    for pair in pairs(actor, crew_id):
        if (pair.newer.id, pair.older.id) == (newer_id, older_id):
            subjects = [
                subject
                for record in (pair.newer, pair.older)
                for subject in records.subjects_of(record)
            ]
            draft = records.draft_of(
                pair.newer, pair.newer.content, tuple(dict.fromkeys(subjects))
            )
            saved = records.supersede(
                [pair.newer, pair.older],
                draft,
                provenance=Provenance.OPERATOR_CURATED,
                reason=reason,
                by=actor,
            )
            return saved.record
    raise errors.Conflict(gettext("They are no pair any more."), code="no_pair")
