"""The provider contract over HTTP, for agents and for other servers."""

from __future__ import annotations

from typing import Any

from ninja import Query, Router

from memory import workspace_tree
from memory.api import provider_schemas as schemas
from memory.api.request import ApiRequest
from memory.integrations.atomicmemory.provider import extension_calls
from memory.providers import base, deadline, ownership, registry
from memory.providers.base import Binding, Provider
from memory.rules.permissions import Actor

router = Router(tags=["provider"])


def _bind(by: Actor, data: schemas.OwnerIn, action: str = "provider.use") -> Binding:
    by.require(action)
    return ownership.bind(
        by,
        workspace_id=data.workspace_id,
        agent_id=data.agent_id,
        crew_id=data.crew_id,
    )


def _provider(by: Actor, binding: Binding) -> Provider:
    return registry.provider(workspace_tree.workspace(by), binding)


@router.post("/retain", response=schemas.RetainedOut, operation_id="provider_retain")
def retain(request: ApiRequest, data: schemas.RetainIn) -> base.Retained:
    """Store a text."""
    by = request.auth
    binding = _bind(by, data)
    return _provider(by, binding).retain(base.Retain(**data.model_dump()))


@router.post(
    "/recall",
    response=schemas.RecalledOut,
    operation_id="provider_recall",
    exclude_none=True,
)
def recall(request: ApiRequest, data: schemas.ProviderRecallIn) -> base.Recalled:
    """Search the stored texts."""
    by = request.auth
    binding = _bind(by, data)
    return _provider(by, binding).recall(base.Recall(**data.model_dump()))


@router.post("/forget", response=schemas.ForgottenOut, operation_id="provider_forget")
def forget(request: ApiRequest, data: schemas.ForgetIn) -> base.Forgotten:
    """Remove one item, or every item that names a data subject.

    An agent removes from its own memory. Removal by data subject is for compliance: it
    covers the memory of the agent or crew that is named, else the whole workspace.
    """
    by = request.auth
    action = "provider.forget_subject" if data.data_subject_id else "provider.use"
    binding = _bind(by, data, action)
    forget_request = base.Forget(
        workspace_id=data.workspace_id,
        id=data.id,
        data_subject_id=data.data_subject_id,
    )
    return _provider(by, binding).forget(forget_request)


@router.get(
    "/health",
    response=schemas.PulseOut,
    operation_id="provider_health",
    exclude_none=True,
)
def health(request: ApiRequest, query: Query[schemas.HealthQuery]) -> base.HealthStatus:
    """Check the workspace's provider within its deadline."""
    by = request.auth
    owner = schemas.OwnerIn(workspace_id=by.workspace_id, **query.model_dump())
    binding = _bind(by, owner)
    workspace = workspace_tree.workspace(by)
    seconds = registry.entry(registry.workspace_provider(workspace)).seconds
    return deadline.check_health(registry.provider(workspace, binding), seconds)


# ── The extensions ───────────────────────────────────────────────────────────
@router.post("/reflect", response=schemas.ReflectedOut, operation_id="provider_reflect")
def reflect(request: ApiRequest, data: schemas.ReflectIn) -> dict[str, Any]:
    """Return conclusions from the records that match a query, each with its ids."""
    binding = _bind(request.auth, data)
    return extension_calls.reflect(binding, data.query, data.scope.non_empty())


@router.post("/profile", response=schemas.ProfiledOut, operation_id="provider_profile")
def profile(request: ApiRequest, data: schemas.ProfileIn) -> dict[str, Any]:
    """Describe the person that a scope's records are about, each fact with its ids."""
    binding = _bind(request.auth, data)
    return extension_calls.profile(binding, data.scope.non_empty(), data.instructions)


@router.post(
    "/graph",
    response=schemas.GraphOut,
    operation_id="provider_graph",
    by_alias=True,
    exclude_none=True,
)
def graph(request: ApiRequest, data: schemas.GraphIn) -> dict[str, Any]:
    """Return matching records with the people they name and their source entries."""
    binding = _bind(request.auth, data)
    params = {
        "query": data.query,
        "scope": data.scope.non_empty(),
        "limit": data.limit,
        "graph_scope": data.graph_scope,
    }
    return extension_calls.graph(binding, params)


@router.post("/batch", response=schemas.BatchedOut, operation_id="provider_batch")
def batch(request: ApiRequest, data: schemas.BatchIngestIn) -> dict[str, Any]:
    """Store several inputs, all or none, or delete records; at most 100."""
    binding = _bind(request.auth, data)
    refs = [{"id": ref.id, "scope": ref.scope.non_empty()} for ref in data.refs]
    return extension_calls.batch(binding, data.inputs, refs)
