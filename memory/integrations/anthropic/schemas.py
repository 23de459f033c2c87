"""The six commands of the memory tool, as its clients send them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, RootModel

from memory.integrations.anthropic.filesystem import LINES
from memory.rules.shapes import Strict

Path = Annotated[str, Field(strict=True, max_length=400)]
Text = Annotated[str, Field(strict=True)]
Number = Annotated[int, Field(strict=True, ge=-1, le=LINES)]


class ViewIn(Strict):
    command: Literal["view"]
    path: Path
    view_range: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = None


class CreateIn(Strict):
    command: Literal["create"]
    path: Path
    file_text: Text


class ReplaceIn(Strict):
    command: Literal["str_replace"]
    path: Path
    old_str: Text
    new_str: Text = ""


class InsertIn(Strict):
    command: Literal["insert"]
    path: Path
    insert_line: Annotated[int, Field(strict=True)]
    insert_text: Text


class DeleteIn(Strict):
    command: Literal["delete"]
    path: Path


class RenameIn(Strict):
    command: Literal["rename"]
    old_path: Path
    new_path: Path


Command = ViewIn | CreateIn | ReplaceIn | InsertIn | DeleteIn | RenameIn


class CommandIn(RootModel[Annotated[Command, Field(discriminator="command")]]):
    """One of the six commands."""
