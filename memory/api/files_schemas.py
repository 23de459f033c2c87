"""Request and response shapes of memory files, their versions, tools and search."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field, StringConstraints

from memory.rules.shapes import Id, Strict

Label = Annotated[str, StringConstraints(min_length=1, max_length=80)]


class ToolOut(Schema):
    """One tool as a model is told of it."""

    name: str
    description: str
    input_schema: dict[str, Any]
    reads_only: bool


class ToolsOut(Schema):
    """The catalogue, in its fixed order."""

    tools: list[ToolOut]


class ErrorOut(Schema):
    """What a model can act on."""

    code: str
    detail: str


class ResultOut(Schema):
    """What a tool answers; ``error`` only when ``ok`` is false."""

    ok: bool
    content: str
    metadata: dict[str, Any]
    error: ErrorOut | None = None


class WhoseQuery(Strict):
    """Whose files: an agent's, or a crew's own."""

    crew_id: Id | None = None
    agent_id: Id | None = None


class PathQuery(WhoseQuery):
    """Which file."""

    path: Label


class VersionsQuery(PathQuery):
    """Which file, and how much of its past."""

    limit: int = Field(50, ge=1, le=500)


class RestoreIn(Strict):
    """Which file to put the version back into."""

    path: Label
    crew_id: Id | None = None
    agent_id: Id | None = None


class FileOut(Schema):
    """A file without its text."""

    label: str
    tier: str
    key: str
    sha256: str
    bytes: int
    cap: int
    usage: str
    held: bool
    updated_at: str


class AgentFilesOut(Schema):
    """An agent's own files."""

    agent_id: str
    agent: str
    files: list[FileOut]


class CrewFilesOut(Schema):
    """A crew's shared files, and its agents'."""

    crew_id: str
    crew: str
    files: list[FileOut]
    agents: list[AgentFilesOut]


class TreeOut(Schema):
    """Every file the caller may see."""

    crews: list[CrewFilesOut]


class TextOut(Schema):
    """A file with its text; ``held`` when a newer text waits for review."""

    label: str
    content: str
    sha256: str
    bytes: int
    cap: int
    usage: str
    held: bool


class VersionOut(Schema):
    """One state of a file; ``sha256`` empty says that it was removed."""

    id: str
    number: int
    sha256: str
    parent_sha256: str | None
    bytes: int
    written_at: str
    written_by: str
    source: str
    note: str


class VersionsOut(Schema):
    """A file's past, newest first."""

    items: list[VersionOut]
    next_cursor: str | None = None


class HybridIn(Strict):
    """A question to files and journal."""

    query: Annotated[str, Field(strict=True, min_length=1, max_length=4_000)]
    limit: int = Field(10, ge=1, le=50)
    scope: Literal["own", "crew_shared"] | None = None
    crew_id: Id | None = None


class HybridHitOut(Schema):
    """One answer; the fields beside the score depend on the source."""

    source: Literal["file", "journal"]
    score: float
    snippet: str
    label: str | None = None
    line: int | None = None
    heading: str | None = None
    entry_id: str | None = None
    entry_type: str | None = None
    ts: str | None = None
    crew_id: str | None = None
    agent_id: str | None = None
    via: str | None = None


class HybridOut(Schema):
    """Hits of both sources, best first."""

    query: str
    hits: list[HybridHitOut]
