"""The fast check of links: what a run says, and what is no run."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.journal import chain_scan, erasure, verify
from memory.models import JournalEntry
from tests.world import World


@pytest.fixture
def rows(world: World) -> list[JournalEntry]:
    """Return seven entries, of which the second and the fifth are erased."""
    entries = []
    for number in range(7):
        entries.append(world.entry(f"Entry {number}"))
        world.entry("between", by="olga")
    erasure.erase(world.acme.id, [entries[1].id, entries[4].id])
    return entries


def run_after(
    row: JournalEntry, prev: str | None = None, end: int = 10_000
) -> chain_scan.Run | None:
    before = row.entry_hash if prev is None else prev
    return chain_scan.unbroken_run(row.workspace_id, row.seq, before, end)


def test_a_run_says_how_many_hold_where_they_end_and_what_is_sealed(
    rows: list[JournalEntry], monkeypatch: pytest.MonkeyPatch
) -> None:
    last = rows[6]
    whole = (6, last.seq, last.entry_hash, [rows[1].id, rows[4].id])
    assert run_after(rows[0]) == whole
    assert run_after(rows[4]) == (2, last.seq, last.entry_hash, [])
    part = (2, rows[2].seq, rows[2].entry_hash, [rows[1].id])
    assert run_after(rows[0], end=rows[2].seq) == part
    monkeypatch.setattr(chain_scan, "CHUNK", 3)
    part = (3, rows[3].seq, rows[3].entry_hash, [rows[1].id])
    assert run_after(rows[0]) == part


def test_where_nothing_follows_there_is_no_run(rows: list[JournalEntry]) -> None:
    assert run_after(rows[6]) is None
    assert run_after(rows[2], end=rows[2].seq) is None
    assert run_after(rows[0], prev="") is None
    assert run_after(rows[0], prev=rows[1].entry_hash) is None


@pytest.mark.parametrize("at", [1, 3, 6])
@pytest.mark.parametrize(
    "changes",
    [
        {"prev_hash": "0" * 64},
        {"commitment": "0" * 64},
        {"entry_hash": "0" * 64},
        {"commitment": ""},
        {"entry_hash": "0" * 63},
        {"seq": 10_000},
    ],
)
def test_with_a_link_that_does_not_hold_there_is_no_run(
    rows: list[JournalEntry], changes: dict[str, Any], at: int
) -> None:
    JournalEntry.objects.filter(pk=rows[at].pk).update(**changes)
    assert run_after(rows[0]) is None


@pytest.mark.parametrize("at", [1, 3])
def test_with_an_entry_missing_there_is_no_run(
    rows: list[JournalEntry], at: int
) -> None:
    JournalEntry.objects.filter(pk=rows[at].pk).delete()
    assert run_after(rows[0]) is None


# PostgreSQL's column holds 64 characters, and no hash that is longer.
@pytest.mark.sqlite
def test_hashes_that_are_shifted_between_columns_are_no_run(
    rows: list[JournalEntry],
) -> None:
    row = rows[3]
    JournalEntry.objects.filter(pk=row.pk).update(
        prev_hash=row.prev_hash[:-1], commitment=row.prev_hash[-1] + row.commitment
    )
    assert run_after(rows[0]) is None


def test_an_id_that_looks_like_two_is_no_run(rows: list[JournalEntry]) -> None:
    erased = JournalEntry.objects.filter(pk=rows[4].pk)
    erased.update(id="j_1,j_2")
    assert run_after(rows[0]) is None


def test_the_next_links_are_one_at_the_start_and_a_chunk_later(
    rows: list[JournalEntry], monkeypatch: pytest.MonkeyPatch
) -> None:
    home, first = rows[0].workspace_id, rows[0].seq
    links = chain_scan.next_links(home, 0, 10_000)
    assert [link.seq for link in links] == [1]
    monkeypatch.setattr(chain_scan, "CHUNK", 3)
    links = chain_scan.next_links(home, first, 10_000)
    assert [link.id for link in links] == [row.id for row in rows[1:4]]
    assert [bool(link.is_sealed) for link in links] == [True, False, False]
    links = chain_scan.next_links(home, first, rows[1].seq)
    assert [link.id for link in links] == [rows[1].id]


def test_a_chain_that_holds_is_read_in_chunks(world: World) -> None:
    def query_count() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert verify.verify_links(world.acme.id, by=world.system()).ok
        return len(queries)

    world.entry()
    few = query_count()
    for _ in range(20):
        world.entry()
    assert query_count() == few
