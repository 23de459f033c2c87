"""What a recall on PostgreSQL reads around its candidates, at once and never again."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from memory import fulltext
from memory.fulltext import WordScope
from memory.models import JournalEntry
from memory.word_index import frequencies, postgres, ranking
from memory.word_index.answers import WordAnswer, WordDetail
from tests import factories
from tests.world import World

pytestmark = pytest.mark.postgres

WORDS = "harbour violin granite orchard lantern compass receipts zeppelin".split()
QUESTION = "harbour violin granite"
LIMIT = 4
NUMBERS = {"own": 0.0, "pairs": 0.0, "context": 0.0}


def ask(scope: WordScope, limit: int, also: Sequence[str] = ()) -> WordAnswer:
    return ranking.search(fulltext.word_query(QUESTION), scope, limit, also)


@pytest.fixture
def every_detail(world: World) -> dict[str, WordDetail]:
    """Long threads, and the details of all their entries."""
    dice = random.Random(5)
    for trace in ("one", "two", None):
        texts = [
            " ".join(dice.choices(WORDS, k=dice.randrange(1, 4))) for _ in range(40)
        ]
        factories.append_many(world.actor("ada"), texts, trace_id=trace)
    ids = list(JournalEntry.objects.values_list("pk", flat=True))
    return ask(WordScope(world.acme.id), len(ids)).details(ids)


@pytest.mark.parametrize("at_first", [1, 5])
def test_what_is_read_a_little_at_a_time_is_what_all_of_it_says(
    world: World,
    every_detail: dict[str, WordDetail],
    monkeypatch: pytest.MonkeyPatch,
    at_first: int,
) -> None:
    monkeypatch.setattr(postgres, "WINDOWS_AT_FIRST", at_first)
    also = list(every_detail)[::17]
    answer = ask(WordScope(world.acme.id), LIMIT, also)
    best = sorted((-detail.context for detail in every_detail.values()))[:LIMIT]
    assert [-hit.score for hit in answer.context_hits] == pytest.approx(best)
    hits = [hit.entry_id for hit in (*answer.hits, *answer.context_hits)]
    for entry_id, detail in answer.details([*hits, *also]).items():
        expected = every_detail[entry_id]
        assert replace(detail, **NUMBERS) == replace(expected, **NUMBERS)
        numbers = (detail.own, detail.pairs, detail.context)
        assert numbers == pytest.approx(
            (expected.own, expected.pairs, expected.context), rel=1e-4
        )


def test_details_of_what_was_found_need_no_further_statement(
    world: World, every_detail: dict[str, WordDetail]
) -> None:
    also = list(every_detail)[::17]
    answer = ask(WordScope(world.acme.id), LIMIT, also)
    ids = [hit.entry_id for hit in answer.context_hits]
    ids += [hit.entry_id for hit in answer.hits]
    with CaptureQueriesContext(connection) as queries:
        answer.details([*ids, *also])
    assert not queries.captured_queries


def test_a_count_does_not_make_somebody_elses_commit_quick(world: World) -> None:
    world.entry("harbour")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = on")
        frequencies.counts(world.acme.id, [1])
        cursor.execute("SHOW synchronous_commit")
        assert cursor.fetchone() == ("on",)
