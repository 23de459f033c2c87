"""Holders of data derived from entries: the word index, vectors, relations, the map.

Erasing an entry erases them in the same transaction; here they are counted and
verified, in the tables and in this process's memory.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext_noop

from episodic.index import engine
from episodic.map import points as map_points
from episodic.models import Embedding, MemoryRelation
from episodic.vectors import stored
from episodic.vectors.base import VectorScope
from episodic.vectors.scan import ScanIndex
from gdpr.data_map import row_text
from gdpr.data_map.base import Fate, Holder, Person, RowMatch, Trace
from gdpr.data_map.journal import entries_naming
from memory import fulltext
from memory.journal import erasure
from memory.models import JournalEntry
from memory.word_index import frequencies, storage, terms
from memory.word_index.cache import indexes

VECTOR_BYTES: Final = 24


class _MadeFromEntries(Holder):
    """The common part of holders of data derived from journal entries."""

    derived = True

    @abstractmethod
    def _ids(self, workspace_id: str, entry_ids: Sequence[str]) -> Iterable[str]:
        """Return the keys of rows derived from these entries."""

    def find(self, person: Person) -> Iterator[RowMatch]:
        for part in row_text.batches(sorted(entries_naming(person))):
            for row_id in self._ids(person.workspace_id, part):
                reason = gettext_noop("It was made from an entry and goes with it.")
                yield RowMatch(row_id, Fate.DELETE, reason)


class WordIndex(_MadeFromEntries):
    """The words of entries: the full-text index, stored terms, this process's index.

    Terms are four bytes of a word's digest: not readable, but a guessed name could be
    compared with them. Database triggers delete them with the words, and on PostgreSQL
    the counts of how many entries hold them.
    """

    name, title = "word_index", gettext_noop("Word index")
    tables = ("memory.EntryWords", "memory.WordCount")

    def _ids(self, workspace_id: str, entry_ids: Sequence[str]) -> Iterable[str]:
        rows = JournalEntry.objects.filter(pk__in=entry_ids, erased_at=None)
        return erasure.of(rows, workspace_id).values_list("pk", flat=True)

    def verify(self, person: Person) -> Iterator[Trace]:
        """Search for every alias as a phrase; hits whose text names the person count.

        An alias that is matched in fields only is not searched for.
        """
        for alias in person.matcher.searched:
            words = fulltext.matching(
                person.workspace_id, '"' + alias.value.replace('"', " ") + '"'
            )
            if words is None:
                continue
            rows = JournalEntry.objects.filter(words, workspace_id=person.workspace_id)
            values = rows.values_list("pk", "summary", "body", "erased_at")
            for entry_id, summary, body, erased_at in values:
                text = row_text.join_texts([summary, body])
                if erased_at is not None or person.matcher.names(text):
                    yield Trace(self.name, entry_id, gettext_noop("search hit"))
        yield from self._terms_left(person.workspace_id)

    def _terms_left(self, workspace_id: str) -> Iterator[Trace]:
        """Search for terms of entries that are erased or gone, stored or in memory."""
        entries = JournalEntry.objects.filter(docid=OuterRef("pk"))
        stored = storage.rows_of(workspace_id)
        for docid in stored.exclude(Exists(entries)).values_list("pk", flat=True):
            yield Trace(self.name, str(docid), gettext_noop("words of a deleted entry"))
        erased = JournalEntry.objects.filter(
            workspace_id=workspace_id, erased_at__isnull=False
        )
        names = dict(erased.values_list("docid", "pk"))
        no_words = terms.words_of("", "")
        for part in row_text.batches(list(names.values())):
            docids_here = erased.filter(pk__in=part).values("docid")
            rows = stored.filter(pk__in=docids_here).exclude(words=no_words)
            for docid in rows.values_list("pk", flat=True):
                yield Trace(self.name, names[docid], gettext_noop("stored words"))
        for term in frequencies.of_no_entry(workspace_id):
            reason = gettext_noop("count of a word that no entry holds")
            yield Trace(self.name, str(term), reason)
        if not indexes.holds(workspace_id):
            return
        view = indexes.view(workspace_id)
        for docid in view.docids_with_words(list(names)):
            yield Trace(self.name, names[docid], gettext_noop("row of an index"))


class Vectors(_MadeFromEntries):
    """Embeddings, and the matrix of this process."""

    name, title = "vectors", gettext_noop("Embeddings and matrices")
    tables = ("episodic.Embedding",)

    def stored_in(self, workspace_id: str) -> set[str]:
        return super().stored_in(workspace_id) | stored.tables(workspace_id)

    def _ids(self, workspace_id: str, entry_ids: Sequence[str]) -> Iterable[str]:
        rows = Embedding.objects.filter(pk__in=entry_ids)
        embedded = set(erasure.of(rows, workspace_id).values_list("pk", flat=True))
        # Also one that its embedding left behind.
        return sorted(embedded | stored.vectors(workspace_id, entry_ids).keys())

    def tokens(self, person: Person, row_ids: Sequence[str]) -> Iterator[bytes]:
        """Yield the first ``VECTOR_BYTES`` of each vector."""
        for part in row_text.batches(row_ids):
            yield from stored.first_bytes(person.workspace_id, part, VECTOR_BYTES)

    def verify(self, person: Person) -> Iterator[Trace]:
        """Search for vectors of erased entries, stored or in memory."""
        erased = JournalEntry.objects.filter(
            workspace_id=person.workspace_id, erased_at__isnull=False
        )
        # Batched, because a join would look up every vector of the workspace.
        for part in row_text.batches(list(erased.values_list("pk", flat=True))):
            for entry_id in self._ids(person.workspace_id, part):
                yield Trace(self.name, entry_id, gettext_noop("vector"))
        yield from self._in_memory(person)

    def _in_memory(self, person: Person) -> Iterator[Trace]:
        index, model = engine.vectors(), engine.embedder().model
        scope = VectorScope(workspace_id=person.workspace_id, model=model)
        if not isinstance(index, ScanIndex) or not index.holds(scope):
            return
        rows = Embedding.objects.filter(workspace_id=person.workspace_id, model=model)
        # Any row will do; ordering by key would read them all.
        dim = next(iter(rows.exclude(dim=0).values_list("dim", flat=True)[:1]), 0)
        if not dim:
            return
        matrix, _ = index.view(scope, dim)
        for part in row_text.batches(sorted(person.linked("journal"))):
            erased = JournalEntry.objects.filter(
                workspace_id=person.workspace_id, pk__in=part, erased_at__isnull=False
            )
            for entry_id in erased.values_list("pk", flat=True):
                if matrix.position(entry_id) is not None:
                    yield Trace(self.name, entry_id, gettext_noop("row of a matrix"))


class Relations(_MadeFromEntries):
    """Edges between similar entries."""

    name, title = "relations", gettext_noop("Relations")
    tables = ("episodic.MemoryRelation",)

    def _ids(self, workspace_id: str, entry_ids: Sequence[str]) -> Iterable[str]:
        ends = Q(src__in=entry_ids) | Q(dst__in=entry_ids)
        touching = erasure.of(MemoryRelation.objects.filter(ends), workspace_id)
        return [str(pk) for pk in touching.values_list("pk", flat=True)]

    def verify(self, person: Person) -> Iterator[Trace]:
        """Search for edges from or to erased entries."""
        rows = MemoryRelation.objects.filter(workspace_id=person.workspace_id)
        erased = Q(src__erased_at__isnull=False) | Q(dst__erased_at__isnull=False)
        for pk in rows.filter(erased).values_list("pk", flat=True):
            yield Trace(self.name, str(pk), gettext_noop("edge"))


class MapPoints(_MadeFromEntries):
    """Points of the map of memory: an entry's id, place and numbers, no words."""

    name, title = "map", gettext_noop("Map of memory")
    tables = ("episodic.MemoryMap",)

    def _ids(self, workspace_id: str, entry_ids: Sequence[str]) -> Iterable[str]:
        return map_points.present(workspace_id, entry_ids)

    def verify(self, person: Person) -> Iterator[Trace]:
        """Search the points for erased entries."""
        erased = JournalEntry.objects.filter(
            workspace_id=person.workspace_id, erased_at__isnull=False
        )
        erased_ids = list(erased.values_list("pk", flat=True))
        for entry_id in map_points.present(person.workspace_id, erased_ids):
            yield Trace(self.name, entry_id, gettext_noop("point"))
