"""Short questions say nothing, for the database as for the program."""

from __future__ import annotations

import numpy as np
import pytest
from django.db import connection

from memory.models import JournalEntry
from memory.word_index import bare_questions
from tests import factories
from tests.world import World

TEXTS = {
    "What did it cost?": True,
    'She asked: "Why now?"': True,
    "Really?!": True,
    "Was it (the lamp?) ": True,
    "为什么？": True,
    "ما هذا؟": True,
    "Why? Because of the rain.": False,
    "It's 100 % sure": False,
    "": False,
}


def test_the_condition_and_the_function_are_one_rule(world: World) -> None:
    rows = {
        factories.append(world.actor("ada"), summary=text or "-").id: asks
        for text, asks in TEXTS.items()
    }
    sql = f"SELECT e.id, {bare_questions.CONDITION} FROM journal_entries e WHERE %s = 1"
    with connection.cursor() as cursor:
        cursor.execute(sql, [1])
        found = {key: bool(asks) for key, asks in cursor.fetchall() if key in rows}
    assert found == rows
    stored = JournalEntry.objects.in_bulk(list(rows))
    assert {
        key: bare_questions.asks(row.summary) for key, row in stored.items()
    } == rows
    assert {text: bare_questions.asks(text) for text in TEXTS} == TEXTS


@pytest.mark.parametrize(("length", "count"), [(0, 0), (3, 0), (15, 0), (16, 16)])
def test_a_long_text_says_something_besides_its_question(
    length: int, count: int
) -> None:
    lengths = np.array([length, length])
    words = bare_questions.word_counts(lengths, np.array([True, False]))
    assert words.tolist() == [count, length]
