"""Memory files over the API: tools, tree, text, versions and search."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from ninja import Body, Query, Router

from memory.api import files_schemas as schemas
from memory.api.request import ApiRequest
from memory.files import access as file_access
from memory.files import reading, tools, versions
from memory.files import search as file_search
from memory.models import MemoryFile, MemoryVersion
from memory.rules import errors, tiers

router = Router(tags=["files"])


# ── Tools ────────────────────────────────────────────────────────────────────
@router.get("/tools", response=schemas.ToolsOut, operation_id="list_memory_tools")
def list_tools(request: ApiRequest) -> dict[str, Any]:
    """List the tools with their schemas; empty where a gateway keeps the memory."""
    request.auth.require("files.read")
    return {"tools": tools.offered(request.auth)}


@router.post(
    "/tools/{name}",
    response=schemas.ResultOut,
    operation_id="call_memory_tool",
    exclude_none=True,
)
def call_tool(
    request: ApiRequest, name: str, data: Body[dict[str, Any]]
) -> tools.Result:
    """Call a tool; an error that a model can correct is a result with ok false."""
    return tools.call(name, data, by=request.auth)


# ── Files ────────────────────────────────────────────────────────────────────
def _file(row: MemoryFile, tree: file_access.Tree) -> dict[str, Any]:
    cap = tiers.RULES[tiers.Tier(row.tier)].cap
    return {
        "label": row.label,
        "tier": row.tier,
        "key": row.key,
        "sha256": row.sha256,
        "bytes": row.bytes,
        "cap": cap,
        "usage": tiers.usage(row.bytes, cap),
        "held": tree.is_held(row),
        "updated_at": row.updated_at,
    }


@router.get("/files", response=schemas.TreeOut, operation_id="list_memory_files")
def list_files(request: ApiRequest, query: Query[schemas.WhoseQuery]) -> dict[str, Any]:
    """List files by crew and agent."""
    tree = file_access.tree(
        request.auth, agent_id=query.agent_id, crew_id=query.crew_id
    )
    crews = [
        {
            "crew_id": branch.crew.id,
            "crew": branch.crew.slug,
            "files": [_file(row, tree) for row in branch.files],
            "agents": [
                {
                    "agent_id": agent.id,
                    "agent": agent.slug,
                    "files": [_file(row, tree) for row in rows],
                }
                for agent, rows in branch.agents
            ],
        }
        for branch in tree.branches
    ]
    return {"crews": crews}


@router.get(
    "/files/{path:label}", response=schemas.TextOut, operation_id="read_memory_file"
)
def read_file(
    request: ApiRequest, label: str, query: Query[schemas.WhoseQuery]
) -> dict[str, Any]:
    """Read the newest text of a file that passed the scanner."""
    by = request.auth
    owner = file_access.owner(by, agent_id=query.agent_id, crew_id=query.crew_id)
    text = file_access.text(owner, label, by=by)
    return {
        "label": text.label,
        "content": text.text,
        "sha256": text.sha256,
        "bytes": text.size,
        "cap": text.cap,
        "usage": tiers.usage(text.size, text.cap),
        "held": reading.quarantined(owner, file_access.place(label, owner)),
    }


# ── Versions ─────────────────────────────────────────────────────────────────
def _requested_file(
    request: ApiRequest, data: schemas.PathQuery | schemas.RestoreIn
) -> MemoryFile:
    owner = file_access.owner(
        request.auth, agent_id=data.agent_id, crew_id=data.crew_id
    )
    return file_access.file(owner, data.path, by=request.auth)


@router.get(
    "/versions", response=schemas.VersionsOut, operation_id="list_memory_versions"
)
def list_versions(
    request: ApiRequest, query: Query[schemas.VersionsQuery]
) -> dict[str, Any]:
    """List a file's versions, newest first."""
    rows = versions.log(_requested_file(request, query), query.limit)
    return {"items": rows, "next_cursor": None}


@router.get("/versions/{sha}", operation_id="read_memory_version")
def read_version(
    request: ApiRequest, sha: str, query: Query[schemas.PathQuery]
) -> HttpResponse:
    """Read a version's bytes, verified against their hash."""
    row = file_access.version(_requested_file(request, query), sha)
    answer = HttpResponse(versions.read(row), content_type="text/plain; charset=utf-8")
    answer["X-Content-Type-Options"] = "nosniff"
    answer["ETag"] = f'"{row.sha256}"'
    return answer


@router.post(
    "/versions/{sha}/restore",
    response=schemas.VersionOut,
    operation_id="restore_memory_version",
)
def restore_version(
    request: ApiRequest, sha: str, data: schemas.RestoreIn
) -> MemoryVersion:
    """Restore a version as a new version; operators only."""
    request.auth.require("files.restore")
    result = file_access.restore(_requested_file(request, data), sha, by=request.auth)
    return result.version


# ── Search ───────────────────────────────────────────────────────────────────
@router.post(
    "/search/hybrid",
    response=schemas.HybridOut,
    operation_id="search_hybrid",
    exclude_none=True,
)
def search_hybrid(request: ApiRequest, data: schemas.HybridIn) -> dict[str, Any]:
    """Search files and journal together."""
    if data.scope == "own" and not request.auth.is_agent:
        detail = "The scope own is for agents; a person names a crew_id or nothing."
        raise errors.Invalid(detail, code="scope_needs_agent")
    hits = file_search.search(
        data.query,
        limit=data.limit,
        scope=data.scope,
        crew_id=data.crew_id,
        by=request.auth,
    )
    return {
        "query": data.query,
        "hits": [
            {
                "source": hit.source,
                "score": hit.score,
                "snippet": hit.snippet,
                **hit.where,
            }
            for hit in hits
        ],
    }
