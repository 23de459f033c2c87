"""Forgetting records: the words are nowhere, and only what was meant is gone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from episodic.index import sweep as index
from memory import records
from memory.journal import verify
from memory.models import JournalEntry, Record
from memory.ports.ranker import Question, ranker
from memory.records import Amendment, Criteria, Provenance
from memory.records.drafts import Draft, Scope
from memory.rules import errors
from memory.rules.permissions import Actor
from tests.world import World

PROVENANCE = Provenance.AGENT_EXTRACTED


@pytest.fixture
def ada(world: World) -> Actor:
    return world.actor("ada")


def draft(by: Actor, content: str = "Refunds end at $200.", **fields: Any) -> Draft:
    fields.setdefault("owner", records.owner_for(by))
    return Draft(content=content, **fields)


def save(by: Actor, content: str = "Refunds end at $200.", **fields: Any) -> Record:
    new_draft = draft(by, content, **fields)
    return records.save(new_draft, provenance=PROVENANCE, by=by).record


def recalled(by: Actor, words: str) -> list[str]:
    question = Question(query=words, limit=50, entry_types=records.TYPES)
    return [hit.entry.summary for hit in ranker().recall(question, by=by)]


def everything_stored() -> str:
    """Return every text in every table; the word index's own pages are not tables."""
    texts: list[str] = []
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        for table in (name for name in tables if "_fts_" not in name):
            cursor.execute(f'SELECT * FROM "{table}"')
            texts += [repr(row) for row in cursor.fetchall()]
    return "\n".join(texts)


def test_forgotten_words_are_nowhere(ada: Actor, world: World) -> None:
    words = "Zeppelin lands on Tuesday."
    row = save(ada, words, external_id="zeppelin-id", metadata={"m": "zeppelin-meta"})
    records.amend(
        row, Amendment(content=f"{words} At noon."), provenance=PROVENANCE, by=ada
    )
    index.sweep()
    assert records.forget(row, reason="asked for", by=ada)
    assert "eppelin" not in everything_stored()
    assert recalled(ada, "zeppelin") == []
    with pytest.raises(errors.NotFound):
        records.history(row.id, owner=None, by=ada)
    with pytest.raises(errors.NotFound):
        records.get(row.id, owner=None, by=ada)
    report = verify.verify(ada.workspace_id, by=world.actor("owner"))
    assert (report.ok, report.erased) == (True, 2)


def test_forgetting_twice_is_forgetting_once(ada: Actor) -> None:
    row = save(ada)
    before = JournalEntry.objects.count()
    assert [records.forget(row, by=ada), records.forget(row, by=ada)] == [True, False]
    assert JournalEntry.objects.count() == before + 1


def test_a_forgotten_external_id_may_be_used_again(ada: Actor) -> None:
    row = save(ada, external_id="limit")
    records.forget(row, by=ada)
    second = save(ada, external_id="limit")
    assert second.id != row.id
    assert records.page(Criteria(external_id="limit"), by=ada).rows == [second]


def test_a_superseded_record_can_be_forgotten_too(ada: Actor) -> None:
    row = save(ada, "Zeppelin.")
    records.supersede([row], draft(ada, "New."), provenance=PROVENANCE, by=ada)
    assert records.forget(row, by=ada)
    assert "Zeppelin" not in everything_stored()


def test_a_scope_is_forgotten_and_its_neighbours_are_not(ada: Actor) -> None:
    for user in ("u1", "u1", "u2"):
        save(ada, scope=Scope(user=user))
    save(ada, scope=Scope(user="u1", namespace="n"))
    exact = Criteria(scope=Scope(user="u1"), match=records.Match.EXACT)
    assert records.forget_scope(exact, by=ada) == 2
    assert records.forget_scope(Criteria(scope=Scope(user="u1")), by=ada) == 1
    assert records.count(Criteria(), by=ada) == 1


def test_forgetting_a_scope_asks_its_filter(ada: Actor) -> None:
    for mood in ("calm", "cross", "calm"):
        save(ada, metadata={"mood": mood}, scope=Scope(user="u1"))
    calm = {"field": "metadata.mood", "op": "eq", "value": "calm"}
    criteria = Criteria(scope=Scope(user="u1"), filter=calm)
    assert records.forget_scope(criteria, by=ada) == 2
    [record] = records.page(Criteria(), by=ada).rows
    assert record.metadata == {"mood": "cross"}
    with pytest.raises(errors.Invalid):
        records.forget_scope(Criteria(filter={"field": "x"}), by=ada)
    assert records.count(Criteria(), by=ada) == 1


def test_what_was_then_cannot_be_forgotten(ada: Actor) -> None:
    save(ada)
    with pytest.raises(errors.Invalid) as error:
        records.forget_scope(Criteria(as_of=timezone.now()), by=ada)
    assert error.value.problem_code == "bad_as_of"
    assert records.count(Criteria(), by=ada) == 1


def test_a_forgotten_scope_keeps_no_old_words(ada: Actor) -> None:
    old = save(ada, "Zeppelin one.", scope=Scope(user="u1"))
    new = draft(ada, "Zeppelin two.", scope=Scope(user="u1"))
    records.supersede([old], new, provenance=PROVENANCE, by=ada)
    ago = timezone.now() - timedelta(days=1)
    save(ada, "Zeppelin three.", scope=Scope(user="u1"), expires_at=ago)
    assert records.forget_scope(Criteria(scope=Scope(user="u1")), by=ada) == 3
    assert "Zeppelin" not in everything_stored()


def test_a_wide_record_comes_back_whole(ada: Actor) -> None:
    wide: dict[str, Any] = {
        "user": "u" * 256,
        "namespace": "n" * 256,
        "thread": "t" * 256,
    }
    metadata = {"notes": "x" * 32_000}
    row = save(ada, scope=Scope(**wide), session_id="s" * 256, metadata=metadata)
    record = records.get(row.id, owner=None, by=ada)
    assert records.scope_of(record).as_map() == wide
    assert (record.session_id, record.metadata) == ("s" * 256, metadata)
    assert records.history(row.id, owner=None, by=ada)[0].metadata == metadata


def test_a_person_cannot_forget_a_workspace_by_an_empty_request(world: World) -> None:
    with pytest.raises(errors.Invalid):
        records.forget_scope(Criteria(), by=world.actor("operator"))


def test_an_agent_forgets_its_own_and_not_the_crews(world: World) -> None:
    ada, lena = world.actor("ada"), world.actor("lena")
    save(lena, owner=records.owner_for(lena, is_shared=True))
    save(ada)
    assert records.forget_scope(Criteria(), by=ada) == 1
    assert records.count(Criteria(), by=ada) == 1
