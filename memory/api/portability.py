"""Export and import of memory files over the API, for admins."""

from __future__ import annotations

from typing import Any, Literal

from ninja import Router, Schema
from pydantic import Field

from memory import workspace_tree
from memory.api.request import ApiRequest
from memory.files import bundle_format, import_export
from memory.files.import_export import Scope
from memory.rules.permissions import Actor
from memory.rules.shapes import Strict

router = Router(tags=["files"])


class ExportIn(Strict):
    """What to export; without a crew or agent, the whole workspace."""

    crew_id: str | None = None
    agent_id: str | None = None


class DocumentIn(Strict):
    """One document in the format of an export."""

    path: str = Field(max_length=300)
    body: str = Field(max_length=bundle_format.DOCUMENT_BYTES)
    label: str = Field("", max_length=80)
    crew: str | None = Field(None, max_length=64)
    agent: str | None = Field(None, max_length=64)
    tier: str | None = Field(None, max_length=20)
    scope: str | None = Field(None, max_length=20)
    sha256: str | None = Field(None, max_length=64)


class ImportIn(Strict):
    """Documents, their target, and whether to write them."""

    documents: list[DocumentIn] = Field(max_length=bundle_format.MEMBERS)
    format: str | None = Field(None, max_length=60)
    version: int | None = None
    workspace: str | None = Field(None, max_length=64)
    crew_id: str | None = None
    agent_id: str | None = None
    apply: bool = False


class DocumentOut(Schema):
    """One exported file."""

    path: str
    label: str
    crew: str
    agent: str | None
    sha256: str
    body: str


class ExportOut(Schema):
    """An export; an import accepts it unchanged."""

    format: str
    version: int
    workspace: str
    documents: list[DocumentOut]


class ItemOut(Schema):
    """The result, or the planned result, for one document."""

    path: str
    target: str
    action: Literal["new", "replace", "same", "refused"]
    outcome: str
    size: int
    reason: str
    held_id: str | None


class ImportOut(Schema):
    """The plan of an import, or its result when ``applied``."""

    applied: bool
    counts: dict[str, int]
    documents: list[ItemOut]


def _scope(actor: Actor, crew_id: str | None, agent_id: str | None) -> Scope:
    actor.require("files.import")
    workspace = workspace_tree.workspace(actor)
    if agent_id is not None:
        agent = workspace_tree.agent(actor, agent_id)
        return Scope(workspace, agent.crew, agent)
    crew = workspace_tree.crew(actor, crew_id) if crew_id is not None else None
    return Scope(workspace, crew)


@router.post("/export", response=ExportOut, operation_id="export_files")
def export_files(request: ApiRequest, data: ExportIn) -> dict[str, Any]:
    """Return every memory file of the workspace, a crew or an agent."""
    scope = _scope(request.auth, data.crew_id, data.agent_id)
    documents = import_export.export(scope, by=request.auth)
    return import_export.as_json(documents, scope.workspace)


@router.post("/import", response=ImportOut, operation_id="import_files")
def import_files(request: ApiRequest, data: ImportIn) -> dict[str, Any]:
    """Plan an import; with ``apply``, write each document independently."""
    scope = _scope(request.auth, data.crew_id, data.agent_id)
    entries = [document.model_dump() for document in data.documents]
    items = import_export.plan(
        bundle_format.from_entries(entries), scope, by=request.auth
    )
    if data.apply:
        items = import_export.apply(items, by=request.auth)
    counts, documents = import_export.tally(items), [item.as_dict() for item in items]
    return {"applied": data.apply, "counts": counts, "documents": documents}
