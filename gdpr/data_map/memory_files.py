"""Memory files with every version, blob and chunk.

A card about the person is deleted as a whole. Elsewhere the unit is the line: a line
that names only the person is erased, one that names others too is masked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from django.utils.translation import gettext_noop

from gdpr.data_map import row_text
from gdpr.data_map.base import Fate, Holder, Person, RowMatch, Trace
from gdpr.matching import slugs
from gdpr.matching.matcher import Sign
from memory.files import erasure, reconcile
from memory.files.erasure import Redactor
from memory.journal import append as journal
from memory.models import MemoryChunk, MemoryFile, MemoryVersion, Workspace
from memory.rules.tiers import Tier

PLACE: Final = "files"
# Key of ``links``: versions whose writer named their subject.
NAMED_KEY: Final = "versions:named"
# Suffix of a file's row id: its lines that may be about somebody else.
LINES_MARK: Final = "?"
# The same for a card that may be somebody else's.
CARD_MARK: Final = "!"
NAMED_LINES: Final = gettext_noop(
    "{found} of {count} versions name the person: those lines are erased; lines that"
    " name somebody else too are masked."
)
DOUBTFUL_LINES: Final = gettext_noop(
    "Lines in {found} of {count} versions hold a word that may mean the person, and"
    " nothing else that does."
)


def editor(
    person: Person, named_lines: frozenset[str], *, with_doubts: bool = True
) -> Callable[[str], str]:
    """Return the edit of a file's text; ``named_lines`` are erased as well.

    With ``with_doubts``, lines that may be about somebody else are erased too.
    """
    threshold = Sign.UNSURE if with_doubts else Sign.SURE
    redaction_matcher = person.matcher.for_redaction()

    def sign(line: str) -> Sign:
        if line.strip() in named_lines:
            return Sign.SURE
        return person.matcher.sign(line)

    def edited_line(line: str) -> str:
        if sign(line) < threshold:
            return line
        return (
            redaction_matcher.mask(line, row_text.ERASED)
            if person.others_matcher.names(line)
            else ""
        )

    def edit(text: str) -> str:
        lines = text.splitlines(keepends=True)
        edited_lines = [edited_line(line) for line in lines]
        if edited_lines == lines and person.matcher.sign(text) < threshold:
            return text
        edited_text = "".join(edited_lines)
        if not with_doubts:
            return person.matcher.only_sure().mask(edited_text, row_text.ERASED)
        # A name can be split over two lines.
        return person.matcher.mask(edited_text, row_text.ERASED)

    return edit


def redactor(
    person: Person,
    named_lines: frozenset[str] = frozenset(),
    *,
    with_doubts: bool = True,
) -> Redactor:
    """Return what removes a person from files and held texts."""

    def mask(value: Any) -> Any:
        return row_text.masked(person.matcher.for_redaction(), value)

    return Redactor(editor(person, named_lines, with_doubts=with_doubts), mask)


def slug(workspace_id: str) -> str:
    return Workspace.objects.values_list("slug", flat=True).get(pk=workspace_id)


def _doubtful_lines(
    person: Person, text: str, named_lines: frozenset[str]
) -> list[str]:
    """Return the lines that may be about the person, but not surely."""
    sign = person.matcher.sign
    lines = (line for line in text.splitlines() if line.strip() not in named_lines)
    return [line for line in lines if sign(line) is Sign.UNSURE]


def _file_ids(row_ids: Sequence[str]) -> list[str]:
    return [row_id.rstrip(LINES_MARK + CARD_MARK) for row_id in row_ids]


def _row(file_id: str, sign: Sign) -> str:
    return file_id if sign is Sign.SURE else f"{file_id}{LINES_MARK}"


class MemoryFiles(Holder):
    """Tier files, written by agents, crews and people."""

    name, title = PLACE, gettext_noop("Memory files and their versions")
    tables = (
        "memory.MemoryFile",
        "memory.MemoryVersion",
        "memory.MemoryChunk",
        "memory.StoredFile",
    )
    files = ("files", "blobs", "locks")

    # ── Finding ──────────────────────────────────────────────────────────────
    def find(self, person: Person) -> Iterator[RowMatch]:
        """Yield every file that names the person in its name or any version.

        Lines that may be about somebody else are a row of their own, for a decision.
        """
        # Files changed on disk become versions first.
        reconcile.sweep(slug(person.workspace_id))
        for file in self._files(person).order_by("path"):
            if (card := self._card(file, person)) is not Sign.NONE:
                reason = gettext_noop(
                    "It is a card about the person; all versions are deleted."
                )
                is_doubtful, at = card is not Sign.SURE, file.updated_at
                row_id = f"{file.id}{CARD_MARK}" if is_doubtful else file.id
                form = person.matcher.form(file.key.replace("-", " "))
                yield RowMatch(
                    row_id, Fate.DELETE, reason, file.key, at, is_doubtful, form
                )
                if not is_doubtful:
                    continue
            yield from self._matches(file, person)

    def _matches(self, file: MemoryFile, person: Person) -> Iterator[RowMatch]:
        linked, file_linked = person.linked("versions"), file.id in person.linked(PLACE)
        named_lines = self._named_lines(file, person)
        count, at = 0, file.updated_at
        # A sample of each version that names the person, surely or possibly.
        sure: list[str] = []
        doubtful_samples: list[str] = []
        form = ""
        for version, text in erasure.texts(file):
            count += 1
            by = row_text.plain(version.written_by, "written_by")
            version_text = row_text.join_texts([text, version.note, by])
            is_linked = file_linked or version.id in linked
            sign = person.matcher.judge(version_text, linked=is_linked)
            if sign is Sign.NONE:
                continue
            if sign is Sign.SURE:
                sure.append(row_text.sample(person, version_text))
            if lines := _doubtful_lines(person, text, named_lines):
                doubtful_samples.append(row_text.sample(person, lines[0]))
                form = person.matcher.form(lines[0])
        if sure:
            reason = NAMED_LINES.format(found=len(sure), count=count)
            yield RowMatch(file.id, Fate.REDACT, reason, sure[-1], at)
        if doubtful_samples:
            reason = DOUBTFUL_LINES.format(found=len(doubtful_samples), count=count)
            row_id = f"{file.id}{LINES_MARK}"
            sample, doubt = doubtful_samples[-1], True
            yield RowMatch(row_id, Fate.REDACT, reason, sample, at, doubt, form)

    def _files(self, person: Person) -> Any:
        rows = MemoryFile.objects.filter(workspace_id=person.workspace_id)
        return rows.select_related("crew__workspace", "agent")

    def _card(self, file: MemoryFile, person: Person) -> Sign:
        """Return how surely a file is a card about the person, by its key."""
        if file.tier != Tier.PEERS:
            return Sign.NONE
        matcher = person.matcher
        sign = max(
            matcher.sign_of_value(file.key), matcher.sign(file.key.replace("-", " "))
        )
        forms = slugs.forms(matcher.names_known) if sign is Sign.NONE else ()
        # One of several parts, such as ``customer-88412``: a person decides.
        return Sign.UNSURE if any(slugs.is_in(f, file.key) for f in forms) else sign

    # ── Reading ──────────────────────────────────────────────────────────────
    def export(
        self, person: Person, rows: Iterable[RowMatch]
    ) -> Iterator[dict[str, Any]]:
        ids = _file_ids([match.row_id for match in rows])
        for part in row_text.batches(ids):
            for file in self._files(person).filter(pk__in=part).order_by("path"):
                yield {
                    "place": PLACE,
                    "id": file.id,
                    "path": person.others_matcher.mask(file.path, row_text.OTHERS_MARK),
                    "tier": file.tier,
                    "updated_at": journal.stamp(file.updated_at),
                    "versions": [
                        self._version_json(version, text, person)
                        for version, text in erasure.texts(file)
                    ],
                }

    def _version_json(
        self, version: MemoryVersion, text: str, person: Person
    ) -> dict[str, Any]:
        values = {
            "number": version.number,
            "written_at": journal.stamp(version.written_at),
            "written_by": version.written_by,
            "source": version.source,
            "note": version.note,
            "text": text,
        }
        return dict(row_text.without_others(person, values))

    def tokens(self, person: Person, row_ids: Sequence[str]) -> Iterator[bytes]:
        """Yield the long words of lines about to be erased, and the names of blobs."""
        for file in self._files(person).filter(pk__in=_file_ids(row_ids)):
            card = self._card(file, person) is Sign.SURE
            edit = self._redactor(file, person).edit
            for version, text in erasure.texts(file):
                remaining = set() if card else set(edit(text).splitlines())
                lines = [line for line in text.splitlines() if line not in remaining]
                yield from row_text.rare("\n".join(lines))
                if version.sha256 and lines:
                    yield version.sha256.encode()

    def _redactor(
        self, file: MemoryFile, person: Person, *, with_doubts: bool = True
    ) -> Redactor:
        return redactor(
            person, self._named_lines(file, person), with_doubts=with_doubts
        )

    def _named_lines(self, file: MemoryFile, person: Person) -> frozenset[str]:
        """Return the lines of versions whose writer named the person as subject."""
        ids = person.linked(NAMED_KEY)
        lines: set[str] = set()
        for version in file.versions.filter(pk__in=list(ids)) if ids else ():
            lines |= erasure.added(version)
        return frozenset(lines)

    # ── Erasing ──────────────────────────────────────────────────────────────
    def erase(self, person: Person, row_ids: Sequence[str]) -> int:
        """Delete cards with all their versions."""
        rows = list(self._files(person).filter(pk__in=_file_ids(row_ids)))
        for file in rows:
            erasure.remove(file)
        return len(rows)

    def redact(self, person: Person, row_ids: Sequence[str]) -> int:
        doubtful_ids = {row_id for row_id in row_ids if row_id.endswith(LINES_MARK)}
        rows = list(self._files(person).filter(pk__in=_file_ids(row_ids)))
        for file in rows:
            with_doubts = f"{file.id}{LINES_MARK}" in doubtful_ids
            erasure.rewrite(file, self._redactor(file, person, with_doubts=with_doubts))
        return len(rows)

    # ── Verifying ────────────────────────────────────────────────────────────
    def verify(self, person: Person) -> Iterator[Trace]:
        """Search file names, every version and every chunk again."""
        reconcile.sweep(slug(person.workspace_id))
        for file in self._files(person):
            card = self._card(file, person)
            if card is not Sign.NONE or person.matcher.sure(file.path):
                mark = CARD_MARK if card is Sign.UNSURE else ""
                yield Trace(
                    PLACE, file.id, gettext_noop("file name"), f"{file.id}{mark}"
                )
            for version, text in erasure.texts(file):
                by = row_text.plain(version.written_by, "written_by")
                author = row_text.plain(version.author)
                sign = person.matcher.sign(
                    row_text.join_texts([text, version.note, author])
                )
                sign = max(sign, person.matcher.sign(by))
                if sign is not Sign.NONE:
                    yield Trace(
                        PLACE, version.id, gettext_noop("version"), _row(file.id, sign)
                    )
        pieces = MemoryChunk.objects.filter(workspace_id=person.workspace_id)
        columns = ("pk", "heading", "text", "file_id")
        for pk, head, text, file_id in pieces.values_list(*columns).iterator():
            sign = person.matcher.sign(row_text.join_texts([head, text]))
            if sign is not Sign.NONE:
                yield Trace(PLACE, str(pk), gettext_noop("chunk"), _row(file_id, sign))
