"""The journal's full-text index: FTS5 on SQLite, tsvector on PostgreSQL.

User text never reaches a query grammar: it is split into words, and each word is
quoted. Scores are not shown to users, because one index spans workspaces and raw BM25
values would reveal something about other tenants; users get ranks.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection
from django.db.models.expressions import RawSQL

from memory import workspace_numbers
from memory.models import ChainHead
from memory.rules import tokenizer
from memory.rules.entries import RULE_TYPE, SEQ_BITS

MAX_TERMS: Final = 32
MAX_PHRASE: Final = 8
# Rows a word query may touch before its commonest terms are dropped: scoring a row
# costs about two microseconds, so this keeps the word ranking under ten milliseconds.
BUDGET: Final = 4_000
PRUNE_FROM: Final = 10_000


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


@dataclass(frozen=True, slots=True)
class WordHit:
    """One entry found by words, best first; ``score`` is never shown to users."""

    entry_id: str
    score: float


@dataclass(frozen=True, slots=True)
class WordQuery:
    """A question as the word ranking uses it; ``dropped`` words are not searched."""

    terms: tuple[str, ...]
    phrase: tuple[str, ...]
    dropped: tuple[str, ...]

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


def matching(workspace_id: str, text: str) -> RawSQL | None:
    """Return a subquery of the docids whose words match a search box's text.

    All words must match; a "quoted part" must match as a phrase. None when the text
    holds no word at all, which matches nothing.
    """
    quoted, single = tokenizer.phrases(text)
    groups = [*quoted, *([word] for word in tokenizer.without_stop_words(single))][
        :MAX_TERMS
    ]
    if not groups:
        return None
    if is_sqlite():
        low, high = docids(workspace_id)
        match = " AND ".join(quote(" ".join(group)) for group in groups)
        sql = (
            "SELECT rowid FROM journal_fts"
            " WHERE journal_fts MATCH %s AND rowid BETWEEN %s AND %s"
        )
        return RawSQL(sql, [match, low, high])  # noqa: S611  (no user text in the SQL)
    query = " && ".join(["phraseto_tsquery('english', journal_fold(%s))"] * len(groups))
    sql = (
        "SELECT docid FROM journal_entries"  # noqa: S608
        f" WHERE workspace_id = %s AND tsv @@ ({query})"
    )
    params = [workspace_id, *(" ".join(group) for group in groups)]
    return RawSQL(sql, params)  # noqa: S611


# ── Recall ───────────────────────────────────────────────────────────────────
class _Frequencies:
    """Cache: how many entries of a workspace hold a term, while it grows under 20 %."""

    def __init__(self, size: int = 20_000) -> None:
        self._known: OrderedDict[tuple[str, str], tuple[int, int]] = OrderedDict()
        self._size = size
        self._lock = threading.Lock()

    def of(self, workspace_id: str, terms: Sequence[str], head: int) -> dict[str, int]:
        counts: dict[str, int] = {}
        for term in terms:
            with self._lock:
                cached = self._known.get((workspace_id, term))
            if cached is None or head > cached[1] * 1.2 or head < cached[1]:
                cached = (self._count(workspace_id, term), head)
                with self._lock:
                    self._known[workspace_id, term] = cached
                    if len(self._known) > self._size:
                        self._known.popitem(last=False)
            counts[term] = cached[0]
        return counts

    def _count(self, workspace_id: str, term: str) -> int:
        low, high = docids(workspace_id)
        sql = (
            "SELECT count(*) FROM journal_fts"
            " WHERE journal_fts MATCH %s AND rowid BETWEEN %s AND %s"
        )
        with connection.cursor() as cursor:
            cursor.execute(sql, [quote(term), low, high])
            return int(cursor.fetchone()[0])

    def clear(self) -> None:
        with self._lock:
            self._known.clear()


frequencies = _Frequencies()


def _prune(workspace_id: str, terms: list[str]) -> tuple[list[str], list[str]]:
    """Split terms into those worth scoring and the commonest, in a large workspace.

    Rarest first until the budget is spent; the rarest term always stays. The others
    carry the least weight in BM25.
    """
    seqs = ChainHead.objects.filter(pk=workspace_id).values_list("seq", flat=True)
    head = seqs.first() or 0
    if not is_sqlite() or head < PRUNE_FROM or len(terms) < 2:
        return terms, []
    counts = frequencies.of(workspace_id, terms, head)
    scored: set[str] = set()
    cost = 0
    for term in sorted(terms, key=lambda t: counts[t]):
        if scored and cost + counts[term] > BUDGET:
            break
        scored.add(term)
        cost += counts[term]
    common = [term for term in terms if term not in scored]
    return [term for term in terms if term in scored], common


def word_query(workspace_id: str, text: str) -> WordQuery:
    """Return a question's significant words, its phrase, and the words left out."""
    all_words = tokenizer.split(text)
    distinctive = tokenizer.without_stop_words(all_words)
    terms, common = _prune(workspace_id, distinctive[:MAX_TERMS])
    phrase = tuple(all_words) if 2 <= len(all_words) <= MAX_PHRASE else ()
    stop = [w for w in dict.fromkeys(all_words) if w not in set(distinctive)]
    if common:
        # The phrase contains the common words too and would cost as much.
        phrase = ()
    ignored = (*stop, *common, *distinctive[MAX_TERMS:])
    return WordQuery(tuple(terms), phrase, ignored)


def _conditions(scope: WordScope) -> tuple[list[str], list[Any]]:
    """Return SQL conditions over ``e``, the entries table, for a scope."""
    where, params = ["e.workspace_id = %s"], [scope.workspace_id]
    alternatives = []
    for column, owner_id in (("crew_id", scope.crew_id), ("agent_id", scope.agent_id)):
        if owner_id is not None:
            alternatives.append(f"e.{column} = %s")
            params.append(owner_id)
    if alternatives:
        if scope.rules_crew_id is not None:
            alternatives.append(
                "(e.crew_id = %s AND e.agent_id IS NULL AND e.entry_type = %s)"
            )
            params += [scope.rules_crew_id, RULE_TYPE]
        where.append(f"({' OR '.join(alternatives)})")
    where.append("e.retired_at IS NULL AND e.restricted_at IS NULL")
    if scope.embeddable_only:
        where.append("e.embeddable")
    if scope.entry_types:
        marks = ", ".join(["%s"] * len(scope.entry_types))
        where.append(f"e.entry_type IN ({marks})")
        params += list(scope.entry_types)
    for moment, sign in ((scope.since, ">="), (scope.until, "<=")):
        if moment is not None:
            where.append(f"e.ts {sign} %s")
            params.append(str(connection.ops.adapt_datetimefield_value(moment)))
    return where, params


def _sqlite_hits(query: WordQuery, scope: WordScope, limit: int) -> list[WordHit]:
    parts = [quote(term) for term in query.terms]
    if query.phrase:
        parts.insert(0, quote(" ".join(query.phrase)))
    where, params = _conditions(scope)
    low, high = docids(scope.workspace_id)
    sql = (
        "SELECT e.id, -journal_fts.rank FROM journal_fts"  # noqa: S608
        " CROSS JOIN journal_entries e ON e.docid = journal_fts.rowid"
        " WHERE journal_fts MATCH %s AND journal_fts.rowid BETWEEN %s AND %s"
        f" AND {' AND '.join(where)} ORDER BY journal_fts.rank LIMIT %s"
    )
    args = [" OR ".join(parts), low, high, *params, limit]
    with connection.cursor() as cursor:
        cursor.execute(sql, args)
        return [WordHit(row[0], float(row[1])) for row in cursor.fetchall()]


def _postgres_hits(query: WordQuery, scope: WordScope, limit: int) -> list[WordHit]:
    phrase_query = "phraseto_tsquery('english', journal_fold(%s))"
    tsquery = " || ".join([phrase_query] * len(query.terms))
    where, params = _conditions(scope)
    sql = (
        f"WITH asked AS (SELECT ({tsquery}) AS q, {phrase_query} AS phrase)"  # noqa: S608
        " SELECT e.id, ts_rank_cd(e.tsv, asked.q, 33)"
        " + (e.tsv @@ asked.phrase)::int AS score"
        " FROM journal_entries e, asked"
        f" WHERE e.tsv @@ asked.q AND {' AND '.join(where)}"
        " ORDER BY score DESC, e.ts DESC, e.id LIMIT %s"
    )
    with connection.cursor() as cursor:
        phrase = " ".join(query.phrase)
        cursor.execute(sql, [*query.terms, phrase, *params, limit])
        return [WordHit(row[0], float(row[1])) for row in cursor.fetchall()]


def rank(query: WordQuery, scope: WordScope, limit: int) -> list[WordHit]:
    """Return the best entries for a word query, at most ``limit``, best first."""
    if query.is_empty:
        return []
    if is_sqlite():
        return _sqlite_hits(query, scope, limit)
    return _postgres_hits(query, scope, limit)


def matching_terms(
    workspace_id: str, terms: Sequence[str], entry_docids: dict[str, int]
) -> dict[str, list[str]]:
    """Return, per entry id, which of the terms its text holds; for explaining."""
    matches: dict[str, list[str]] = {entry_id: [] for entry_id in entry_docids}
    if not entry_docids:
        return matches
    low, high = docids(workspace_id)
    by_docid = {d: entry_id for entry_id, d in entry_docids.items() if low <= d <= high}
    if not by_docid:
        return matches
    marks = ", ".join(["%s"] * len(by_docid))
    if is_sqlite():
        sql = (
            "SELECT rowid FROM journal_fts"  # noqa: S608
            f" WHERE journal_fts MATCH %s AND rowid IN ({marks})"
        )
    else:
        sql = (
            "SELECT docid FROM journal_entries WHERE"  # noqa: S608
            " tsv @@ plainto_tsquery('english', journal_fold(%s))"
            f" AND docid IN ({marks})"
        )
    with connection.cursor() as cursor:
        for term in terms:
            text = quote(term) if is_sqlite() else term
            cursor.execute(sql, [text, *by_docid])
            for (docid,) in cursor.fetchall():
                matches[by_docid[docid]].append(term)
    return matches
