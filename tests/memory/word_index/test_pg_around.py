"""What a recall on PostgreSQL reads around its candidates, at once and never again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from memory import fulltext
from memory.fulltext import WordScope
from memory.word_index import frequencies, postgres, ranking
from memory.word_index.answers import WordAnswer
from tests import factories
from tests.world import World

pytestmark = pytest.mark.postgres

QUESTION = "harbour violin granite"
LIMIT = 9


def ask(world: World, limit: int = LIMIT, also: Sequence[str] = ()) -> WordAnswer:
    query = fulltext.word_query(QUESTION)
    return ranking.search(query, WordScope(world.acme.id), limit, also)


def write(world: World, texts: Mapping[int, str]) -> list[str]:
    """Write a thread with texts at some places, and better ones in threads alone."""
    summaries = [texts.get(place, f"lantern {place}") for place in range(30)]
    rows = factories.append_many(world.actor("ada"), summaries, trace_id="long")
    for number in range(LIMIT):
        trace = f"alone {number}"
        factories.append(world.actor("ada"), summary="harbour violin", trace_id=trace)
    return [row.id for row in rows]


@pytest.mark.parametrize(
    ("size", "others"),
    [
        # In the window of one beside a hit, which is three behind what was read.
        (1, {16: "harbour"}),
        # What is read second was known before, and reaches further.
        (2, {13: "violin", 18: "harbour"}),
    ],
)
def test_windows_are_those_of_everything_however_little_is_read(
    world: World, monkeypatch: pytest.MonkeyPatch, size: int, others: dict[int, str]
) -> None:
    entry_ids = write(world, {10: QUESTION, **others})
    every_detail = ask(world).details(entry_ids)
    monkeypatch.setattr(postgres, "WINDOWS_AT_FIRST", 1)
    monkeypatch.setattr(postgres, "MAX_WINDOWS", size)
    answer = ask(world)
    for hit in answer.context_hits:
        assert hit.score == pytest.approx(every_detail[hit.entry_id].context)
    details = answer.details([hit.entry_id for hit in answer.context_hits])
    for entry_id, detail in details.items():
        assert detail == every_detail[entry_id]


def test_details_of_what_was_found_need_no_further_statement(world: World) -> None:
    also = write(world, {10: QUESTION})[20:22]
    answer = ask(world, also=also)
    hits = [*answer.context_hits, *answer.hits]
    with CaptureQueriesContext(connection) as queries:
        details = answer.details([*(hit.entry_id for hit in hits), *also])
    assert details.keys() >= set(also)
    assert not queries.captured_queries


def test_a_count_does_not_make_somebody_elses_commit_quick(world: World) -> None:
    world.entry("harbour")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = on")
        frequencies.counts(world.acme.id, [1])
        cursor.execute("SHOW synchronous_commit")
        assert cursor.fetchone() == ("on",)
