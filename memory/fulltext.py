"""The journal's full-text index: FTS5 on SQLite, tsvector on PostgreSQL.

It serves the journal's search box; recall has a ranking of its own (``word_index``),
whose questions and scopes are here. User text never reaches a query grammar: it is
split into words, and each word is quoted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, pairwise
from typing import Final

from django.db import connection, transaction
from django.db.models import BooleanField, F, Func, Q, Value
from django.db.models.expressions import RawSQL

from memory import workspace_numbers
from memory.rules import tokenizer
from memory.rules.entries import SEQ_BITS

# What PostgreSQL's index is made of: only there, the rows do not hold it as well.
LEXEMES: Final = (
    "setweight(to_tsvector('english', journal_fold(left(summary, 4096))), 'A')"
    " || to_tsvector('english', journal_fold(left(body, 65536)))"
)
_MATCHING: Final = (
    "SELECT rowid FROM journal_fts"
    " WHERE journal_fts MATCH %s AND rowid BETWEEN %s AND %s"
)
# Entries of all workspaces that a search box finds at once, on PostgreSQL. Words of
# more are left to the planner: where they are frequent in the workspace too, a page is
# soon full of the newest.
LIMIT: Final = 10_000
_EXPECTED: Final = "EXPLAIN (FORMAT JSON) SELECT FROM journal_entries WHERE {where}"
_BY_INDEX: Final = "SELECT set_config('enable_seqscan', 'off', true)"
# Settings count for the plans after them, so that this statement may end its own.
_INDEXED: Final = (
    "WITH found AS MATERIALIZED (SELECT docid, workspace_id FROM journal_entries"
    " WHERE {where} LIMIT %s) SELECT set_config('enable_seqscan', 'on', true),"
    " count(*), COALESCE(array_agg(docid) FILTER (WHERE workspace_id = %s),"
    " '{{}}')::text FROM found"
)
MAX_TERMS: Final = 32
# Fewer matches are read and sorted; of more, a page is soon found in order of time.
FEW: Final = 1_000
MAX_PHRASE: Final = 8


@dataclass(frozen=True, slots=True)
class WordScope:
    """Whose entries to search: always one workspace, then what the caller may see.

    ``crew_id`` and ``agent_id`` are OR-ed; both None means the whole workspace.
    ``rules_crew_id`` adds the rules approved for a crew to what the two name.
    """

    workspace_id: str
    crew_id: str | None = None
    agent_id: str | None = None
    rules_crew_id: str | None = None
    entry_types: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    embeddable_only: bool = True
    # Only what was recorded by then.
    recorded_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class WordHit:
    """One entry found by words, best first; ``score`` is never shown to users."""

    entry_id: str
    score: float


@dataclass(frozen=True, slots=True)
class WordQuery:
    """A question as the word ranking uses it; ``dropped`` words are not searched.

    ``pairs`` are its neighbouring words, but for two stop words side by side.
    """

    terms: tuple[str, ...]
    dropped: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.terms


def is_sqlite() -> bool:
    return connection.vendor == "sqlite"


def quote(term: str) -> str:
    """Return a term as an FTS5 string: operators inside it are plain text."""
    return '"' + term.replace('"', '""') + '"'


def docids(workspace_id: str) -> tuple[int, int]:
    """Return the first and last row number of a workspace in the index, inclusive."""
    number = workspace_numbers.of(workspace_id)
    return number << SEQ_BITS, ((number + 1) << SEQ_BITS) - 1


def _groups(text: str) -> list[list[str]]:
    """Return the phrases and the words of a search box's text."""
    quoted, single = tokenizer.phrases(text)
    return [*quoted, *([word] for word in tokenizer.without_stop_words(single))][
        :MAX_TERMS
    ]


def _match(workspace_id: str, groups: Sequence[Sequence[str]]) -> list[str | int]:
    """Return the parameters of ``_MATCHING``."""
    match = " AND ".join(quote(" ".join(group)) for group in groups)
    return [match, *docids(workspace_id)]


def are_few(workspace_id: str, text: str) -> bool:
    """Whether so few rows match a text that SQLite had better read them one by one.

    It does not know itself, and would read the workspace from its newest entry on.
    """
    groups = _groups(text) if is_sqlite() else []
    if not groups:
        return False
    with connection.cursor() as cursor:
        params = [*_match(workspace_id, groups), FEW]
        cursor.execute(f"{_MATCHING} LIMIT %s", params)
        return len(cursor.fetchall()) < FEW


def matching(workspace_id: str, text: str) -> Q | None:
    """Return the condition that an entry's words match a search box's text.

    All words must match; a "quoted part" must match as a phrase. None when the text
    holds no word at all, which matches nothing.
    """
    groups = _groups(text)
    if not groups:
        return None
    if is_sqlite():
        # No user text is in the SQL.
        rows = RawSQL(_MATCHING, _match(workspace_id, groups))  # noqa: S611
        return Q(docid__in=rows)
    return _matching(workspace_id, [" ".join(group) for group in groups])


def _matching(workspace_id: str, phrases: Sequence[str]) -> Q:
    """Return the condition on PostgreSQL, where it is the entries found just now.

    Left to the planner, it may be put to every entry of a workspace: making lexemes
    again costs a hundred times what the planner takes it for, and it does not know how
    many rows came since it counted.
    """
    parts = ["phraseto_tsquery('english', journal_fold(%s))"] * len(phrases)
    where = f"({LEXEMES}) @@ ({' && '.join(parts)})"
    array = _indexed(workspace_id, where, phrases)
    if array is not None:
        return Q(_Among(F("docid"), Value(array)))
    sql = f"SELECT docid FROM journal_entries WHERE workspace_id = %s AND {where}"  # noqa: S608
    return Q(docid__in=RawSQL(sql, [workspace_id, *phrases]))  # noqa: S611


def _indexed(workspace_id: str, where: str, phrases: Sequence[str]) -> str | None:
    """Return the docids that the index has, as an array; None where they are many."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_EXPECTED.format(where=where), phrases)
        [[[explained]]] = cursor.fetchall()
        if explained["Plan"]["Plan Rows"] >= LIMIT:
            return None
        cursor.execute(_BY_INDEX)
        cursor.execute(_INDEXED.format(where=where), [*phrases, LIMIT, workspace_id])
        _, size, array = cursor.fetchone()
    return str(array) if size < LIMIT else None


class _Among(Func):
    """Whether a number is in an array, which the database hashes."""

    template, arg_joiner = "(%(expressions)s::bigint[]))", " = ANY("
    output_field = BooleanField()


# ── Recall ───────────────────────────────────────────────────────────────────
def word_query(text: str, left_out: Sequence[tuple[int, int]] = ()) -> WordQuery:
    """Return a question's significant words, and the words left out.

    ``left_out`` are places in the text, from and to, whose words are not searched
    where other significant words are left.
    """
    all_words = tokenizer.split(text)
    parts = [tokenizer.split(part) for part in _without(text, left_out)]
    if tokenizer.STOP_WORDS.issuperset(chain.from_iterable(parts)):
        parts = [all_words]
    distinctive = tokenizer.without_stop_words(list(chain.from_iterable(parts)))
    significant = set(distinctive)
    stop = [w for w in dict.fromkeys(all_words) if w not in significant]
    side_by_side = chain.from_iterable(map(pairwise, parts))
    pairs = [pair for pair in side_by_side if not significant.isdisjoint(pair)]
    return WordQuery(
        tuple(distinctive[:MAX_TERMS]),
        (*stop, *distinctive[MAX_TERMS:]),
        tuple(dict.fromkeys(pairs))[:MAX_TERMS],
    )


def _without(text: str, left_out: Sequence[tuple[int, int]]) -> list[str]:
    """Return what is left of a text between the places that are left out."""
    ends = [0, *(end for _, end in left_out)]
    starts = [*(start for start, _ in left_out), len(text)]
    return [text[end:start] for end, start in zip(ends, starts, strict=True)]
