"""The words of entries on PostgreSQL: their table, and the keys they are found under.

The table is split by workspace. Beside the words stand the columns of the entry that
decide who may see it; database triggers keep them like the entry's. One GIN index has
a list of rows for each key. A key is a digest of the workspace's number and a term, so
that no question reads another tenant's list, but for two keys in four thousand million
that are equal by chance: every row is checked. A term has eight ``tiers``, by how much
it says in a text; the crew, the agent and the type of an entry have keys as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import md5
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory import workspace_numbers
from memory.rules.entries import SEQ_BITS
from memory.word_index import bare_questions, bm25, terms
from memory.word_index.columns import ASKS, TIMED

TABLE: Final = "journal_words"
PARTITIONS: Final = 16
TIERS: Final = 8
# The number of what is no term: it counts beside them, and has a tier of its own.
OTHER: Final = 1 << 32
_TIER_BITS: Final = 4
# Tiers are of a text of so many words: they must not change with a workspace.
_AVERAGE: Final = 25.0
_FACTORS: Final = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
# What stands beside the words, from a row ``e`` of the journal.
COLUMNS: Final = {
    "workspace_id": "e.workspace_id",
    "docid": "e.docid",
    "ts": "(extract(epoch FROM e.ts) * 1000000)::bigint",
    "recorded": "(extract(epoch FROM e.recorded_at) * 1000000)::bigint",
    # A number that the entries of a thread share, and no others.
    "thread": (
        "('x' || left(md5(e.workspace_id || chr(31) || coalesce("
        "'trace' || chr(31) || e.trace_id,"
        " coalesce(e.crew_id, '') || chr(31) || e.agent_id)), 16))::bit(64)::bigint"
    ),
    "usable": (
        "(e.retired_at IS NULL AND e.restricted_at IS NULL AND e.erased_at IS NULL)"
    ),
    "embeddable": "e.embeddable",
    "flags": (
        f"(CASE WHEN e.trace_id IS NULL THEN {TIMED} ELSE 0 END"
        f" + CASE WHEN {bare_questions.CONDITION} THEN {ASKS} ELSE 0 END)::smallint"
    ),
    "crew_id": "e.crew_id",
    "agent_id": "e.agent_id",
    "entry_type": "e.entry_type",
}
NAMES: Final = ", ".join(COLUMNS)
FROM_JOURNAL: Final = ", ".join(f"{sql} AS {name}" for name, sql in COLUMNS.items())
SPEAKS_SQL: Final = "w.usable AND w.embeddable"
# The planner counts a condition for every row it reads, so that reading all rows of a
# workspace looks as dear as comparing their keys is. It is called for none that counts.
KEYS_SQL: Final = (
    "w.keys && %s::int[] AND CASE WHEN w.usable THEN true ELSE word_row(w.docid) END"
)
# The second and third byte of stored words are the length of the text.
LENGTH_SQL: Final = "(get_byte(w.words, 1) + 256 * get_byte(w.words, 2))"
Numbers = NDArray[np.uint64]
# The crew, the agent and the type of an entry.
Owners = tuple[str | None, str | None, str]


def _mixed(
    workspaces: Numbers | int, tiers: Numbers | int, numbers: Numbers
) -> NDArray[np.int32]:
    """Return keys: 32 bits of the 64 that SplitMix64 makes of workspace, tier, term."""
    mixed = numbers | np.uint64(tiers) << np.uint64(32)
    mixed ^= np.uint64(workspaces) << np.uint64(32 + _TIER_BITS)
    for factor, shift in zip(_FACTORS, (30, 27), strict=True):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return (mixed >> np.uint64(32)).astype(np.uint32).view(np.int32)


def _tiers(counts: NDArray[np.uint8], lengths: NDArray[np.int64]) -> Numbers:
    """Return the tier of terms in their texts, the highest where they say most."""
    times = counts.astype(np.float64)
    share = times / (times + bm25.norms(lengths, _AVERAGE))
    return np.clip(12 * share - 3, 0, TIERS - 1).astype(np.uint64)


def keys_of(
    docids: Sequence[int],
    words: Sequence[bytes],
    columns: Sequence[Owners],
) -> list[list[int]]:
    """Return the keys of entries; columns are their crew, agent and type."""
    lists = terms.unpack(words)
    home = (np.array(docids, dtype=np.int64) >> SEQ_BITS).astype(np.uint64)
    lengths = np.repeat(lists.lengths.astype(np.int64), lists.sizes)
    of_terms = _mixed(
        np.repeat(home, lists.sizes),
        _tiers(lists.counts, lengths),
        lists.terms.astype(np.uint64),
    )
    parts = np.split(of_terms, np.cumsum(lists.sizes)[:-1])
    return [
        part.tolist()
        + [
            _of_number(int(number), of_column(name, value))
            for name, value in zip(
                ("crew_id", "agent_id", "entry_type"), row, strict=True
            )
            if value is not None
        ]
        for part, number, row in zip(parts, home, columns, strict=True)
    ]


def of_column(column: str, value: str) -> int:
    """Return the number of a crew, an agent or a type, which stands for no term."""
    digest = md5(f"{column}\x1f{value}".encode(), usedforsecurity=False).digest()
    return OTHER | int.from_bytes(digest[:4], "big")


def _of_number(workspace: int, number: int) -> int:
    rest = np.array([number & (OTHER - 1)], dtype=np.uint64)
    return int(_mixed(workspace, TIERS, rest)[0])


def keys(
    workspace_id: str, numbers: Iterable[int], tiers: Iterable[int] = range(TIERS)
) -> list[int]:
    """Return the keys of terms in some tiers, and of numbers of ``of_column``."""
    home, all_tiers = workspace_numbers.of(workspace_id), list(tiers)
    result: list[int] = []
    for number in numbers:
        if number & OTHER:
            result.append(_of_number(home, number))
        else:
            repeated = np.full(len(all_tiers), number, dtype=np.uint64)
            result += _mixed(
                home, np.array(all_tiers, dtype=np.uint64), repeated
            ).tolist()
    return result
