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
