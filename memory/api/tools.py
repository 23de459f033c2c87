"""PromptKit's tools by name: their descriptors, and calls with plain JSON."""

from __future__ import annotations

from typing import Any

from ninja import Body, Router, Schema

from memory.api.request import ApiRequest
from memory.integrations import agent_tools

router = Router(tags=["tools"])


class DescriptorOut(Schema):
    """A tool as a host registers it."""

    name: str
    namespace: str
    mode: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]


class DescriptorsOut(Schema):
    """Recall, remember, list, forget, history and revise, in this order."""

    tools: list[DescriptorOut]


@router.get("", response=DescriptorsOut, operation_id="list_tools")
def list_tools(request: ApiRequest) -> dict[str, Any]:
    """List the tools with their input and output schemas.

    Empty where the workspace requires an end user and the request names none.
    """
    return {"tools": agent_tools.descriptors(request.auth)}


@router.post("/{tool}", response=dict[str, Any], operation_id="call_tool")
def call_tool(
    request: ApiRequest, tool: str, data: Body[dict[str, Any]]
) -> dict[str, Any]:
    """Call a tool with its arguments; the answer is its result, unchanged."""
    return agent_tools.call_by_name(tool, data, by=request.auth)
