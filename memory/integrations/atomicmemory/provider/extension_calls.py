"""The extensions for the API and tools: plain values in, JSON out.

The binding decides whose memory it is. A scope names the user at least, as the contract
requires; the provider validates the rest of the request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from memory.integrations.atomicmemory.contract import reading, types
from memory.integrations.atomicmemory.provider.provider import NativeProvider
from memory.providers import ownership
from memory.providers.base import Binding
from memory.rules import errors

MAX_BATCH: Final = 100
RequestData = Mapping[str, Any]


def _ready(binding: Binding) -> NativeProvider:
    provider = NativeProvider(binding.by, ownership.owner(binding))
    provider.initialize()
    return provider


def _permit(binding: Binding, scope: types.Scope) -> None:
    """Raise Forbidden when the scope names another user than the request."""
    user = binding.by.end_user
    if user and scope.user != user:
        detail = "The request names an end user, and the scope another one."
        raise errors.Forbidden(detail, code="other_end_user")


def _scope(binding: Binding, data: RequestData) -> types.Scope:
    scope = reading.read(types.Scope, data)
    _permit(binding, scope)
    return scope


def _plain(shape: types.Shape) -> dict[str, Any]:
    return shape.model_dump(mode="json", exclude_none=True)


def reflect(binding: Binding, query: str, scope: RequestData) -> dict[str, Any]:
    """Return conclusions that answer a query, and what made them."""
    reflection = _ready(binding).reflect_with_maker(query, _scope(binding, scope))
    insights = [_plain(insight) for insight in reflection.insights]
    return {"insights": insights, "maker": asdict(reflection.maker)}


def profile(
    binding: Binding, scope: RequestData, instructions: str = ""
) -> dict[str, Any]:
    """Return the profile of a scope, and what made its summary."""
    result = _ready(binding).profile_with_maker(
        _scope(binding, scope), instructions or None
    )
    empty: dict[str, Any] = {"facts": [], "updated_at": None}
    return {**empty, **_plain(result.profile), "maker": asdict(result.maker)}


def graph(binding: Binding, data: RequestData) -> dict[str, Any]:
    """Return the graph around the hits of a query."""
    request = reading.read(types.GraphSearchRequest, data)
    _permit(binding, request.scope)
    result = _ready(binding).search_graph(request)
    edges = [_plain(item) for item in result.edges]
    return {
        "nodes": [_plain(item) for item in result.nodes],
        "edges": [{**item, "from": item.pop("from_")} for item in edges],
    }


def batch(
    binding: Binding,
    inputs: Sequence[RequestData] = (),
    refs: Sequence[RequestData] = (),
) -> dict[str, Any]:
    """Store all inputs or none, or delete memories: one of the two, 100 at most."""
    if bool(inputs) == bool(refs):
        detail = "Send inputs to store, or refs to delete: one of the two."
        raise errors.Invalid(detail, code="exactly_one")
    if len(inputs) > MAX_BATCH or len(refs) > MAX_BATCH:
        detail = f"A batch holds {MAX_BATCH} at most."
        raise errors.Invalid(detail, code="too_many")
    provider = _ready(binding)
    if refs:
        memory_refs = [reading.read(types.MemoryRef, item) for item in refs]
        for ref in memory_refs:
            _permit(binding, ref.scope)
        provider.batch_delete(memory_refs)
        return {"results": [], "deleted": [item.id for item in memory_refs]}
    ingests = [reading.read_ingest(item) for item in inputs]
    for ingest in ingests:
        _permit(binding, ingest.scope)
    results = provider.batch_ingest(ingests)
    return {"results": [_plain(item) for item in results], "deleted": []}
