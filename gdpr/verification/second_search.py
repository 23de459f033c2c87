"""The second search: every row and memory file, read raw, by the second matcher.

It does not ask holders for rows, so that neither a form the first matcher misses nor a
column that nobody declared escapes both. What is kept for a reason is left out by its
column, and what was decided to be kept by its row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from django.utils.translation import gettext_noop

from gdpr.data_map import memory_files, registry
from gdpr.data_map.base import Person, Trace
from gdpr.data_map.table_holder import Table, TableHolder
from gdpr.matching.common_words import Reach, reach
from gdpr.verification import raw_rows
from gdpr.verification.raw_rows import Batch, RawTable, Row
from gdpr.verification.report import Beat, Report, no_beat
from gdpr.verification.second_matcher import KINDS, Identifier, SecondMatcher
from memory.models import MemoryVersion, StoredFile
from memory.stored_files import trees
from memory.stored_files.store import RawFile

# Columns that say who acted, by account or label: kept to account for access.
ACTING: Final[dict[str, frozenset[str]]] = {
    "journal_entries": frozenset({"actor_id"}),
    "journal_entries_archived": frozenset({"actor_id"}),
    "gdpr_actions": frozenset({"actor_id"}),
    "gdpr_subjects": frozenset({"created_by"}),
    "gdpr_aliases": frozenset({"added_by"}),
    "gdpr_cases": frozenset(
        {
            "opened_by_id",
            "approved_by_id",
            "executed_by_id",
            "opened_key_maker",
            "approved_key_maker",
        }
    ),
    # Its rows are ids of rows, those that are kept among them.
    "gdpr_case_plans": frozenset({"made_by_id", "made_key_maker", "rows"}),
    "gdpr_exports": frozenset({"made_by", "last_read_by"}),
    "django_admin_log": frozenset({"object_id"}),
}
# The rows of files: read as files, so that a trace names the file that it is in.
AS_FILES: Final = frozenset({StoredFile._meta.db_table})
# Rows at a time, and files: memory files are small.
FILES: Final = 200
BY_SECOND: Final = gettext_noop(
    "found by the second matcher; plan again and decide on the row where the plan"
    " offers it, or correct its text"
)
SECOND: Final = gettext_noop(
    "{rows} rows of {tables} tables and {files} memory files read raw and searched"
    " again by a second matcher, which shares no code with the first; identifiers:"
    " {count}"
)
ACTED: Final = gettext_noop(
    "Columns that say who acted, by account or label, are kept to account for access;"
    " the person was not sought in them."
)
LOGINS: Final = gettext_noop(
    "Columns that have to stay as they are (logins, slugs, settings, certificates) were"
    " not sought in; the plan names each row that it keeps for that."
)
ONLY_FIRST: Final = gettext_noop(
    "Browser sessions, which are compressed, free patterns, identifiers that somebody"
    " else has too and telephone numbers written without + or 0 where no word says"
    " that they are one were sought by the first matcher only."
)
SEALED: Final = gettext_noop(
    "Letters about other people's requests, where these go, identifiers that wait for a"
    " remote provider, and secrets: they are encrypted in the database and were not"
    " decrypted for the search."
)
# Between the row and the row that it belongs to.
_OF: Final = " of "
_MARKS: Final = (memory_files.LINES_MARK, memory_files.CARD_MARK)


def matcher_of(person: Person, *, exact: bool = False) -> SecondMatcher:
    """Return the matcher of a person's identifiers; empty for a correction's words.

    Where an identifier is sought is what the first matcher's rules say.
    """
    own = [Identifier(n.kind, n.value, _in_texts(n.kind, n.value))
           for n in person.matcher.names_known if n.kind in KINDS]  # fmt: skip
    if len(own) == 0:
        return SecondMatcher([])
    other_names = person.others_matcher.names_known
    return SecondMatcher(own, [Identifier(n.kind, n.value) for n in other_names], exact)


def _in_texts(kind: str, value: str) -> bool:
    return kind in ("email", "phone") or reach(kind, value) is Reach.TEXT


def search(person: Person, report: Report, beat: Beat = no_beat) -> None:
    """Add to a report what the second matcher finds and the first did not."""
    matcher = matcher_of(person)
    if not len(matcher):
        return
    # Programs fill these columns; the first search takes only sure forms there, so
    # that nobody could decide on another one.
    exact = matcher_of(person, exact=True)
    places = _places()
    seen_ids = {(trace.place, trace.row_id or trace.where) for trace in report.traces}
    for table in raw_rows.tables():
        if table.name in AS_FILES:
            continue
        report.tables += 1
        for batch in raw_rows.batches(
            table,
            left_out(table),
            person.workspace_id,
            person.subject_id,
            _facts(table),
        ):
            beat()
            report.rows += len(batch)
            for row in _naming(batch, matcher, exact):
                trace = _trace(table, row, places, person)
                if trace and not seen_ids & {(trace.place, i) for i in _ids(trace)}:
                    report.traces.append(trace)
    count = 0
    for pairs in _files(person):
        beat()
        count += len(pairs)
        for at in sorted(matcher.among([text for _, text in pairs])):
            report.traces += _file_trace(pairs[at][0], person)
    report.methods.append(
        SECOND.format(
            rows=report.rows, tables=report.tables, files=count, count=len(matcher)
        )
    )
    report.remains += [ACTED, LOGINS, ONLY_FIRST, SEALED]


# ── Rows ─────────────────────────────────────────────────────────────────────
def _naming(batch: Batch, matcher: SecondMatcher, exact: SecondMatcher) -> list[Row]:
    """Return the rows that name the person; equal texts are searched once."""
    texts = _hits(batch.texts, matcher)
    facts = _hits(batch.facts, exact)
    if not texts and not facts:
        return []
    return [
        batch.row(at)
        for at, (text, fact_text) in enumerate(
            zip(batch.texts, batch.facts, strict=True)
        )
        if text in texts or fact_text in facts
    ]


def _hits(texts: Sequence[str], matcher: SecondMatcher) -> set[str]:
    distinct = [text for text in dict.fromkeys(texts) if text]
    return {distinct[at] for at in matcher.among(distinct)}


def _declared(table: RawTable) -> Iterator[Table]:
    for holder in registry.ALL:
        for declared in holder.declarations if isinstance(holder, TableHolder) else ():
            if declared.model is table.model:
                yield declared


def _facts(table: RawTable) -> frozenset[str]:
    """Return the columns that the program fills."""
    return frozenset(name for declared in _declared(table) for name in declared.facts)


def left_out(table: RawTable) -> frozenset[str]:
    """Return the columns that are kept: who acted, declared ones, keys of others."""
    kept_columns = set(ACTING.get(table.name, ()))
    for declared in _declared(table):
        kept_columns.update(declared.keeps)
    if table.model is not None:
        fields = table.model._meta.concrete_fields
        kept_columns.update(str(field.column) for field in fields if field.is_relation)
    return frozenset(kept_columns)


def _places() -> dict[str, tuple[str, str]]:
    """Return model label → (place, prefix of row ids there)."""
    places: dict[str, tuple[str, str]] = {}
    for holder in registry.ALL:
        for number, label in enumerate(holder.tables):
            is_first = number == 0 or not isinstance(holder, TableHolder)
            prefix = "" if is_first else f"{label.split('.')[1].lower()}:"
            places.setdefault(label, (holder.name, prefix))
    return places


def _trace(
    table: RawTable, row: Row, places: dict[str, tuple[str, str]], person: Person
) -> Trace | None:
    """Return what a match in a row leaves; None when the row is kept by decision."""
    label = table.model._meta.label if table.model is not None else ""
    place, prefix = places.get(label, ("tables", ""))
    row_id = f"{prefix}{row.key}"
    ids = {row_id, *row.parents}
    spared_ids = set(person.spared_rows.get(place, ()))
    if place in ("journal", "archive"):
        spared_ids |= person.spared_rows.get("journal", frozenset())
        spared_ids |= person.spared_rows.get("archive", frozenset())
    if place == memory_files.PLACE:
        spared_ids |= {item.rstrip("".join(_MARKS)) for item in spared_ids}
    if ids & spared_ids:
        return None
    parent = next((item for item in row.parents if item), "")
    where = f"{table.name} {row.key}" + (f"{_OF}{parent}" if parent else "")
    return Trace(place, where, BY_SECOND, parent or row_id)


def _ids(trace: Trace) -> set[str]:
    return {trace.row_id, trace.where.partition(" ")[2].partition(_OF)[0]}


def row_of(where: str) -> tuple[str, str, str]:
    """Return the table, key and parent that a trace names; "" for what it has not."""
    row, _, parent = where.partition(_OF)
    table, _, key = row.rpartition(" ")
    return table, key, parent


# ── Memory files ─────────────────────────────────────────────────────────────
def _files(person: Person) -> Iterator[list[tuple[RawFile, str]]]:
    """Yield the memory files and kept versions of a workspace with their texts."""
    pairs: list[tuple[RawFile, str]] = []
    for tree, name in (
        (trees.FILES, memory_files.slug(person.workspace_id)),
        (trees.BLOBS, person.workspace_id),
    ):
        for file in trees.tree(tree).raw((name,)):
            pairs.append((file, file.read().decode("utf-8", "replace")))
            if len(pairs) == FILES:
                yield pairs
                pairs = []
    if pairs:
        yield pairs


def _file_trace(file: RawFile, person: Person) -> list[Trace]:
    """Return the traces of a file: its row, unless that is kept by decision."""
    owners = _owners(file, person.workspace_id)
    spared_ids = person.spared_rows.get(memory_files.PLACE, frozenset())
    spared_files = {row_id.rstrip("".join(_MARKS)) for row_id in spared_ids}
    if owners & spared_files:
        return []
    place = next(iter(sorted(owners)), "")
    return [Trace(memory_files.PLACE, place or file.parts[-2], BY_SECOND, place)]


def _owners(file: RawFile, workspace_id: str) -> set[str]:
    """Return the ids of the memory files whose text is in a file."""
    versions = MemoryVersion.objects.filter(workspace_id=workspace_id)
    if file.tree == trees.FILES:
        rows = versions.filter(file__path=file.path)
    else:
        rows = versions.filter(sha256=file.parts[-1])
    return set(rows.values_list("file_id", flat=True))
