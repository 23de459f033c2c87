"""Records: remembered statements, each a chain of journal entries with one current.

One service under every contract and dialect. ``writing`` saves, revises, supersedes,
``batch`` saves many at once; ``erasure`` forgets; ``reading`` lists, ``ranked_search``
ranks, ``version_history`` reads former versions; ``access`` decides who reaches what.
"""

from __future__ import annotations

from memory.records.access import (
    current_records,
    is_expired,
    owner_for,
    owner_of,
    permit,
    reach,
    scope_of,
)
from memory.records.batch import (
    all_or_nothing,
    by_content,
    by_external_ids,
    keep_all,
    prepare_all,
)
from memory.records.chain import TYPES, subjects_of
from memory.records.counts import count, kinds, scopes
from memory.records.erasure import forget, forget_scope, forget_subject, retire_expired
from memory.records.ranked_search import find, search
from memory.records.reading import (
    by_external,
    every,
    facts,
    get,
    page,
    probe,
    repeated_answer,
    sources,
)
from memory.records.redaction import is_safe, unsafe_ids
from memory.records.types import (
    KEEP,
    Action,
    Amendment,
    Criteria,
    Hit,
    Match,
    Order,
    Page,
    Provenance,
    Saved,
    SearchResult,
    SimilarRecord,
    Version,
)
from memory.records.version_history import authors, history, versions
from memory.records.writing import (
    amend,
    draft_of,
    insert,
    keep,
    prepare,
    replace_content,
    revise,
    save,
    supersede,
)

__all__ = [
    "KEEP",
    "TYPES",
    "Action",
    "Amendment",
    "Criteria",
    "Hit",
    "Match",
    "Order",
    "Page",
    "Provenance",
    "Saved",
    "SearchResult",
    "SimilarRecord",
    "Version",
    "all_or_nothing",
    "amend",
    "authors",
    "by_content",
    "by_external",
    "by_external_ids",
    "count",
    "current_records",
    "draft_of",
    "every",
    "facts",
    "find",
    "forget",
    "forget_scope",
    "forget_subject",
    "get",
    "history",
    "insert",
    "is_expired",
    "is_safe",
    "keep",
    "keep_all",
    "kinds",
    "owner_for",
    "owner_of",
    "page",
    "permit",
    "prepare",
    "prepare_all",
    "probe",
    "reach",
    "repeated_answer",
    "replace_content",
    "retire_expired",
    "revise",
    "save",
    "scope_of",
    "scopes",
    "search",
    "sources",
    "subjects_of",
    "supersede",
    "unsafe_ids",
    "versions",
]
