"""Files without a row: torn temporary files, orphaned blobs, odd names.

The application does not read them, but a search of the disk would find them. The row id
is a hash of the path, because a path can contain a name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any

from django.utils.translation import gettext_noop

from gdpr.data_map import row_text
from gdpr.data_map.base import Fate, Holder, Person, RowMatch
from gdpr.data_map.memory_files import slug
from gdpr.matching.matcher import Sign
from memory.files import erasure
from memory.stored_files.store import RawFile


class OrphanFiles(Holder):
    """Files of the trees ``files`` and ``blobs`` that no row refers to."""

    name, title = "strays", gettext_noop("Files that nothing points to")
    tables = ("memory.StoredFile",)
    files = ("files", "blobs")
    trace = gettext_noop("file")

    def _rows(self, person: Person) -> Iterator[tuple[str, RawFile, str]]:
        workspace_id = person.workspace_id
        for file in erasure.strays(workspace_id, slug(workspace_id)):
            place = f"{file.tree}/{file.path}"
            try:
                text = row_text.plain(file.read())
            except OSError:
                text = ""
            yield sha256(place.encode()).hexdigest()[:32], file, f"{place}\n{text}"

    def find(self, person: Person) -> Iterator[RowMatch]:
        for row_id, _, text in self._rows(person):
            if (sign := person.matcher.sign(text)) is not Sign.NONE:
                reason = gettext_noop("Nothing points to this file: it is deleted.")
                sample = row_text.sample(person, text)
                is_doubtful = sign < Sign.SURE
                form = person.matcher.form(text) if is_doubtful else ""
                yield RowMatch(
                    row_id, Fate.DELETE, reason, sample, None, is_doubtful, form
                )

    def export(
        self, person: Person, rows: Iterable[RowMatch]
    ) -> Iterator[dict[str, Any]]:
        ids = {match.row_id for match in rows}
        for row_id, _, text in self._rows(person):
            if row_id in ids:
                masked = person.others_matcher.mask(text, row_text.OTHERS_MARK)
                yield {"place": self.name, "id": row_id, "text": masked}

    def tokens(self, person: Person, row_ids: Sequence[str]) -> Iterator[bytes]:
        for row_id, _, text in self._rows(person):
            if row_id in row_ids:
                yield from row_text.rare(text)

    def erase(self, person: Person, row_ids: Sequence[str]) -> int:
        rows = list(self._rows(person))
        return sum(file.remove() for key, file, _ in rows if key in row_ids)
