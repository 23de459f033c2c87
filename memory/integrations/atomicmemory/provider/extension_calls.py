"""The extensions as a door calls them: plain values in, JSON out.

Whose memory it is was settled by the binding. A scope names the user at least, as the
contract has it; everything else about the request is the provider's to judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from memory.integrations.atomicmemory.contract import reading, types
from memory.integrations.atomicmemory.provider.insights import Maker
from memory.integrations.atomicmemory.provider.provider import Remembering
from memory.providers import ownership
from memory.providers.base import Bound
from memory.rules import errors

MOST: Final = 100
Given = Mapping[str, Any]


def _ready(bound: Bound) -> Remembering:
    provider = Remembering(bound.by, ownership.owner(bound))
    provider.initialize()
    return provider


def _permit(bound: Bound, scope: types.Scope) -> None:
    """Refuse the scope of another user than the one whom the request names."""
    user = bound.by.end_user
    if user and scope.user != user:
        detail = "The request names an end user, and the scope another one."
        raise errors.Forbidden(detail, code="other_end_user")


def _scope(bound: Bound, given: Given) -> types.Scope:
    scope = reading.read(types.Scope, given)
    _permit(bound, scope)
    return scope


def _plain(shape: types.Shape) -> dict[str, Any]:
    return shape.model_dump(mode="json", exclude_none=True)


def _maker(maker: Maker) -> dict[str, Any]:
    return asdict(maker)


def reflect(bound: Bound, query: str, scope: Given) -> dict[str, Any]:
    """Return conclusions that answer a question, and who drew them."""
    found = _ready(bound).ponder(query, _scope(bound, scope))
    told = [_plain(one) for one in found.insights]
    return {"insights": told, "maker": _maker(found.maker)}


def profile(bound: Bound, scope: Given, instructions: str = "") -> dict[str, Any]:
    """Return what the memories of a scope tell of whom they are about."""
    found = _ready(bound).portray(_scope(bound, scope), instructions or None)
    empty: dict[str, Any] = {"facts": [], "updated_at": None}
    return {**empty, **_plain(found.profile), "maker": _maker(found.maker)}


def graph(bound: Bound, asked: Given) -> dict[str, Any]:
    """Return the graph around what a question finds."""
    request = reading.read(types.GraphSearchRequest, asked)
    _permit(bound, request.scope)
    found = _ready(bound).search_graph(request)
    edges = [_plain(one) for one in found.edges]
    return {
        "nodes": [_plain(one) for one in found.nodes],
        "edges": [{**one, "from": one.pop("from_")} for one in edges],
    }


def batch(
    bound: Bound, inputs: Sequence[Given] = (), refs: Sequence[Given] = ()
) -> dict[str, Any]:
    """Keep all inputs or none, or delete memories; one of the two, 100 at most."""
    if bool(inputs) == bool(refs):
        detail = "Name inputs to keep, or refs to delete: one of the two."
        raise errors.Invalid(detail, code="exactly_one")
    if len(inputs) > MOST or len(refs) > MOST:
        detail = f"A batch holds {MOST} at most."
        raise errors.Invalid(detail, code="too_many")
    provider = _ready(bound)
    if refs:
        named = [reading.read(types.MemoryRef, one) for one in refs]
        for ref in named:
            _permit(bound, ref.scope)
        provider.batch_delete(named)
        return {"results": [], "deleted": [one.id for one in named]}
    given = [reading.read_ingest(one) for one in inputs]
    for ingest in given:
        _permit(bound, ingest.scope)
    done = provider.batch_ingest(given)
    return {"results": [_plain(one) for one in done], "deleted": []}
