"""Verification: what was changed behind the journal's back is found, and named."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from memory.journal import append as journal
from memory.journal import chain_scan, integrity
from memory.journal import verify as journal_verify
from memory.models import ChainCheckpoint, ChainHead, JournalEntry
from memory.rules import errors, hashing
from memory.rules.entries import Priority
from tests import factories
from tests.memory.chains import attest, erase, kinds, tamper, verify
from tests.world import World

FIELDS = st.lists(st.none() | st.text(max_size=6), max_size=5)


# ── The pure part ────────────────────────────────────────────────────────────
@given(FIELDS, FIELDS)
def test_framed_fields_never_run_into_each_other(
    left: list[str | None], right: list[str | None]
) -> None:
    are_equal = [v or "" for v in left] == [v or "" for v in right]
    assert (hashing.frame(left) == hashing.frame(right)) is are_equal


def test_a_checkpoint_is_signed_for_one_workspace_and_one_set() -> None:
    pairs = [(2, "b"), (1, "a")]
    mac = hashing.checkpoint_mac(b"k", "ws", pairs)
    assert mac == hashing.checkpoint_mac(b"k", "ws", list(reversed(pairs)))
    assert mac != hashing.checkpoint_mac(b"k", "ws2", pairs)
    assert mac != hashing.checkpoint_mac(b"k", "ws", pairs[:1])
    assert mac != hashing.checkpoint_mac(b"k2", "ws", pairs)


# ── A whole chain ────────────────────────────────────────────────────────────
def test_an_untouched_chain_holds(world: World) -> None:
    rows = [world.entry() for _ in range(3)]
    report = verify(world)
    assert (report.ok, report.erased, report.checkpoints) == (True, 0, 0)
    assert report.count == rows[-1].seq


def test_a_workspace_without_entries_holds(world: World) -> None:
    JournalEntry.objects.filter(workspace=world.other).delete()
    ChainHead.objects.filter(pk=world.other.id).delete()
    report = journal_verify.verify(world.other.id, by=world.actor("stranger"))
    assert (report.ok, report.count) == (True, 0)


WALKS = [journal_verify.verify, journal_verify.verify_links]


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize("actor", ["ada", "viewer", "compliance"])
def test_walking_needs_an_operator(world: World, walk: Any, actor: str) -> None:
    with pytest.raises(errors.Forbidden):
        walk(world.acme.id, by=world.actor(actor))


@pytest.mark.parametrize("walk", WALKS)
def test_a_chain_of_another_workspace_is_not_found(world: World, walk: Any) -> None:
    with pytest.raises(errors.NotFound):
        walk(world.acme.id, by=world.actor("stranger"))


def test_a_progress_display_sees_every_row_and_the_total(world: World) -> None:
    world.entry()
    totals: list[int] = []

    def watch(rows: Iterable[JournalEntry], total: int) -> Iterable[JournalEntry]:
        totals.append(total)
        for row in rows:
            totals.append(row.seq)
            yield row

    report = journal_verify.verify(world.acme.id, by=world.system(), watch=watch)
    assert totals == [report.count, *range(1, report.count + 1)]


def test_entries_appended_during_the_walk_are_not_judged(world: World) -> None:
    world.entry()

    def busy(rows: Iterable[JournalEntry], _total: int) -> Iterable[JournalEntry]:
        for row in list(rows):
            if row.seq == 1:
                journal.write([factories.new()], by=world.system())
            yield row

    report = journal_verify.verify(world.acme.id, by=world.system(), watch=busy)
    assert report.ok, report.breaks
    assert verify(world).ok


def test_a_priority_set_during_the_walk_is_no_break(world: World) -> None:
    row = world.entry()

    def busy(rows: Iterable[JournalEntry], _total: int) -> Iterable[JournalEntry]:
        journal.prioritise(row, Priority.PIN, "", by=world.actor("operator"))
        yield from rows

    report = journal_verify.verify(world.acme.id, by=world.system(), watch=busy)
    assert report.ok, report.breaks


# ── Tampering ────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("summary", "something else"),
        ("payload_text", '{"a":2}'),
        ("payload_text", "not JSON"),
        ("refs_text", '{"b":1}'),
        ("body", "other words in the index"),
        ("entry_type", "peer.conversation"),
        ("severity", "error"),
        ("actor_type", "user"),
        ("actor_id", "somebody"),
        ("crew_id", "crew_x"),
        ("crew_id", None),
        ("agent_id", "agent_x"),
        ("mission_id", "m"),
        ("trace_id", "t"),
        ("span_id", "s"),
        ("expires_at", timezone.now()),
        ("priority_at_emit", "permanent"),
        ("id", "j_0000000000000000"),
        ("salt", b"x" * 16),
        ("salt", b""),
        ("erased_at", timezone.now()),
    ],
)
def test_a_changed_field_is_a_content_break(
    world: World, field: str, value: Any
) -> None:
    row = world.entry(payload={"a": 1})
    tamper(row, **{field: value})
    report = verify(world)
    assert not report.ok
    assert "content_break" in {fault.kind for fault in report.breaks}
    assert report.breaks[0].seq == row.seq


def test_a_moved_moment_is_a_content_break(world: World) -> None:
    row = world.entry()
    tamper(row, ts=row.ts + timedelta(milliseconds=1))
    assert kinds(world) == {"content_break"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("prev_hash", "0" * 64),
        ("prev_hash", ""),
        ("prev_hash", "not hexadecimal"),
        ("entry_hash", "0" * 64),
        ("entry_hash", ""),
        ("commitment", "0" * 64),
        ("commitment", "zz"),
    ],
)
def test_a_changed_hash_is_a_broken_link(world: World, field: str, value: str) -> None:
    row = world.entry()
    world.entry()
    tamper(row, **{field: value})
    assert "broken_link" in kinds(world)


def test_a_row_moved_in_the_word_index_is_noticed(world: World) -> None:
    row = world.entry()
    tamper(row, docid=(world.other.number << 40) + 999_999)
    assert kinds(world) == {"content_break"}


def test_a_salt_taken_without_an_erasure_is_noticed(world: World) -> None:
    tamper(world.entry(), salt=None)
    assert kinds(world) == {"content_break"}


def test_a_missing_entry_is_a_gap(world: World) -> None:
    row = world.entry()
    last = world.entry()
    row.delete()
    report = verify(world)
    assert [(b.kind, b.seq) for b in report.breaks] == [("gap", row.seq)]
    assert last.seq == report.count + 1


def test_a_cut_tail_is_missed(world: World) -> None:
    world.entry()
    world.entry().delete()
    assert kinds(world) == {"gap"}


def test_a_tail_cut_together_with_the_head_is_missed(world: World) -> None:
    row = world.entry()
    world.entry().delete()
    head = ChainHead.objects.filter(pk=world.acme.id)
    head.update(seq=row.seq, entry_hash=row.entry_hash)
    assert kinds(world) == {"tail_missing"}


def test_a_chain_ends_where_its_signed_head_says(world: World) -> None:
    row = world.entry()
    mac = hashing.head_mac(journal.key(), world.acme.id, row.seq, "0" * 64)
    head = ChainHead.objects.filter(pk=world.acme.id)
    head.update(entry_hash="0" * 64, mac=mac)
    breaks = [(fault.kind, fault.reason) for fault in verify(world).breaks]
    assert breaks == [("tail_missing", "The chain ends somewhere else.")]
    assert _summary(_verify_links(world)) == _summary(verify(world))


@pytest.mark.parametrize("field", ["seq", "entry_hash", "mac"])
def test_a_changed_head_is_said_and_every_entry_still_checked(
    world: World, field: str
) -> None:
    rows = [world.entry() for _ in range(3)]
    value = 1 if field == "seq" else "0" * 64
    ChainHead.objects.filter(pk=world.acme.id).update(**{field: value})
    report = verify(world)
    assert [fault.reason for fault in report.breaks] == ["The signed end was changed."]
    assert report.count == rows[-1].seq
    assert _summary(_verify_links(world)) == _summary(report)
    tamper(rows[2], commitment="0" * 64)
    assert "broken_link" in {fault.kind for fault in _verify_links(world).breaks}


def test_missing_entries_side_by_side_are_one_gap(world: World) -> None:
    rows = [world.entry() for _ in range(7)]
    for row in (rows[1], rows[2], rows[4]):
        JournalEntry.objects.filter(pk=row.pk).delete()
    gaps = [("gap", rows[1].seq), ("gap", rows[4].seq)]
    assert [(fault.kind, fault.seq) for fault in verify(world).breaks] == gaps
    assert _summary(_verify_links(world)) == _summary(verify(world))


def test_what_left_on_purpose_keeps_its_place_in_the_chain(world: World) -> None:
    rows = [world.entry() for _ in range(4)]
    attest(world, rows[1:3])
    tamper(rows[3], prev_hash=rows[0].entry_hash)
    broken = [(fault.kind, fault.seq) for fault in verify(world).breaks]
    # It follows another entry than the one that left, and its hash says so too.
    assert broken[:2] == [("broken_link", rows[3].seq)] * 2


def test_a_head_that_was_removed_is_missed(world: World) -> None:
    world.entry()
    ChainHead.objects.filter(pk=world.acme.id).delete()
    assert kinds(world) == {"tail_missing"}


def test_every_break_is_counted_and_a_hundred_are_named(world: World) -> None:
    for _ in range(105):
        world.entry()
    rows = JournalEntry.objects.filter(workspace=world.acme)
    rows.update(summary="changed")
    report = verify(world)
    assert report.break_count == rows.count() > 100
    assert len(report.breaks) == 100


# ── Erasure and compaction ───────────────────────────────────────────────────
def test_an_erased_entry_verifies_and_is_counted(world: World) -> None:
    world.entry()
    erase(world.entry("Jan Novák asked for a refund"))
    world.entry()
    report = verify(world)
    assert (report.ok, report.erased) == (True, 1)


@pytest.mark.parametrize(
    "words",
    [
        {"payload_text": '{"new":"words"}'},
        {"payload_text": "no JSON"},
        {"summary": "x"},
        {"refs_text": '{"a":1}'},
    ],
)
def test_words_put_into_an_erased_entry_are_noticed(
    world: World, words: dict[str, str]
) -> None:
    row = world.entry()
    erase(row)
    tamper(row, **words)
    assert kinds(world) == {"content_break"}


def test_a_signed_checkpoint_covers_what_left(world: World) -> None:
    rows = [world.entry() for _ in range(4)]
    attest(world, rows[1:3])
    report = verify(world)
    assert (report.ok, report.checkpoints) == (True, 1)


def test_a_checkpoint_may_cover_the_tail_and_the_beginning(world: World) -> None:
    rows = [world.entry() for _ in range(2)]
    attest(world, rows[1:])
    attest(world, JournalEntry.objects.filter(workspace=world.acme, seq__lte=2))
    assert verify(world).ok
    world.entry()
    assert verify(world).ok


@pytest.mark.parametrize("fault", ["forged", "widened", "replayed"])
def test_a_checkpoint_that_is_not_ours_covers_nothing(world: World, fault: str) -> None:
    rows = [world.entry() for _ in range(4)]
    attest(world, rows[1:2], mac="0" * 64 if fault == "forged" else None)
    point = ChainCheckpoint.objects.get()
    if fault == "widened":
        point.removed = [*point.removed, [rows[2].seq, rows[2].entry_hash]]
    if fault == "replayed":
        foreign_pairs = [(row[0], row[1]) for row in point.removed]
        point.mac = hashing.checkpoint_mac(journal.key(), world.other.id, foreign_pairs)
    point.save()
    report = verify(world)
    assert report.checkpoints == 0
    assert "gap" in {fault.kind for fault in report.breaks}


@pytest.mark.parametrize("value", [0, 7, [[1]], [["x", "y"]], {"a": 1}])
def test_a_checkpoint_full_of_nonsense_covers_nothing(
    world: World, value: object
) -> None:
    ChainCheckpoint.objects.create(workspace=world.acme, removed=value, mac="0" * 64)
    report = verify(world)
    assert (report.ok, report.checkpoints) == (True, 0)


# ── One entry's verdict ──────────────────────────────────────────────────────
def test_the_verdict_on_one_entry(world: World) -> None:
    before, row = world.entry(), world.entry()
    assert integrity.of(row, before) == "holds"
    row.prev_hash = "zz"
    assert integrity.of(row, before) == "broken"
    row.refresh_from_db()
    row.summary = "changed"
    assert integrity.of(row, before) == "broken"
    erase(row)
    row.refresh_from_db()
    assert integrity.of(row, before) == "erased"


def test_the_database_refuses_a_number_given_twice(world: World) -> None:
    first, second = world.entry(), world.entry()
    with pytest.raises(IntegrityError), transaction.atomic():
        tamper(second, seq=first.seq)
    assert connection.is_usable()


# ── Links only ───────────────────────────────────────────────────────────────
def _verify_links(world: World) -> journal_verify.Report:
    return journal_verify.verify_links(world.acme.id, by=world.system())


def _summary(report: journal_verify.Report) -> tuple[Any, ...]:
    breaks = [
        (fault.kind, fault.seq, fault.entry_id, fault.reason) for fault in report.breaks
    ]
    return report.count, report.erased, report.redacted, breaks


@pytest.fixture(params=[3, 5_000])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Read links in few or in many at once."""
    monkeypatch.setattr(chain_scan, "CHUNK", request.param)
    return int(request.param)


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize("at", [0, 1, 4, 9])
@pytest.mark.parametrize(
    "changes",
    [
        {"prev_hash": "0" * 64},
        {"entry_hash": "f" * 64},
        {"commitment": "1" * 64},
        {"commitment": ""},
        {"entry_hash": "no hash at all"},
        {"prev_hash": "AB" * 32},
        {"seq": 10_000},
        {"seal": "0" * 64, "salt": None},
    ],
)
def test_a_walk_of_links_finds_what_a_whole_walk_finds(
    world: World, changes: dict[str, Any], at: int
) -> None:
    rows = [world.entry() for _ in range(10)]
    erase(rows[2])
    erase(rows[6])
    assert _summary(_verify_links(world)) == _summary(verify(world))
    assert _verify_links(world).ok
    tamper(rows[at], **changes)
    breaks = [fault for fault in verify(world).breaks if fault.kind != "priority_break"]
    assert breaks
    link_breaks = {(fault.kind, fault.seq) for fault in _verify_links(world).breaks}
    full_breaks = {(fault.kind, fault.seq) for fault in breaks}
    # What an untouched entry says is not read.
    assert link_breaks <= full_breaks
    assert {
        fault for fault in full_breaks if fault[0] != "content_break"
    } <= link_breaks


@pytest.mark.usefixtures("chunk")
def test_a_walk_of_links_crosses_what_left_on_purpose(world: World) -> None:
    rows = [world.entry() for _ in range(12)]
    attest(world, rows[4:7])
    erase(rows[9])
    assert _summary(_verify_links(world)) == _summary(verify(world))
    assert _verify_links(world).ok
    JournalEntry.objects.filter(pk=rows[8].pk).delete()
    assert [fault.kind for fault in _verify_links(world).breaks] == ["gap"]


def test_capitals_are_no_hash() -> None:
    key, prev, committed = b"k", "ab" * 32, "cd" * 32
    digest = hashing.link(key, prev, committed)
    assert hashing.is_unbroken(key, prev, prev + committed + digest, 1)
    assert not hashing.is_unbroken(key, prev, prev + committed + digest.upper(), 1)
    assert not hashing.is_unbroken(key, prev, f" {prev}{committed}{digest}", 1)
    assert not hashing.is_unbroken(key, prev, prev + committed + digest, 2)
    assert not hashing.is_unbroken(key, "00" * 32, prev + committed + digest, 1)
