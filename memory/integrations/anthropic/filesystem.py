"""The memory tool of Anthropic's models over records: a small tree of text files.

A file is a record whose external id is its path below ``/memories``; so it is scanned,
versioned, searched and forgotten like any other. Messages use the wording those models
know. Paths are names in a table and never touch a disk. The tool's commands name no
conversation, so their journal entries have no trace id.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from django.db import transaction

from memory import records
from memory.files.paths import Owner
from memory.models import Record
from memory.records import Criteria, Match, Provenance
from memory.records.drafts import Draft, Scope
from memory.rules import entries, errors
from memory.rules.permissions import Actor

ROOT: Final = "/memories"
KIND: Final = "file"
FILES_SCOPE: Final = Scope(namespace="memories")
LINES: Final = 999_999
PATH_CHARS: Final = 128
DEPTH: Final = 2
WIDTH: Final = 6


class ToolError(errors.Invalid):
    """A refused command, in the wording that models know."""

    code = "tool_error"


def _no_such_path(path: str) -> ToolError:
    return ToolError(f"The path {path} does not exist. Please provide a valid path.")


def relative_name(path: str) -> str:
    """Return a path as a name below the root, "" for the root itself."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError("Path must start with /memories.")
    parts = path[len(ROOT) :].strip("/").split("/")
    if parts == [""]:
        return ""
    bad = any(part in ("", ".", "..") or "\\" in part or "%" in part for part in parts)
    name = "/".join(parts)
    if bad or not entries.is_storable(name) or not name.isprintable():
        raise ToolError("The path is no plain path below /memories.")
    if len(name) > PATH_CHARS:
        raise ToolError(f"A path is {PATH_CHARS} characters at most.")
    return name


def _size(count: int) -> str:
    return f"{count}B" if count < 1024 else f"{count / 1024:.1f}K"


def _numbered(lines: list[str], first: int = 1) -> str:
    return "\n".join(
        f"{number:>{WIDTH}}\t{line}" for number, line in enumerate(lines, first)
    )


def _lines_of(part: str, text: str) -> list[str]:
    """Return the numbers of the lines where a part begins, each once."""
    lines, number, at = dict[str, None](), 1, 0
    for match in re.finditer(re.escape(part), text):
        number += text.count("\n", at, match.start())
        at = match.start()
        lines[str(number)] = None
    return list(lines)


@dataclass(frozen=True, slots=True)
class FileTree:
    """One agent's files."""

    by: Actor
    owner: Owner | None

    # ── Reading ──────────────────────────────────────────────────────────────
    def files(self, folder: str = "") -> list[Record]:
        """Return the files of a folder and of those below it, by path."""
        query = Criteria(
            owner=self.owner, scope=FILES_SCOPE, match=Match.EXACT, kinds=(KIND,)
        )
        start = f"{folder}/" if folder else ""
        rows = records.every(query, by=self.by)
        inside = [row for row in rows if row.external_id.startswith(start)]
        return sorted(inside, key=lambda row: row.external_id)

    def _file(self, name: str) -> Record | None:
        if not name:
            return None
        row = records.by_external(name, owner=self.owner, scope=FILES_SCOPE, by=self.by)
        return row if row is not None and records.is_safe(row) else None

    def _existing_file(self, path: str) -> Record:
        name = relative_name(path)
        row = self._file(name)
        if row is None and (not name or self.files(name)):
            raise ToolError(f"The path {path} is not a file.")
        if row is None:
            raise _no_such_path(path)
        return row

    def _folder(self, path: str, name: str) -> str:
        inside = self.files(name)
        if name and not inside:
            raise _no_such_path(path)
        sizes: dict[str, int] = {}
        for row in inside:
            rest = row.external_id[len(name) + 1 if name else 0 :].split("/")
            for depth in range(1, min(DEPTH, len(rest)) + 1):
                at = "/".join(rest[:depth]) + ("/" if depth < len(rest) else "")
                sizes[at] = sizes.get(at, 0) + len(row.content.encode())
        total = _size(sum(len(row.content.encode()) for row in inside))
        lines = [f"{total}\t{path}"]
        lines += [
            f"{_size(sizes[at])}\t{path.rstrip('/')}/{at}" for at in sorted(sizes)
        ]
        return (
            f"Here're the files and directories up to {DEPTH} levels deep in {path},"
            " excluding hidden items:\n" + "\n".join(lines)
        )

    def view(self, path: str, view_range: list[int] | None = None) -> str:
        """Show a file with line numbers, or a folder."""
        name = relative_name(path)
        row = self._file(name)
        if row is None:
            return self._folder(path, name)
        lines = row.content.split("\n")
        first, last = 1, len(lines)
        if view_range is not None:
            first = max(1, view_range[0])
            last = len(lines) if view_range[1] < 0 else view_range[1]
        excerpt = _numbered(lines[first - 1 : last], first)
        return f"Here's the content of {path} with line numbers:\n{excerpt}"

    # ── Changing ─────────────────────────────────────────────────────────────
    def _draft(self, name: str, text: str) -> Draft:
        if text.count("\n") >= LINES:
            raise ToolError("The file exceeds the maximum line limit of 999,999 lines.")
        return Draft(
            content=text,
            owner=self.owner,
            kind=KIND,
            scope=FILES_SCOPE,
            external_id=name,
        )

    def _free_name(self, path: str, refusal: str) -> str:
        name = relative_name(path)
        if not name or self._file(name) or self.files(name):
            raise ToolError(refusal)
        return name

    def create(self, path: str, file_text: str) -> str:
        """Create a file; an existing one is refused."""
        name = self._free_name(path, f"File {path} already exists")
        draft = self._draft(name, file_text)
        records.save(draft, provenance=Provenance.USER_REQUESTED, by=self.by)
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old_str: str, new_str: str) -> str:
        """Replace a text that occurs in a file exactly once."""
        row = self._existing_file(path)

        def change(text: str) -> str:
            count = text.count(old_str) if old_str else 0
            if count == 1:
                return text.replace(old_str, new_str)
            if not count:
                raise ToolError(
                    f"No replacement was performed, old_str `{old_str[:200]}` did not"
                    f" appear verbatim in {path}."
                )
            raise ToolError(
                "No replacement was performed. Multiple occurrences of old_str"
                f" `{old_str[:200]}` in lines: {', '.join(_lines_of(old_str, text))}."
                " Please ensure it is unique"
            )

        at = row.content.split(old_str)[0].count("\n") if old_str else 0
        revised = records.revise(
            row, change, provenance=Provenance.USER_REQUESTED, by=self.by
        )
        lines = revised.content.split("\n")
        first = max(0, at - 2)
        snippet = _numbered(lines[first : at + 3], first + 1)
        return (
            "The memory file has been edited. Here is the snippet showing the change"
            f" (with line numbers):\n{snippet}"
        )

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Insert lines below a line; 0 is the beginning."""

        def change(text: str) -> str:
            lines = text.split("\n")
            if not 0 <= insert_line <= len(lines):
                raise ToolError(
                    f"Invalid `insert_line` parameter: {insert_line}."
                    f" It should be within the range [0, {len(lines)}]."
                )
            new = insert_text.removesuffix("\n").split("\n")
            return "\n".join(lines[:insert_line] + new + lines[insert_line:])

        row, provenance = self._existing_file(path), Provenance.USER_REQUESTED
        records.revise(row, change, provenance=provenance, by=self.by)
        return f"The file {path} has been edited."

    def _files_at(self, path: str, verb: str) -> tuple[str, list[Record]]:
        """Return a path's name, and its file or the files of its folder."""
        name = relative_name(path)
        if not name:
            raise ToolError(f"Cannot {verb} the /memories directory itself")
        row = self._file(name)
        rows = [row] if row is not None else self.files(name)
        if not rows:
            raise ToolError(f"The path {path} does not exist")
        return name, rows

    def delete(self, path: str) -> str:
        """Forget a file, or a folder with its contents."""
        _, rows = self._files_at(path, "delete")
        with transaction.atomic():
            for file in rows:
                records.forget(file, reason="deleted by the memory tool", by=self.by)
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        """Move a file or a folder to an unused path."""
        name, rows = self._files_at(old_path, "rename")
        new_name = self._free_name(
            new_path, f"The destination {new_path} already exists"
        )
        if new_name.startswith(f"{name}/"):
            raise ToolError("A folder cannot be moved into itself.")
        provenance, drafts = Provenance.USER_REQUESTED, []
        for file in rows:
            relative_name(f"{ROOT}/{new_name}{file.external_id[len(name) :]}")
            draft = self._draft(new_name + file.external_id[len(name) :], file.content)
            drafts.append(records.prepare(draft, provenance=provenance, by=self.by))
        with transaction.atomic():
            for file, draft in zip(rows, drafts, strict=True):
                records.forget(file, reason=f"renamed to {new_name}"[:200], by=self.by)
                records.keep(draft, provenance=provenance, by=self.by)
        return f"Successfully renamed {old_path} to {new_path}"
