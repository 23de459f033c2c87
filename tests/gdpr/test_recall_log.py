"""The recall log as a place of personal data: find, export, erase, verify."""

from __future__ import annotations

from django.utils import timezone

from episodic.index import engine
from episodic.models import LoggedHit, LoggedQuestion
from episodic.recall import search as recall
from episodic.recall.question_log import question_log
from episodic.recall.request import Request
from gdpr import suppression
from gdpr.data_map import registry, row_text
from gdpr.data_map.base import Fate
from memory.journal import archive_erasure
from memory.models import JournalEntry
from tests.gdpr import kit
from tests.world import World

ANNA, BERT = kit.ANNA["name"], kit.BERT["name"]


def _ask(world: World, text: str, person: str = "ada") -> None:
    recall.search(Request(query=text), by=world.actor(person))
    question_log.flush()


def test_a_question_that_names_the_person_goes_whole(world: World) -> None:
    world.set(recall_log=True)
    anna, _bert = kit.subject(world), kit.subject(world, kit.BERT)
    row = world.indexed("Refund denied")
    _ask(world, f"Did {ANNA} and {BERT} get a refund?")
    _ask(world, f"What did {kit.ANNA['phone']} say of the refund?")
    _ask(world, "Who got a refund?")
    ids = LoggedQuestion.objects.order_by("id").values_list("pk", flat=True)
    holder, person = registry.by_name("recall_log"), registry.person(anna)
    exported = list(holder.export(person, list(holder.find(person))))
    assert [item["question"] for item in exported] == [
        "Did Anna Kowalczyk and [someone else] get a refund?",
        f"What did {kit.ANNA['phone']} say of the refund?",
    ]
    assert kit.traces(anna, "recall_log") == ["recall_log row"] * 2
    about_anna = {str(pk): Fate.DELETE for pk in ids[:2]}
    assert kit.erase("recall_log", anna) == about_anna
    assert [q.question for q in LoggedQuestion.objects.all()] == ["Who got a refund?"]
    assert [hit.entry_id for hit in LoggedHit.objects.all()] == [row.id]
    assert kit.traces(anna, "recall_log") == []
    assert kit.in_tables("Kowalczyk").keys() <= {
        "gdpr.Alias.value", "gdpr.Alias.folded", "gdpr.Subject.display_name",
    }  # fmt: skip


def test_a_program_is_masked_where_its_key_is_the_persons(world: World) -> None:
    world.set(recall_log=True)
    officer = kit.subject(world, {"email": world.people["operator"].email})
    _ask(world, "Who got a refund?", "operator")
    (row,) = LoggedQuestion.objects.all()
    assert kit.erase("recall_log", officer) == {str(row.pk): Fate.REDACT}
    row.refresh_from_db()
    assert (row.question, row.asked_by) == ("Who got a refund?", row_text.ERASED)


def test_an_answer_with_an_erased_entry_is_a_trace(world: World) -> None:
    """The erasure itself takes it out; this is what the verification would find."""
    world.set(recall_log=True)
    anna, row = kit.subject(world), world.indexed("Refund denied")
    _ask(world, "Who got a refund?")
    JournalEntry.objects.filter(pk=row.pk).update(erased_at=timezone.now())
    assert kit.traces(anna, "recall_log") == ["recall_log answer with an erased entry"]


def test_archived_entries_leave_the_recall_log_when_they_are_emptied(
    world: World,
) -> None:
    world.set(recall_log=True)
    row = world.indexed("Refund denied")
    _ask(world, "Who got a refund?")
    archive_erasure.empty_archived(world.acme.id, [row.id])
    assert not LoggedHit.objects.exists()
    assert not LoggedQuestion.objects.exists()


def test_what_waits_for_the_recall_log_is_found_and_dropped(world: World) -> None:
    world.set(recall_log=True)
    anna = kit.subject(world)
    recall.search(Request(query=f"Where is {ANNA}?"), by=world.actor("ada"))
    engine.embedder().clear()
    assert kit.fates("caches", anna) == {"questions": Fate.DELETE}
    kit.erase("caches", anna)
    assert kit.traces(anna, "caches") == []
    assert question_log.flush() == 0


def test_a_question_about_an_erased_person_is_never_written(world: World) -> None:
    """Not even one that another process still has in memory."""
    world.set(recall_log=True)
    anna = kit.subject(world)
    recall.search(Request(query=f"Where is {ANNA}?"), by=world.actor("ada"))
    recall.search(Request(query="Where is Bert?"), by=world.actor("ada"))
    suppression.suppress(anna)
    question_log.flush()
    assert [q.question for q in LoggedQuestion.objects.all()] == ["Where is Bert?"]
