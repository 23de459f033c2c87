"""Memories as rows of AtomicMemory's API."""

from __future__ import annotations

from typing import Any

from memory.integrations.atomicmemory.contract import types
from memory.integrations.atomicmemory.provider import mapping
from memory.integrations.atomicmemory.provider.context_package import Packed, tokens
from memory.integrations.atomicmemory.provider.statistics import MUTATIONS
from memory.integrations.base import moment
from memory.models import Record
from memory.records import Version


def of_memory(memory: types.Memory, importance: float | None = None) -> dict[str, Any]:
    """Return a row; a thread's row names its session, which clients require."""
    source = memory.provenance or types.Provenance()
    row = {
        "id": memory.id,
        "content": memory.content,
        "created_at": moment(memory.created_at),
        "updated_at": moment(memory.updated_at) if memory.updated_at else None,
        "user_id": memory.scope.user,
        "agent_id": memory.scope.agent,
        "session_id": memory.scope.thread,
        "namespace": memory.scope.namespace,
        "source_site": source.source,
        "source_url": source.source_url,
        "importance": importance,
        "metadata": memory.metadata,
    }
    return {name: value for name, value in row.items() if value is not None}


def of_record(record: Record) -> dict[str, Any]:
    row = of_memory(mapping.memory(record), record.confidence)
    return {**row, "episode_id": str(record.current_entry_id or "")}


def of_hit(hit: types.SearchResult) -> dict[str, Any]:
    """Return a hit as a row with its scores; a score of zero is included."""
    scores = hit.model_dump(exclude={"memory"}, exclude_none=True)
    if hit.similarity is not None:
        scores["semantic_similarity"] = hit.similarity
    return of_memory(hit.memory) | scores


def of_version(
    record_id: str, version: Version, successor: str | None = None
) -> dict[str, Any]:
    """Return a version under the client's and the server's field names."""
    end = version.valid_to
    return {
        "id": version.id,
        "content": version.content,
        "created_at": moment(version.created_at),
        "parent_id": version.parent_id,
        "event": version.event,
        "version_id": version.id,
        "claim_id": record_id,
        "memory_id": record_id,
        "content_hash": mapping.digest(version.content),
        "mutation_type": MUTATIONS[version.event],
        "mutation_reason": version.reason or None,
        "actor_model": version.author or None,
        "contradiction_confidence": None,
        "previous_version_id": version.parent_id,
        "superseded_by_version_id": successor,
        "valid_from": moment(version.created_at),
        "valid_to": moment(end) if end else None,
    }


def of_history(record_id: str, versions: list[Version]) -> list[dict[str, Any]]:
    """Return a history, oldest first; each version names its neighbours."""
    successors = [version.id for version in versions[1:]]
    return [
        of_version(record_id, version, successor)
        for version, successor in zip(versions, [*successors, None], strict=True)
    ]


def of_tiers(packed: Packed, hits: list[types.SearchResult]) -> dict[str, Any]:
    """Return each hit's tier (L2 full text, L1 shortened) and the ids to expand."""
    assignments = [
        {
            "memory_id": hit.memory.id,
            "tier": packed.tiers[hit.memory.id],
            "estimated_tokens": tokens(hit.memory.content),
        }
        for hit in hits
        if hit.memory.id in packed.tiers
    ]
    short = [h.memory.id for h in hits if packed.tiers.get(h.memory.id) != "L2"]
    return {"tier_assignments": assignments, "expand_ids": short}
