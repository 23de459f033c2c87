"""Excerpts of rows that only the second matcher found, for a person to decide on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from gdpr.data_map import row_text
from gdpr.data_map.base import SAMPLE_CHARS, Person
from gdpr.verification import raw_rows, second_search
from gdpr.verification.second_matcher import SEAM, SecondMatcher
from memory.files.versions import blob_parts
from memory.models import MemoryFile, MemoryVersion
from memory.rules import errors
from memory.stored_files import trees

# Two excerpts overlap, so that a name at the end of one is whole in the next.
STEP: Final = SAMPLE_CHARS // 2
# What is beyond is not looked at: a sample does not have to be found.
MAX_CHARS: Final = 200_000


def of(person: Person, places: Sequence[str]) -> dict[str, str]:
    """Return ``Trace.where`` → an excerpt of the row around the name, others masked.

    A row that is gone has none. Of a name that is encoded over a longer stretch the
    beginning of the row is shown.
    """
    if not places:
        return {}
    matcher = second_search.matcher_of(person)
    by_table: dict[str, dict[str, str]] = defaultdict(dict)
    for where in places:
        table, key, _ = second_search.row_of(where)
        by_table[table][key] = where
    samples: dict[str, str] = {}
    for file_id, text in _file_texts(person, list(by_table.pop("", {}))):
        samples[file_id] = samples.get(file_id) or _excerpt(person, matcher, text)
    for raw_table in raw_rows.tables():
        keys = by_table.get(raw_table.name, {})
        for row in _rows(raw_table, person, list(keys)):
            text = SEAM.join(part for part in (row.text, row.facts) if part)
            if row.key in keys:
                samples[keys[row.key]] = _excerpt(person, matcher, text) or _readable(
                    person, text[:SAMPLE_CHARS]
                )
    return samples


def _rows(
    table: raw_rows.RawTable, person: Person, keys: Sequence[str]
) -> Iterator[raw_rows.Row]:
    if not keys:
        return
    for batch in raw_rows.batches(
        table,
        second_search.left_out(table),
        person.workspace_id,
        person.subject_id,
        keys=keys,
    ):
        yield from map(batch.row, range(len(batch)))


def _file_texts(person: Person, ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the texts of memory files, each with its file's id, the live one first."""
    of_workspace = {"workspace_id": person.workspace_id}
    files = MemoryFile.objects.filter(**of_workspace, pk__in=ids)
    live, blobs = trees.tree(trees.FILES), trees.tree(trees.BLOBS)
    sources = [
        (pk, live, tuple(path.split("/")))
        for pk, path in files.values_list("pk", "path")
    ]
    versions = MemoryVersion.objects.filter(**of_workspace, file_id__in=ids)
    for pk, sha256 in versions.exclude(sha256="").values_list("file_id", "sha256"):
        sources.append((pk, blobs, blob_parts(person.workspace_id, sha256)))
    for pk, tree, parts in sources:
        with suppress(OSError, errors.AppError):
            if stored := tree.read(parts):
                yield pk, stored.data.decode("utf-8", "replace")


def _excerpt(person: Person, matcher: SecondMatcher, text: str) -> str:
    """Return the first stretch of a text that names the person by itself."""
    starts = range(0, max(1, min(len(text), MAX_CHARS) - STEP), STEP)
    stretches = [text[start : start + SAMPLE_CHARS] for start in starts]
    hits = matcher.among(stretches)
    return _readable(person, stretches[min(hits)]) if hits else ""


def _readable(person: Person, text: str) -> str:
    shown = text.replace(SEAM, " · ")
    return " ".join(person.others_matcher.mask(shown, row_text.OTHERS_MARK).split())
