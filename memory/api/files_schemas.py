"""Request and response shapes of memory files, their versions, tools and search."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field, StringConstraints

from memory.api.shapes import Out, Stamp
from memory.models import MemoryVersion
from memory.rules.shapes import Id, Strict

Label = Annotated[str, StringConstraints(min_length=1, max_length=80)]


class ToolOut(Schema):
    """One tool, as a model gets its description."""

    name: str
    description: str
    input_schema: dict[str, Any] = Field(validation_alias="schema")
    reads_only: bool


class ToolsOut(Schema):
    """The tools, always in the same order."""

    tools: list[ToolOut]


class ErrorOut(Out):
    """An error that a model can correct."""

    code: str
    detail: str


class ResultOut(Out):
    """The result of a tool call; ``error`` is set only when ``ok`` is false."""

    ok: bool
    content: str
    metadata: dict[str, Any]
    error: ErrorOut | None = None


class WhoseQuery(Strict):
    """The owner of the files: an agent, or a crew for its shared files."""

    crew_id: Id | None = None
    agent_id: Id | None = None


class PathQuery(WhoseQuery):
    """A file by its owner and path."""

    path: Label


class VersionsQuery(PathQuery):
    """A file, and how many of its versions."""

    limit: int = Field(50, ge=1, le=500)


class RestoreIn(Strict):
    """The file to restore the version into."""

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
    updated_at: Stamp


class AgentFilesOut(Schema):
    """An agent's own files."""

    agent_id: str
    agent: str
    files: list[FileOut]


class CrewFilesOut(Schema):
    """A crew's shared files and the files of its agents."""

    crew_id: str
    crew: str
    files: list[FileOut]
    agents: list[AgentFilesOut]


class TreeOut(Schema):
    """Every file that the caller may see."""

    crews: list[CrewFilesOut]


class TextOut(Schema):
    """A file with its text; ``held`` is true while a newer text waits for review."""

    label: str
    content: str
    sha256: str
    bytes: int
    cap: int
    usage: str
    held: bool


class VersionOut(Schema):
    """One version of a file; an empty ``sha256`` means that the file was removed."""

    id: str
    number: int
    sha256: str
    parent_sha256: str | None
    bytes: int
    written_at: Stamp
    written_by: str
    source: str
    note: str

    @staticmethod
    def resolve_parent_sha256(row: MemoryVersion) -> str | None:
        return row.parent.sha256 if row.parent else None


class VersionsOut(Schema):
    """The versions of a file, newest first."""

    items: list[VersionOut]
    next_cursor: str | None = None


class HybridIn(Strict):
    """A search over files and journal."""

    query: Annotated[str, Field(strict=True, min_length=1, max_length=4_000)]
    limit: int = Field(10, ge=1, le=50)
    scope: Literal["own", "crew_shared"] | None = None
    crew_id: Id | None = None


class HybridHitOut(Schema):
    """One hit; which fields are set depends on the source."""

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
