"""Records: remembered statements, each a chain of journal entries with one current.

One service under every contract and dialect. ``writing`` saves, revises, supersedes,
``batch`` saves many at once; ``erasure`` forgets; ``reading`` lists, ``ranked_search``
ranks, ``version_history`` reads former versions; ``access`` decides who reaches what.
"""

from __future__ import annotations

from memory.records.access import (
    is_expired,
    mine,
    owner_for,
    owner_of,
    permit,
    reach,
    scope_of,
)
from memory.records.batch import all_or_nothing, called, keep_all, prepare_all, saying
from memory.records.chain import TYPES, named
from memory.records.counts import count, kinds, scopes
from memory.records.erasure import forget, forget_scope, forget_subject, retire_expired
from memory.records.ranked_search import find, search
from memory.records.reading import (
    by_external,
    facts,
    get,
    page,
    probe,
    sources,
    told_again,
)
from memory.records.redaction import is_safe, withheld
from memory.records.types import (
    KEEP,
    Action,
    Alike,
    Amendment,
    Found,
    Hit,
    Match,
    Order,
    Page,
    Provenance,
    Saved,
    Version,
    Wanted,
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
    "Alike",
    "Amendment",
    "Found",
    "Hit",
    "Match",
    "Order",
    "Page",
    "Provenance",
    "Saved",
    "Version",
    "Wanted",
    "all_or_nothing",
    "amend",
    "authors",
    "by_external",
    "called",
    "count",
    "draft_of",
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
    "mine",
    "named",
    "owner_for",
    "owner_of",
    "page",
    "permit",
    "prepare",
    "prepare_all",
    "probe",
    "reach",
    "replace_content",
    "retire_expired",
    "revise",
    "save",
    "saying",
    "scope_of",
    "scopes",
    "search",
    "sources",
    "supersede",
    "told_again",
    "versions",
    "withheld",
]
