"""Words leave the journal, its chain holds, and nobody else can make it look so."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory import fulltext
from memory.journal import append as journal
from memory.journal import erasure, integrity, verify
from memory.journal.erasure import Remains
from memory.models import JournalEntry, PriorityChange, SubjectMention
from memory.rules import hashing
from memory.rules.entries import Priority
from tests.world import World

pytestmark = pytest.mark.django_db


def broken(world: World) -> list[str]:
    """Return the reasons of the breaks in the chain of acme."""
    report = verify.verify(world.acme.id, by=world.system())
    assert report.ok == (not report.breaks)
    return [fault.reason for fault in report.breaks]


def tamper(row: JournalEntry, **fields: Any) -> None:
    JournalEntry.objects.filter(pk=row.pk).update(**fields)


def fresh(row: JournalEntry) -> JournalEntry:
    return JournalEntry.objects.get(pk=row.pk)


def hits(world: World, text: str) -> int:
    words = fulltext.matching(world.acme.id, text)
    assert words is not None
    return JournalEntry.objects.filter(words).count()


def test_an_erased_entry_keeps_its_place_and_nothing_else(world: World) -> None:
    row = world.entry(
        "Zanzibar called", payload={"note": "Quetzal"}, refs={"a": "Okapi"},
        mission_id="m-zanzibar", trace_id="t-1", subjects=("zan@example.org",),
    )  # fmt: skip
    world.entry("after")
    assert hits(world, "zanzibar") == hits(world, "quetzal") == 1
    assert erasure.erase(world.acme.id, [row.id]) == 1
    erased = fresh(row)
    assert (erased.summary, erased.body, erased.payload_text, erased.refs_text) == (
        "", "", "{}", "{}",
    )  # fmt: skip
    assert (erased.mission_id, erased.trace_id, erased.salt) == (None, None, None)
    assert (erased.seq, erased.entry_hash, erased.commitment) == (
        row.seq, row.entry_hash, row.commitment,
    )  # fmt: skip
    assert not SubjectMention.objects.filter(entry_id=row.id).exists()
    assert hits(world, "zanzibar") == hits(world, "quetzal") == 0
    report = verify.verify(world.acme.id, by=world.system())
    assert (report.ok, report.erased, report.redacted) == (True, 1, 0)
    # Again changes nothing, and another workspace's hand does not reach it.
    assert erasure.erase(world.acme.id, [row.id]) == 0
    assert erasure.erase(world.other.id, [world.entry("mine").id]) == 0


def test_a_redacted_entry_says_what_is_left(world: World) -> None:
    row = world.entry("Zanzibar and Okapi", payload={"by": "Zanzibar", "n": 1})
    remains = Remains("[erased] and Okapi", {"by": "[erased]", "n": 1}, {}, {})
    assert erasure.redact(world.acme.id, {row.id: remains}) == 1
    now = fresh(row)
    assert (now.summary, now.payload) == (remains.summary, remains.payload)
    assert (hits(world, "zanzibar"), hits(world, "okapi")) == (0, 1)
    report = verify.verify(world.acme.id, by=world.system())
    assert (report.ok, report.erased, report.redacted) == (True, 0, 1)
    # What was masked once can be masked again, and erased.
    rest = Remains("[erased]", {}, {}, {})
    assert erasure.redact(world.acme.id, {row.id: rest}) == 1
    assert broken(world) == []
    assert erasure.erase(world.acme.id, [row.id]) == 1
    assert broken(world) == []
    before = JournalEntry.objects.filter(workspace=world.acme, seq=row.seq - 1).first()
    assert integrity.of(fresh(row), before) == "erased"


@pytest.mark.parametrize("words", ["Zanzibar", " "])
@pytest.mark.parametrize("column", ["summary", "body"])
def test_words_put_into_an_erased_entry_are_noticed(
    world: World, column: str, words: str
) -> None:
    row = world.entry("Zanzibar")
    erasure.erase(world.acme.id, [row.id])
    tamper(row, **{column: words})
    assert broken(world) == ["An erased entry holds words."]


@pytest.mark.parametrize(
    "change",
    [
        {"agent_id": "somebody"},
        {"mission_id": "m"},
        {"ts": timezone.now()},
        {"severity": "error"},
        {"entry_type": "a.b"},
        {"seal": None},
        {"seal": "0" * 64},
    ],
)
def test_a_column_beside_erased_words_is_sealed(
    world: World, change: dict[str, Any]
) -> None:
    row = world.entry("Zanzibar")
    erasure.erase(world.acme.id, [row.id])
    tamper(row, **change)
    assert broken(world) == ["It is marked as erased and nothing signed says so."]


def test_a_faked_erasure_is_noticed(world: World) -> None:
    row = world.entry("Zanzibar")
    tamper(
        row, summary="", body="", payload_text="{}", refs_text="{}", salt=None,
        erased_at=timezone.now(), embeddable=False,
    )  # fmt: skip
    assert broken(world) == ["It is marked as erased and nothing signed says so."]
    # With a guessed key it is no better.
    fake = hashing.seal(b"guess", row.entry_hash, "erased", journal.content(fresh(row)))
    tamper(row, seal=fake)
    assert broken(world) == ["It is marked as erased and nothing signed says so."]


def test_a_seal_does_not_fit_another_entry_or_act(world: World) -> None:
    first, second = world.entry("Zanzibar"), world.entry("Quetzal")
    erasure.erase(world.acme.id, [first.id])
    tamper(
        second, summary="", body="", payload_text="{}", refs_text="{}", salt=None,
        erased_at=timezone.now(), seal=fresh(first).seal,
    )  # fmt: skip
    assert len(broken(world)) == 1
    tamper(first, erased_at=None, redacted_at=timezone.now())
    assert len(broken(world)) == 2


def test_words_changed_after_a_redaction_are_noticed(world: World) -> None:
    row = world.entry("Zanzibar and Okapi")
    erasure.redact(world.acme.id, {row.id: Remains("[erased] and Okapi", {}, {}, {})})
    tamper(row, summary="Zanzibar and Okapi")
    assert broken(world) == ["It is marked as redacted and nothing signed says so."]


def test_an_untouched_entry_marked_as_erased_is_noticed(world: World) -> None:
    row = world.entry("Zanzibar")
    tamper(row, erased_at=timezone.now())
    assert broken(world) == ["It is marked as erased and was not."]


def test_the_ledger_of_a_priority_loses_its_words_and_keeps_its_steps(
    world: World,
) -> None:
    row = world.entry("Zanzibar")
    by = world.actor("operator")
    journal.prioritise(row, Priority.PIN, "Zanzibar is a friend", by=by)
    erasure.erase(world.acme.id, [row.id])
    step = PriorityChange.objects.get(entry_id=row.id)
    assert (step.priority, step.reason) == ("pin", "")
    assert broken(world) == []


def test_whoever_holds_something_hears_of_it_inside_the_transaction(
    world: World,
) -> None:
    row = world.indexed("Zanzibar")
    heard: list[tuple[str, list[str]]] = []

    def listen(kind: str, entry_ids: list[str], **_: Any) -> None:
        heard.append((kind, entry_ids))
        raise RuntimeError

    erasure.entries_left.connect(listen)
    try:
        with pytest.raises(RuntimeError):
            erasure.erase(world.acme.id, [row.id])
    finally:
        erasure.entries_left.disconnect(listen)
    assert heard == [("erased", [row.id])]
    # The one that could not follow kept everybody from going.
    assert fresh(row).summary == "Zanzibar"


@pytest.mark.sqlite
def test_nobody_waits_while_an_erasure_reads_and_reckons(world: World) -> None:
    row = world.entry("Zanzibar called")
    with CaptureQueriesContext(connection) as captured:
        erasure.erase(world.acme.id, [row.id])
    statements = [query["sql"] for query in captured.captured_queries]
    begins = [
        at for at, sql in enumerate(statements) if sql.startswith(("BEGIN", "SAVE"))
    ]
    assert statements[0].startswith("SELECT")
    assert "UPDATE journal_entries" in statements[begins[0] + 1]
