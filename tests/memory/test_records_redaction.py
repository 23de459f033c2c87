"""What no model may see is not there for an agent: not listed, not counted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory import records
from memory.files.quarantine import HeldForReview
from memory.integrations.atomicmemory.provider import statistics
from memory.integrations.atomicmemory.provider.statistics import RecordScope
from memory.models import HeldFile, Record
from memory.records import Amendment, Criteria, Order, Provenance, reading, redaction
from memory.records.drafts import Draft, Scope
from memory.review import decide as review
from memory.review.decide import Decision
from memory.rules.permissions import Actor
from memory.stored_files.store import digest
from tests.world import ATTACK, World

PROVENANCE = Provenance.AGENT_EXTRACTED
BAD = (1, 4, 6)
COUNT = 8
MATCH_ALL = {"field": "kind", "op": "eq", "value": "statement"}


@pytest.fixture
def ada(world: World) -> Actor:
    return world.actor("ada")


def text(number: int) -> str:
    return f"Note {number}. {ATTACK}" if number in BAD else f"Note {number}."


@pytest.fixture
def notes(ada: Actor) -> list[Record]:
    """Return notes, some of them as a rule of tomorrow would hold them."""
    owner = records.owner_for(ada)
    new_drafts = [
        Draft(content=text(n), owner=owner, scope=Scope(user=f"u{n % 2}"))
        for n in range(COUNT)
    ]
    return [
        row for row, _ in records.keep_all(new_drafts, provenance=PROVENANCE, by=ada)
    ]


def contents(by: Actor, **criteria: Any) -> list[str]:
    """Return what a caller finds that goes on until there is no more."""
    texts: list[str] = []
    cursor: str | None = None
    while True:
        page = records.page(Criteria(**criteria), limit=2, cursor=cursor, by=by)
        texts += [row.content for row in page.rows]
        cursor = page.next_cursor
        if cursor is None:
            return texts
        assert len(page.rows) == 2


@pytest.mark.usefixtures("notes")
@pytest.mark.parametrize(
    "criteria",
    [
        {},
        {"scope": Scope(user="u0")},
        {"filter": MATCH_ALL},
        {"text": "note"},
        {"as_of": timedelta(hours=1)},
    ],
)
def test_an_agent_is_told_of_as_many_as_it_can_list(
    ada: Actor, world: World, criteria: dict[str, Any]
) -> None:
    if "as_of" in criteria:
        criteria = {"as_of": timezone.now() + criteria["as_of"]}
    visible = contents(ada, **criteria)
    assert records.count(Criteria(**criteria), by=ada) == len(visible)
    assert not [content for content in visible if ATTACK in content]
    # A person decides about them, so a person sees them.
    person = world.actor("operator")
    full_page = records.page(Criteria(**criteria), limit=50, by=person).rows
    assert (
        records.count(Criteria(**criteria), by=person) == len(full_page) > len(visible)
    )


@pytest.mark.usefixtures("notes")
@pytest.mark.parametrize("criteria", [Criteria(), Criteria(filter=MATCH_ALL)])
@pytest.mark.parametrize("order", list(Order))
def test_pages_by_number_are_full_and_hold_each_once(
    ada: Actor, criteria: Criteria, order: Order
) -> None:
    pages = [
        records.page(criteria, limit=2, offset=start, order=order, by=ada).rows
        for start in range(0, COUNT, 2)
    ]
    assert [len(page) for page in pages] == [2, 2, 1, 0]
    page_contents = [row.content for page in pages for row in page]
    assert sorted(page_contents) == [text(n) for n in range(COUNT) if n not in BAD]


@pytest.mark.usefixtures("notes")
def test_many_of_them_are_passed_over_by_hand(
    ada: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_HIDDEN", 1)
    criteria = Criteria()
    page = records.page(criteria, limit=9, offset=3, order=Order.OLDEST, by=ada)
    assert [row.content for row in page.rows] == ["Note 5.", "Note 7."]


@pytest.mark.usefixtures("notes")
def test_the_names_of_a_scope_count_what_can_be_seen(ada: Actor, world: World) -> None:
    def scope_counts(by: Actor) -> list[tuple[str, int]]:
        return records.scopes("user", owner=None, by=by)

    assert scope_counts(ada) == [("u0", 2), ("u1", 3)]
    assert scope_counts(world.actor("operator")) == [("u0", 4), ("u1", 4)]


@pytest.mark.usefixtures("notes")
def test_a_scopes_ledger_adds_up(ada: Actor) -> None:
    desk = RecordScope(records.owner_for(ada), Scope(), ada)
    assert statistics.cap(desk)["active_memories"] == COUNT - len(BAD)
    assert statistics.stats(desk)["count"] == COUNT - len(BAD)
    summary = statistics.summary(desk)
    assert (summary["active_versions"], summary["superseded_versions"]) == (5, 0)
    assert summary["total_claims"] == 5
    assert len(statistics.recent(desk, 50)) == 5


def test_a_released_text_counts_again(ada: Actor, world: World) -> None:
    owner = records.owner_for(ada)
    with pytest.raises(HeldForReview) as caught:
        records.save(Draft(content=ATTACK, owner=owner), provenance=PROVENANCE, by=ada)
    assert records.count(Criteria(), by=ada) == 0
    held_file = HeldFile.objects.get(pk=caught.value.fields["held_id"])
    by = world.actor("operator")
    review.decide(
        held_file, Decision.RELEASE, version=held_file.version, reason="fine", by=by
    )
    assert records.count(Criteria(), by=ada) == len(contents(ada)) == 1


def test_a_corrected_record_counts_again(ada: Actor, notes: list[Record]) -> None:
    change = Amendment(content="Note 1, said well.")
    by = ada
    row = Record.objects.get(pk=notes[1].id)
    records.amend(row, change, provenance=PROVENANCE, by=by)
    assert (
        records.count(Criteria(), by=ada) == len(contents(ada)) == COUNT - len(BAD) + 1
    )


def test_counting_again_reads_no_text_again(
    ada: Actor, notes: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redaction, "_verdicts", redaction._Verdicts())
    assert records.count(Criteria(), by=ada) == COUNT - len(BAD)
    texts: list[str] = []
    plain = redaction._Verdicts.is_held

    def is_held(self: Any, text: str) -> bool:
        texts.append(text)
        return plain(self, text)

    monkeypatch.setattr(redaction._Verdicts, "is_held", is_held)
    assert records.count(Criteria(), by=ada) == COUNT - len(BAD)
    # Those that are held are looked at once more: somebody may have let them pass.
    assert sorted(texts) == sorted(notes[n].content for n in BAD)


def test_verdicts_are_kept_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = redaction._Verdicts(size=2)
    monkeypatch.setattr(redaction, "_verdicts", verdicts)
    for text in ("One.", "Two.", "Three."):
        assert not verdicts.is_held(text)
    assert len(verdicts._known) == 2
    assert verdicts.get("") is None


@pytest.mark.usefixtures("notes")
def test_a_page_never_walks_through_all_that_is_withheld(
    ada: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "SCAN_LIMIT", 2)
    looked: list[str] = []
    is_safe = redaction.is_safe

    def noted(row: Record) -> bool:
        looked.append(row.id)
        return is_safe(row)

    monkeypatch.setattr(reading, "is_safe", noted)
    page = records.page(Criteria(), limit=8, order=Order.OLDEST, by=ada)
    assert (len(looked) <= 3, page.next_cursor is None) == (True, False)
    page_contents = [row.content for row in page.rows]
    while page.next_cursor:
        page = records.page(
            Criteria(), limit=8, order=Order.OLDEST, cursor=page.next_cursor, by=ada
        )
        page_contents += [row.content for row in page.rows]
    assert page_contents == [text(n) for n in range(COUNT) if n not in BAD]


def test_what_was_cleared_as_it_looks_clears_no_unseen_characters(
    ada: Actor, world: World
) -> None:
    row = records.save(
        Draft(content="Tide tables.", owner=records.owner_for(ada)),
        provenance=PROVENANCE,
        by=ada,
    ).record
    with pytest.raises(HeldForReview) as caught:
        records.save(
            Draft(content=ATTACK, owner=records.owner_for(ada)),
            provenance=PROVENANCE,
            by=ada,
        )
    held_file = HeldFile.objects.get(pk=caught.value.fields["held_id"])
    decision, by = Decision.RELEASE_AND_ALLOW, world.actor("operator")
    version = held_file.version
    review.decide(held_file, decision, version=version, reason="quoted", by=by)
    unseen = ATTACK.replace(" ", " \u200b")
    Record.objects.filter(pk=row.pk).update(
        content=unseen, sha256=digest(unseen.encode())
    )
    row.refresh_from_db()
    assert not records.is_safe(row)
    assert redaction.unsafe_ids(Record.objects.filter(pk=row.pk), 10) == {row.pk}
