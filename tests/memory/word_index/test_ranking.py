"""The word ranking is BM25, whatever happened to the journal before the question."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from memory import fulltext
from memory.fulltext import WordScope
from memory.journal import erasure, visibility
from memory.journal.erasure import Remains
from memory.models import Agent, EntryWords, JournalEntry
from memory.rules.entries import RULE_TYPE
from memory.word_index import frequencies, ranking, scoring, storage, terms
from memory.word_index.answers import WordAnswer
from tests import factories
from tests.memory.word_index.naive import Naive
from tests.world import World

WORDS = (
    "harbour violin granite orchard lantern compass receipts refund zeppelin".split()
)
AGENTS = ("ada", "lena", "bob")


def ask(text: str, scope: WordScope, limit: int = 20) -> WordAnswer:
    return ranking.search(fulltext.word_query(text), scope, limit)


def check(text: str, scope: WordScope) -> None:
    """Compare everything that an answer says with the plain computation."""
    if connection.vendor == "postgresql":
        # Its counts may be older than a change, and are of stored words.
        frequencies.clear()
        storage.fill()
    naive = Naive(text, scope)
    scores, answer = naive.scores(), ask(text, scope, 1_000)
    assert answer.considered == len(scores)
    for place, hits in enumerate((answer.hits, answer.context_hits)):
        expected = {e: pair[place] for e, pair in scores.items() if pair[place] > 0}
        assert {hit.entry_id for hit in hits} == set(expected)
        for hit in hits:
            assert hit.score == pytest.approx(expected[hit.entry_id], rel=1e-4)
        values = [hit.score for hit in hits]
        assert values == sorted(values, reverse=True)
    every_id = [*JournalEntry.objects.values_list("pk", flat=True), "j_nobody"]
    complete, neighbours = answer.details(every_id), naive.neighbours()
    assert complete.keys() == scores.keys()
    pairs, lengths = naive.pairs(text), naive.lengths()
    for entry_id, detail in complete.items():
        own_and_context = detail.own, detail.context
        assert own_and_context == pytest.approx(scores[entry_id], rel=1e-4, abs=1e-6)
        assert detail.pairs == pytest.approx(pairs[entry_id], rel=1e-4, abs=1e-6)
        assert detail.length == lengths[entry_id]
        assert (detail.before, detail.after) == neighbours[entry_id]


def scopes(world: World) -> list[WordScope]:
    workspace = WordScope(world.acme.id)
    rows = JournalEntry.objects.filter(workspace_id=world.acme.id).order_by("ts")
    middle = rows[rows.count() // 2]
    support = world.crews["support"].id
    return [
        workspace,
        replace(workspace, embeddable_only=False),
        replace(workspace, agent_id=world.agents["ada"].id),
        replace(workspace, crew_id=support, agent_id=world.agents["bob"].id),
        replace(workspace, agent_id=world.agents["bob"].id, rules_crew_id=support),
        replace(workspace, entry_types=("peer.escalation",)),
        replace(workspace, since=middle.ts),
        replace(workspace, until=middle.ts),
        replace(workspace, recorded_until=middle.recorded_at),
    ]


def _append(world: World, dice: random.Random) -> None:
    kind = dice.choice(["peer.escalation"] * 4 + ["exec.output_chunk", RULE_TYPE])
    fields: dict[str, Any] = {
        "entry_type": kind,
        "payload": {"text": " ".join(dice.choices(WORDS, k=dice.randrange(3)))},
        "ts": timezone.now() - timedelta(minutes=dice.randrange(300)),
        "trace_id": dice.choice([None, None, "one", "two"]),
    }
    summary = " ".join(dice.choices(WORDS, k=dice.choice([1, 2, 3, 4, 5, 14, 15, 16])))
    summary += dice.choice(["", "", ".", "?", "?)"])
    factories.append(world.actor(dice.choice(AGENTS)), summary=summary, **fields)


def _change(world: World, dice: random.Random) -> None:
    rows = JournalEntry.objects.filter(workspace_id=world.acme.id)
    entry_id = dice.choice(list(rows.order_by("seq").values_list("pk", flat=True)))
    act = dice.randrange(6)
    if act == 0:
        visibility.retire(world.acme.id, [entry_id])
    elif act == 1:
        visibility.restrict(world.acme.id, [entry_id])
    elif act == 2:
        restricted = rows.exclude(restricted_at=None).values_list("pk", flat=True)
        visibility.lift(world.acme.id, list(restricted))
    elif act == 3:
        erasure.erase(world.acme.id, [entry_id])
    elif act == 4:
        words = " ".join(dice.choices(WORDS, k=2))
        remains = Remains(words, {"text": "erased"}, {}, {})
        erasure.redact(world.acme.id, {entry_id: remains})
    else:
        rows.filter(pk=entry_id).delete()


@pytest.mark.parametrize("seed", range(4))
def test_an_answer_is_what_the_rows_say(
    world: World, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With 0 every scope that holds a row is small, with 10,000 none is.
    monkeypatch.setattr(scoring, "SMALL_SHARE", (0, 10_000)[seed % 2])
    dice = random.Random(seed)
    for _ in range(25):
        _append(world, dice)
    for _ in range(6):
        for _ in range(dice.randrange(4)):
            _append(world, dice)
        for _ in range(dice.randrange(3)):
            _change(world, dice)
        text = " ".join(dice.choices(WORDS, k=dice.randrange(1, 4)))
        check(text, dice.choice(scopes(world)))
    for scope in scopes(world):
        check("the harbour refund and violins", scope)


def test_a_name_that_an_agent_had_is_not_among_its_entries_words(world: World) -> None:
    row = world.entry("the harbour is closed")

    def held_rows() -> list[str]:
        entries = {row.id: row.docid}
        return ranking.matching_words(world.acme.id, ["ada", "grace"], entries)[row.id]

    scope = WordScope(world.acme.id)
    ask("ada harbour", scope).details([row.id])
    assert held_rows() == ["ada"]
    # As a bulk update does it, without a signal.
    Agent.objects.filter(pk=world.agents["ada"].pk).update(name="Grace")
    assert not EntryWords.objects.filter(pk=row.docid).exists()
    assert held_rows() == ["grace"]
    check("harbour", scope)
    if connection.vendor == "sqlite":
        assert ask("ada", scope).hits == []
        check("grace harbour", scope)


def test_a_question_of_one_long_run_of_letters_has_a_bound(world: World) -> None:
    world.entry("zeppelin")
    text = "".join(chr(0x4E00 + place) for place in range(4_000))
    assert len(terms.of_words(fulltext.word_query(text).terms)) == terms.MAX_ASKED
    assert ask(text, WordScope(world.acme.id)).hits == []
