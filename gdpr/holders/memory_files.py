"""Memory files with every version, blob and chunk, and what lies about beside them.

A card about the person goes whole. Anywhere else the line is the unit: a line that
names only the person goes, a line that names somebody else too is masked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from django.conf import settings

from gdpr.holders import words
from gdpr.holders.base import Fate, Found, Person, Trace
from memory import journal
from memory.files import erasing, reconcile
from memory.files.erasing import Pen
from memory.models import MemoryChunk, MemoryFile, MemoryVersion, Workspace
from memory.rules.tiers import Tier

PLACE: Final = "files"
# Versions whose writer said in so many words whom they are about.
NAMED: Final = "versions:named"


def editor(person: Person, doomed: frozenset[str]) -> Callable[[str], str]:
    """Return what erasing does to a file's text; ``doomed`` are lines that go too."""

    def is_theirs(line: str) -> bool:
        return line.strip() in doomed or bool(person.matcher.names(line))

    def edit(text: str) -> str:
        lines = text.splitlines(keepends=True)
        if not any(map(is_theirs, lines)) and not person.matcher.names(text):
            return text
        kept = [
            line for line in lines if not is_theirs(line) or person.others.names(line)
        ]
        # A name that is split over two lines is in no line alone.
        return person.matcher.mask("".join(kept), words.ERASED)

    return edit


def pen(person: Person, doomed: frozenset[str] = frozenset()) -> Pen:
    """Return how a person is taken out of files and held texts."""

    def mask(value: Any) -> Any:
        return words.masked(person.matcher, value)

    return Pen(editor(person, doomed), mask)


def slug(workspace_id: str) -> str:
    """Return the name of a workspace's folder."""
    return Workspace.objects.values_list("slug", flat=True).get(pk=workspace_id)


class MemoryFiles:
    """Tier files: what agents, crews and people wrote down."""

    name, title, derived = PLACE, "Memory files and their versions", False
    tables = ("memory.MemoryFile", "memory.MemoryVersion", "memory.MemoryChunk")
    files = ("files", "blobs", "locks")

    # ── Finding ──────────────────────────────────────────────────────────────
    def find(self, person: Person) -> Iterator[Found]:
        """Return every file that names the person in its name, text or any version."""
        # What lies on the disk and was not looked at yet becomes a version first.
        reconcile.sweep(slug(person.workspace_id))
        for file in self._files(person).order_by("path"):
            if self._is_card(file, person):
                why = "It is a card about the person: it goes whole, with its versions."
                yield Found(file.id, Fate.DELETE, why, "", file.updated_at)
                continue
            hits, count, sample = self._hits(file, person)
            if hits:
                yield Found(
                    file.id,
                    Fate.REDACT,
                    f"{hits} of {count} versions name the person: those lines go; lines"
                    " that name somebody else too are masked.",
                    sample,
                    file.updated_at,
                )

    def _files(self, person: Person) -> Any:
        rows = MemoryFile.objects.filter(workspace_id=person.workspace_id)
        return rows.select_related("crew__workspace", "agent")

    def _is_card(self, file: MemoryFile, person: Person) -> bool:
        keyed = file.tier == Tier.PEERS
        return keyed and bool(person.matcher.names(file.key.replace("-", " ")))

    def _hits(self, file: MemoryFile, person: Person) -> tuple[int, int, str]:
        linked, hits, count, sample = person.linked("versions"), 0, 0, ""
        whole = file.id in person.linked(PLACE)
        for version, text in erasing.texts(file):
            count += 1
            beside = words.joined([text, version.note, version.written_by])
            if whole or version.id in linked or person.matcher.names(beside):
                hits, sample = hits + 1, words.sample(person, beside)
        return hits, count, sample

    # ── Reading ──────────────────────────────────────────────────────────────
    def export(self, person: Person, rows: Iterable[Found]) -> Iterator[dict[str, Any]]:
        """Return files with every version's text; other people are masked."""
        ids = [found.row_id for found in rows]
        for part in words.batches(ids):
            for file in self._files(person).filter(pk__in=part).order_by("path"):
                yield {
                    "place": PLACE,
                    "id": file.id,
                    "path": person.others.mask(file.path, words.OTHERS),
                    "tier": file.tier,
                    "updated_at": journal.stamp(file.updated_at),
                    "versions": [
                        self._told(version, text, person)
                        for version, text in erasing.texts(file)
                    ],
                }

    def _told(
        self, version: MemoryVersion, text: str, person: Person
    ) -> dict[str, Any]:
        told = {
            "number": version.number,
            "written_at": journal.stamp(version.written_at),
            "written_by": version.written_by,
            "source": version.source,
            "note": version.note,
            "text": text,
        }
        return dict(words.masked(person.others, told, words.OTHERS))

    def tokens(self, person: Person, row_ids: Sequence[str]) -> Iterator[bytes]:
        """Return the long words of the lines about to go, and the names of blobs."""
        for file in self._files(person).filter(pk__in=row_ids):
            card, edit = self._is_card(file, person), self._pen(file, person).edit
            for version, text in erasing.texts(file):
                left = set() if card else set(edit(text).splitlines())
                gone = [line for line in text.splitlines() if line not in left]
                yield from words.rare("\n".join(gone))
                if version.sha256 and gone:
                    yield version.sha256.encode()

    def _pen(self, file: MemoryFile, person: Person) -> Pen:
        named = person.linked(NAMED)
        lines: set[str] = set()
        for version in file.versions.filter(pk__in=list(named)) if named else ():
            lines |= erasing.added(version)
        return pen(person, frozenset(lines))

    # ── Destroying ───────────────────────────────────────────────────────────
    def erase(self, person: Person, row_ids: Sequence[str]) -> int:
        """Take cards away, whole."""
        rows = list(self._files(person).filter(pk__in=row_ids))
        for file in rows:
            erasing.remove(file)
        return len(rows)

    def redact(self, person: Person, row_ids: Sequence[str]) -> int:
        """Take the person's lines out of files and all their versions."""
        rows = list(self._files(person).filter(pk__in=row_ids))
        for file in rows:
            erasing.rewrite(file, self._pen(file, person))
        return len(rows)

    # ── Looking again ────────────────────────────────────────────────────────
    def verify(self, person: Person) -> Iterator[Trace]:
        """Read live files, every version and every chunk again."""
        reconcile.sweep(slug(person.workspace_id))
        named = person.matcher.names
        for file in self._files(person):
            if named(file.path) or self._is_card(file, person):
                yield Trace(PLACE, file.id, "file name")
            for version, text in erasing.texts(file):
                beside = words.joined([text, version.note, words.plain(version.author)])
                if named(beside):
                    yield Trace(PLACE, version.id, "version")
        pieces = MemoryChunk.objects.filter(workspace_id=person.workspace_id)
        for pk, head, text in pieces.values_list("pk", "heading", "text").iterator():
            if named(words.joined([head, text])):
                yield Trace(PLACE, str(pk), "chunk")

    def stays(self, person: Person) -> Iterator[str]:  # noqa: ARG002
        """Nothing is kept."""
        return iter(())


class Strays:
    """Files that no row knows: torn temporaries, orphaned blobs, odd names.

    Nobody reads them, and a search of the disk would find them. The id of one is a hash
    of its path, because a path can hold a name.
    """

    name, title, derived = "strays", "Files that nothing points to", False
    tables: tuple[str, ...] = ()
    files = ("files", "blobs")

    def _rows(self, person: Person) -> Iterator[tuple[str, Path, str]]:
        workspace_id = person.workspace_id
        for path in erasing.strays(workspace_id, slug(workspace_id)):
            place = path.relative_to(Path(settings.DATA_DIR)).as_posix()
            try:
                text = words.plain(path.read_bytes())
            except OSError:
                text = ""
            yield sha256(place.encode()).hexdigest()[:32], path, f"{place}\n{text}"

    def find(self, person: Person) -> Iterator[Found]:
        """Return strays that name the person in their path or bytes."""
        for row_id, _, text in self._rows(person):
            if person.matcher.names(text):
                why = "Nothing points to this file: it goes."
                yield Found(row_id, Fate.DELETE, why, words.sample(person, text))

    def export(self, person: Person, rows: Iterable[Found]) -> Iterator[dict[str, Any]]:
        """Return the text of strays; other people are masked."""
        wanted = {found.row_id for found in rows}
        for row_id, _, text in self._rows(person):
            if row_id in wanted:
                told = person.others.mask(text, words.OTHERS)
                yield {"place": self.name, "id": row_id, "text": told}

    def tokens(self, person: Person, row_ids: Sequence[str]) -> Iterator[bytes]:
        """Return the long words of strays."""
        for row_id, _, text in self._rows(person):
            if row_id in row_ids:
                yield from words.rare(text)

    def erase(self, person: Person, row_ids: Sequence[str]) -> int:
        """Remove strays."""
        rows = list(self._rows(person))
        return sum(erasing.discard(path) for one, path, _ in rows if one in row_ids)

    def redact(self, person: Person, row_ids: Sequence[str]) -> int:
        """Remove them all the same: no row says whose they are."""
        return self.erase(person, row_ids)

    def verify(self, person: Person) -> Iterator[Trace]:
        """Look at every stray again."""
        for found in self.find(person):
            yield Trace(self.name, found.row_id, "file")

    def stays(self, person: Person) -> Iterator[str]:  # noqa: ARG002
        """Nothing is kept."""
        return iter(())
