"""A process's index follows the database, whoever wrote and however it ended."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from django.db import connection, transaction

from memory import fulltext
from memory.fulltext import WordScope
from memory.journal import erasure, visibility
from memory.models import EntryWords, JournalEntry, WordChange
from memory.word_index import columns, ranking, rows, segments, storage, terms
from memory.word_index.cache import indexes
from tests import factories
from tests.database import in_another_thread
from tests.memory.word_index.naive import Naive
from tests.world import World

pytestmark = pytest.mark.sqlite


def ids(world: World, text: str) -> set[str]:
    scope = WordScope(world.acme.id, embeddable_only=False)
    hits = ranking.search(fulltext.word_query(text), scope, 50).hits
    return {hit.entry_id for hit in hits}


def _loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the workspaces whose index is loaded."""
    loads: list[str] = []
    count = rows.count

    def counting(workspace_id: str) -> int:
        loads.append(workspace_id)
        return count(workspace_id)

    monkeypatch.setattr(rows, "count", counting)
    return loads


# ── What others commit ───────────────────────────────────────────────────────
def test_what_others_write_is_found_at_once_and_loaded_once(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, loads = shared_world, _loads(monkeypatch)
    first = world.entry("zeppelin one")
    assert ids(world, "zeppelin") == {first.id}
    second = in_another_thread(lambda: world.entry("zeppelin two"))
    assert ids(world, "zeppelin") == {first.id, second.id}
    in_another_thread(lambda: erasure.erase(world.acme.id, [first.id]))
    assert ids(world, "zeppelin") == {second.id}
    in_another_thread(lambda: visibility.restrict(world.acme.id, [second.id]))
    assert ids(world, "zeppelin") == set()
    in_another_thread(lambda: visibility.lift(world.acme.id, [second.id]))
    assert ids(world, "zeppelin") == {second.id}
    in_another_thread(lambda: JournalEntry.objects.filter(pk=second.id).delete())
    assert ids(world, "zeppelin") == set()
    assert loads == [world.acme.id]


def test_a_view_finds_its_own_entries_and_no_later_ones(shared_world: World) -> None:
    world = shared_world
    first = world.entry("zeppelin one")
    view = indexes.view(world.acme.id)
    second = world.entry("zeppelin two")
    later = indexes.view(world.acme.id)
    named = [second.id, first.id, "j_unknown", "j_" + "x" * 40, ""]
    assert view.find(named).tolist() == [-1, view.size - 1, -1, -1, -1]
    assert later.find(named).tolist() == [later.size - 1, view.size - 1, -1, -1, -1]
    JournalEntry.objects.filter(pk=first.id).delete()
    assert indexes.view(world.acme.id).find([first.id]).tolist() == [-1]


def test_an_entry_that_is_written_and_retired_before_the_question(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, loads = shared_world, _loads(monkeypatch)
    ids(world, "zeppelin")
    row = world.entry("zeppelin")
    visibility.retire(world.acme.id, [row.id])
    assert ids(world, "zeppelin") == set()
    assert loads == [world.acme.id]


# ── What is never committed ──────────────────────────────────────────────────
class _Undo(Exception):
    """Rolls a transaction back."""


def test_what_is_rolled_back_is_forgotten(shared_world: World) -> None:
    world = shared_world
    stays = world.entry("zeppelin stays")
    assert ids(world, "zeppelin") == {stays.id}
    with pytest.raises(_Undo), transaction.atomic():
        goes = world.entry("zeppelin goes")
        erasure.erase(world.acme.id, [stays.id])
        assert ids(world, "zeppelin") == {goes.id}
        raise _Undo
    assert ids(world, "zeppelin") == {stays.id}


def test_a_number_that_was_rolled_back_is_another_entrys(shared_world: World) -> None:
    world = shared_world
    ids(world, "zeppelin")
    with pytest.raises(_Undo), transaction.atomic():
        undone = world.entry("zeppelin undone")
        assert ids(world, "zeppelin") == {undone.id}
        raise _Undo
    row = world.entry("harbour instead")
    assert row.docid == undone.docid
    assert ids(world, "zeppelin") == set()
    assert ids(world, "harbour") == {row.id}
    # Each is found by its own id, and by no other.
    places = indexes.view(world.acme.id).find([undone.id, row.id]).tolist()
    assert places[0] == -1
    assert places[1] >= 0


def test_an_entry_whose_deletion_is_rolled_back_is_found_by_its_id(
    shared_world: World,
) -> None:
    world = shared_world
    row = world.entry("zeppelin")
    [place] = indexes.view(world.acme.id).find([row.id]).tolist()
    late = world.entry("zeppelin late")
    indexes.view(world.acme.id)
    with pytest.raises(_Undo), transaction.atomic():
        JournalEntry.objects.filter(pk__in=[row.id, late.id]).delete()
        view = indexes.view(world.acme.id)
        assert view.find([row.id, late.id]).tolist() == [-1, -1]
        raise _Undo
    view = indexes.view(world.acme.id)
    assert view.find([row.id, late.id]).tolist() == [place, place + 1]


def test_what_is_seen_in_a_transaction_is_there_after_it(shared_world: World) -> None:
    world = shared_world
    before = world.entry("zeppelin before")
    ids(world, "zeppelin")
    with transaction.atomic():
        row = world.entry("zeppelin")
        visibility.retire(world.acme.id, [before.id])
        assert ids(world, "zeppelin") == {row.id}
        assert in_another_thread(lambda: ids(world, "zeppelin")) == {before.id}
        assert ids(world, "zeppelin") == {row.id}
        in_another_thread(lambda: ids(world, "zeppelin"))
    assert ids(world, "zeppelin") == {row.id}


def test_an_index_that_was_loaded_in_a_transaction_is_loaded_again(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, loads = shared_world, _loads(monkeypatch)
    with transaction.atomic():
        ids(world, "zeppelin")
    ids(world, "zeppelin")
    ids(world, "zeppelin")
    assert len(loads) == 2


# ── The stored words ─────────────────────────────────────────────────────────
def test_words_are_stored_with_the_entry(world: World) -> None:
    row = world.entry("zeppelin", payload={"text": "dirigible"})
    stored = EntryWords.objects.get(pk=row.docid)
    # An author's name is before what the author wrote.
    assert bytes(stored.words) == terms.words_of("Ada: zeppelin", "dirigible")


def test_missing_words_are_computed_and_written_by_the_job(world: World) -> None:
    row = world.entry("zeppelin")
    EntryWords.objects.all().delete()
    indexes.clear()
    assert ids(world, "zeppelin") == {row.id}
    assert not EntryWords.objects.filter(pk=row.docid).exists()
    assert storage.fill() == JournalEntry.objects.count()
    stored = EntryWords.objects.get(pk=row.docid)
    assert bytes(stored.words) == terms.words_of("Ada: zeppelin", "")
    assert storage.fill() == 0


def test_words_that_are_stored_are_not_computed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = [world.entry(" ".join(["zeppelin"] * n)) for n in range(1, 7)]
    indexes.clear()

    def refuse(docids: Any) -> Any:
        raise AssertionError(docids)

    monkeypatch.setattr(rows, "read_words", refuse)
    assert ids(world, "zeppelin") == {entry.id for entry in entries}


def test_words_of_another_format_are_computed(world: World) -> None:
    row = world.entry("zeppelin")
    EntryWords.objects.filter(pk=row.docid).update(words=b"\x63abc")
    indexes.clear()
    assert ids(world, "zeppelin") == {row.id}


def test_an_old_log_makes_an_index_load_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = _loads(monkeypatch)
    monkeypatch.setattr(storage, "KEEP_CHANGES", 5)
    rows = [world.entry(f"zeppelin {n}") for n in range(3)]
    ids(world, "zeppelin")
    for _ in range(10):
        visibility.restrict(world.acme.id, [rows[0].id])
        visibility.lift(world.acme.id, [rows[0].id])
    visibility.retire(world.acme.id, [rows[1].id])
    assert storage.trim() == 16
    assert WordChange.objects.filter(kind="trim").count() == 1
    assert ids(world, "zeppelin") == {rows[0].id, rows[2].id}
    assert len(loads) == 2
    assert storage.trim() == 0


# ── What is erased ───────────────────────────────────────────────────────────
def test_nothing_of_an_erased_entry_is_left_in_memory(world: World) -> None:
    factories.append_many(world.actor("ada"), [f"harbour {n}" for n in range(40)])
    row = world.entry("zeppelin dirigible", trace_id="a trace")
    assert ids(world, "zeppelin") == {row.id}
    erasure.erase(world.acme.id, [row.id])
    assert not EntryWords.objects.filter(pk=row.docid).exists()
    indexes.catch_up(world.acme.id)
    view = indexes.view(world.acme.id)
    assert view.docids_with_words([row.docid]) == []
    for number in terms.of_text("zeppelin dirigible", ""):
        assert not any(number in segment.terms for segment in view.segments)
    at = view.rows(np.array([row.docid]))[0]
    assert view.columns.length[at] == 0
    JournalEntry.objects.filter(pk=row.id).delete()
    view = indexes.view(world.acme.id)
    assert view.columns.ids[at] == b""
    assert view.columns.thread[at] == view.columns.ts[at] == 0


def test_no_readable_word_is_kept_after_forgetting(world: World) -> None:
    world.entry("zeppelin")
    assert terms._of_short_word.cache_info().currsize
    ranking.forget(world.acme.id)
    assert not terms._of_short_word.cache_info().currsize


# ── Memory ───────────────────────────────────────────────────────────────────
def test_memory_is_bounded_and_the_last_one_asked_stays(
    world: World, settings: Any
) -> None:
    world.entry("zeppelin")
    world.entry("zeppelin", by="olga")
    for home in (world.acme.id, world.other.id):
        indexes.view(home)
    assert indexes.holds(world.acme.id) and indexes.holds(world.other.id)
    assert indexes.nbytes > 0
    settings.WORD_INDEX_MB = 0
    indexes.view(world.acme.id)
    assert indexes.holds(world.acme.id)
    assert not indexes.holds(world.other.id)
    assert ids(world, "zeppelin")


# ── Large ones ───────────────────────────────────────────────────────────────
@pytest.mark.parametrize("agent", [None, "ada"])
def test_skipping_common_words_changes_no_answer(
    world: World, agent: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memory.word_index import scoring

    monkeypatch.setattr(scoring, "MIN_SKIPPED", 0)
    # A part of the workspace is gone through by its own rows.
    monkeypatch.setattr(scoring, "SMALL_SHARE", 1)
    monkeypatch.setattr(segments, "MAX_ROWS", 32)
    texts = [
        " ".join(word for step, word in STEPS if number % step == 0) or "nothing"
        for number in range(1, 120)
    ]
    factories.append_many(world.actor("ada"), texts)
    factories.append_many(world.actor("bob"), texts[::-1])
    agent_id = world.agents[agent].id if agent else None
    scope = WordScope(world.acme.id, agent_id=agent_id)
    question = " ".join(word for _, word in STEPS)
    scores = Naive(question, scope).scores()
    is_pruned: list[int] = []
    only_candidates = scoring._only_candidates

    def watching(*args: Any) -> Any:
        rows = only_candidates(*args)
        is_pruned.append(rows is not None)
        return rows

    monkeypatch.setattr(scoring, "_only_candidates", watching)
    for limit in (1, 3, 10):
        answer = ranking.search(fulltext.word_query(question), scope, limit)
        for place, hits in enumerate((answer.hits, answer.context_hits)):
            best = sorted((pair[place] for pair in scores.values()), reverse=True)
            assert [hit.score for hit in hits] == pytest.approx(best[:limit], rel=1e-4)
    assert any(is_pruned)


def test_pruning_lets_in_no_row_that_holds_no_word() -> None:
    from memory.word_index import scoring

    # As near above what the rest may add as rounding goes.
    sums = np.array([1.00015, 0, 0], dtype=np.float32)
    assert scoring._only_candidates(sums, 1.0, 1) is None
    sums[0] = 1.01
    assert scoring._only_candidates(sums, 1.0, 1).tolist() == [0]  # type: ignore[union-attr]


STEPS = (
    (31, "zeppelin"), (17, "lantern"), (11, "granite"), (5, "harbour"),
    (2, "violin"), (1, "orchard"),
)  # fmt: skip


def test_everything_is_read_as_single_entries_are(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, trace in enumerate((None, 'a "b" \\ ', "é\u2028漢", "{},[]")):
        world.entry(f"note {number}", by=("ada", "lena")[number % 2], trace_id=trace)
    docids = list(
        JournalEntry.objects.filter(workspace=world.acme)
        .order_by("docid")
        .values_list("docid", flat=True)
    )
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM journal_words WHERE docid = %s", [docids[-1]])
        cursor.execute(
            "UPDATE journal_words SET words = %s WHERE docid = %s", [b"", docids[-2]]
        )
    monkeypatch.setattr(rows, "ROWS_AT_ONCE", 2)
    monkeypatch.setattr(rows, "CHUNK", 4)
    parts = list(rows.read_all(world.acme.id))
    assert len(parts) > 1
    all_at_once, single = columns.joined(parts), rows.read_docids(docids)
    assert all_at_once.docid.tolist() == docids
    for name in ("docid", "ids", "ts", "recorded", "thread", "flags"):
        assert getattr(all_at_once, name).tolist() == getattr(single, name).tolist()
    for name in ("crews", "agents", "types"):
        assert list(getattr(all_at_once, name)) == list(getattr(single, name))
    for name in ("terms", "counts", "sizes", "lengths"):
        both = (getattr(batch.words, name).tolist() for batch in (all_at_once, single))
        assert next(both) == next(both)
