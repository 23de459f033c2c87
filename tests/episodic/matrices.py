"""Matrices of made-up entries, without a database."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from episodic.vectors.matrix import Batch, Labels, Snapshot
from memory.word_index import entry_rows


def batch(
    ids: Sequence[str],
    vectors: NDArray[np.float32],
    importance: Sequence[float] | None = None,
    agents: Sequence[str | None] | None = None,
    crews: Sequence[str | None] | None = None,
    ts: Sequence[int] | None = None,
) -> Batch:
    """Return entries for a matrix; what is not given is the same for all."""
    count = len(ids)
    return Batch(
        ids=entry_rows.encode(ids),
        crews=Labels.of(crews or [None] * count),
        agents=Labels.of(agents or [None] * count),
        types=Labels.of(["t"] * count),
        ts=np.array(ts or [0] * count, dtype=np.int64),
        recorded=np.array(ts or [0] * count, dtype=np.int64) * 1_000,
        importance=np.array(importance or [1.0] * count, dtype=np.float32),
        vectors=vectors,
    )


def is_wiped(view: Snapshot, row: int) -> bool:
    """Whether no array holds a number of a row's vector any more."""
    vectors = view.columns.vectors
    numbers = [
        vectors.codes[row],
        vectors.scale[row],
        view.centre.along[row],
        view.centre.nearness[row],
    ]
    if vectors.exact is not None:
        numbers.append(vectors.exact[row])
    return not any(np.any(number) for number in numbers)
