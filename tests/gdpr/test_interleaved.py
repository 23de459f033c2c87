"""An erasure among other people's rows ends complete, however rows have moved."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from django.conf import settings
from django.db import connection

from episodic.index import sweep as index
from episodic.models import Embedding, State
from gdpr.models import Case, CaseState
from memory.journal import append as journal
from memory.models import JournalEntry
from memory.rules.entries import NewEntry
from tests import processes
from tests.gdpr import erasing
from tests.gdpr.erasing import MAIL
from tests.world import World

pytestmark = pytest.mark.sqlite

HEAD = 24
OTHER_PEOPLE = 600
DIM = 256


def _entry(number: int, rng: random.Random, text: str) -> NewEntry:
    words = " ".join(f"harbour{rng.randrange(900)}" for _ in range(rng.choice((3, 60))))
    return NewEntry(
        entry_type="memory.recorded",
        summary=f"Note {number} {text}",
        payload={"text": words},
    )


def _embed(world: World, rng: np.random.Generator) -> None:
    """Give every new entry a vector, after its row was written, as the sweep does."""
    index.discover(world.acme.id)
    rows = list(Embedding.objects.filter(state=State.PENDING))
    for row in rows:
        vector = rng.standard_normal(DIM, dtype=np.float32)
        row.vector, row.dim, row.state = vector.tobytes(), DIM, State.INDEXED
    Embedding.objects.bulk_update(rows, ["vector", "dim", "state"], batch_size=50)


def interleaved(world: World, rows: int, seed: int = 7) -> list[str]:
    """Write entries of which ``rows`` name Maria, in between; return their ids."""
    rng, vectors = random.Random(seed), np.random.default_rng(seed)
    owners = [True] * rows + [False] * OTHER_PEOPLE
    rng.shuffle(owners)
    news = [
        _entry(number, rng, f"{MAIL} zanzibar{number}quokka" if is_hers else "boats")
        for number, is_hers in enumerate(owners)
    ]
    own_ids = []
    for start in range(0, len(news), 200):
        part = slice(start, start + 200)
        written_text = journal.write(news[part], by=world.actor("ada"))
        own_ids += [
            row.id
            for row, is_hers in zip(written_text, owners[part], strict=True)
            if is_hers
        ]
        _embed(world, vectors)
    return own_ids


def _heads(ids: Sequence[str]) -> set[bytes]:
    vectors = Embedding.objects.filter(pk__in=ids).values_list("vector", flat=True)
    return {bytes(vector)[:HEAD] for vector in vectors}


def _bytes_of_files() -> bytes:
    paths = (path for path in settings.DATA_DIR.rglob("*") if path.is_file())
    return b"".join(processes.bytes_of(path) for path in paths)


@pytest.mark.parametrize("rows", [120, 255, 409])
def test_interleaved_rows_end_complete(shared_world: World, rows: int) -> None:
    world = shared_world
    own_ids = interleaved(world, rows)
    heads, texts = _heads(own_ids), _texts_of_others(own_ids)
    assert len(heads) == rows
    case = erasing.erased(world, erasing.maria(world))
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    assert not _is_rewritten(case)
    content = _bytes_of_files()
    assert [head for head in heads if head in content] == []
    assert re.findall(rb"zanzibar\d+quokka", content) == []
    assert _texts_of_others(own_ids) == texts


def _texts_of_others(own_ids: Sequence[str]) -> list[Any]:
    """Return every value of rows that stay, as SQLite has them."""
    other_items = JournalEntry.objects.exclude(pk__in=own_ids)
    other_items = other_items.exclude(entry_type__startswith="gdpr.")
    vectors = Embedding.objects.exclude(pk__in=own_ids)
    vectors = vectors.filter(pk__in=other_items.values("pk"))
    return [list(rows.order_by("pk").values_list()) for rows in (other_items, vectors)]


def _is_rewritten(case: Case) -> bool:
    return bool(case.steps.get(name="residue").counts.get("rewritten"))


def test_the_database_is_sound_afterwards(shared_world: World) -> None:
    interleaved(shared_world, 120)
    erasing.erased(shared_world, erasing.maria(shared_world))
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA integrity_check")
        assert cursor.fetchall() == [("ok",)]
        for name in ("journal_fts", "chunks_fts"):
            check = f"INSERT INTO {name}({name}, rank) VALUES ('integrity-check', 1)"
            cursor.execute(check)
