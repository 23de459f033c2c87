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
from memory.word_index.answers import WordAnswer
from tests import factories
from tests.world import World

pytestmark = pytest.mark.postgres

WORDS = [f"word{number:02}x" for number in range(40)]
QUESTIONS = [" ".join(WORDS[at : at + 3]) for at in range(0, 40, 3)]
LIMIT = 3
NUMBERS = {"own": 0.0, "pairs": 0.0, "context": 0.0}


def ask(
    text: str, scope: WordScope, limit: int, also: Sequence[str] = ()
) -> WordAnswer:
    return ranking.search(fulltext.word_query(text), scope, limit, also)


@pytest.fixture
def entry_ids(world: World) -> list[str]:
    """The ids of the entries of two long threads."""
    dice = random.Random(5)
    for trace in ("one", None):
        texts = [
            " ".join(dice.choices(WORDS, k=dice.randrange(1, 4))) for _ in range(90)
        ]
        factories.append_many(world.actor("ada"), texts, trace_id=trace)
    return list(JournalEntry.objects.order_by("seq").values_list("pk", flat=True))


def test_what_is_read_a_little_at_a_time_is_what_all_of_it_says(
    world: World, entry_ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scope, also = WordScope(world.acme.id), entry_ids[7::60]
    for text in QUESTIONS:
        complete = ask(text, scope, len(entry_ids)).details(entry_ids)
        monkeypatch.setattr(postgres, "WINDOWS_AT_FIRST", 1)
        answer = ask(text, scope, LIMIT, also)
        best = sorted((-detail.context for detail in complete.values()))[:LIMIT]
        assert [-hit.score for hit in answer.context_hits] == pytest.approx(best)
        hits = [hit.entry_id for hit in (*answer.hits, *answer.context_hits)]
        for entry_id, detail in answer.details([*hits, *also]).items():
            expected = complete[entry_id]
            assert replace(detail, **NUMBERS) == replace(expected, **NUMBERS)
            numbers = (detail.own, detail.pairs, detail.context)
            assert numbers == pytest.approx(
                (expected.own, expected.pairs, expected.context), rel=1e-4
            )


def test_details_of_what_was_found_need_no_further_statement(
    world: World, entry_ids: list[str]
) -> None:
    also = entry_ids[7::60]
    answer = ask(QUESTIONS[0], WordScope(world.acme.id), LIMIT, also)
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
