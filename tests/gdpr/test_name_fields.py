"""A name in two fields of one object is found, linked, masked and erased."""

from __future__ import annotations

from typing import Any

import pytest

from gdpr import suppression
from gdpr.data_map import row_text
from gdpr.data_map.base import Fate
from gdpr.matching import common_words, name_fields
from gdpr.matching.matcher import Matcher, Name
from gdpr.models import Subject, SubjectLink
from gdpr.subjects import consents
from gdpr.subjects import registry as subjects
from gdpr.subjects.registry import NewAlias
from memory.models import JournalEntry, MemoryFile
from memory.rules import entries
from tests.gdpr import kit
from tests.world import World

MARIA = Matcher([Name("sub_1", "name", "Maria Kowalska")])
SPLIT: list[dict[str, Any]] = [
    {"first_name": "Maria", "last_name": "Kowalska"},
    {"last_name": "Kowalska", "first_name": "Maria"},
    {"family": "Kowalska", "gender": "f", "given": "Maria"},
    {"first_name": "MARIA", "id": 7, "last_name": "kowalska"},
    {"who": [{"name": {"first": "Maria", "last": "Kowalska"}}]},
]
OTHER: list[dict[str, Any]] = [
    {"first_name": "Maria", "last_name": "Kowal"},
    {"first_name": "Maria"},
    {"city": "Maria", "country": "Poland", "street": "Kowalska"},
    {"a": "Maria wrote about her refund today", "b": "Kowalska wrote about it too"},
    {"a": {"first": "Maria"}, "b": {"last": "Kowalska"}},
]


@pytest.mark.parametrize("value", SPLIT)
def test_two_fields_make_a_name(value: Any) -> None:
    for text in (
        row_text.plain(value),
        name_fields.json_as_text(entries.canonical(value)),
    ):
        assert MARIA.names(text) == {"sub_1"}
    assert MARIA.names(name_fields.json_as_text(entries.canonical(value))) == {"sub_1"}
    rest = row_text.masked(MARIA, value)
    assert not MARIA.names(row_text.plain(rest))
    assert set(rest) == set(value), "the rest of the object stays"
    assert "kowalska" not in entries.canonical(rest).lower()


@pytest.mark.parametrize("value", OTHER)
def test_fields_that_do_not_stand_together_make_none(value: Any) -> None:
    assert not MARIA.names(row_text.plain(value))
    assert row_text.masked(MARIA, value) == value


def test_a_whole_name_leaves_its_neighbour_alone() -> None:
    payload = {"name": "Maria Kowalska", "town": "Gdansk"}
    assert row_text.masked(MARIA, payload) == {"name": "[erased]", "town": "Gdansk"}


@pytest.mark.parametrize("text", ["{", '{"a": "b", "c": "d"', "[" * 10_000, "plain"])
def test_what_is_no_json_is_left_as_it_is(text: str) -> None:
    assert name_fields.json_as_text(text) == text


@pytest.mark.django_db
def test_such_an_entry_is_linked_planned_and_erased(world: World) -> None:
    by = world.actor("compliance")
    maria = subjects.create("", [NewAlias("name", "Maria Kowalska")], by=by)
    subjects.create("", [NewAlias("email", "jan@example.org")], by=by)
    own_entry = world.entry("A form", payload=SPLIT[0])
    shared_entry = world.entry("A form", payload={**SPLIT[0], "to": "jan@example.org"})
    links = SubjectLink.objects.filter(subject=maria, place="journal")
    assert set(links.values_list("row_id", flat=True)) == {
        own_entry.id,
        shared_entry.id,
    }
    fates = {own_entry.id: Fate.DELETE, shared_entry.id: Fate.REDACT}
    assert kit.fates("journal", maria) == fates
    kit.erase("journal", maria)
    assert kit.traces(maria, "journal") == []
    payload = JournalEntry.objects.get(pk=shared_entry.id).payload
    erased = {"first_name": "[erased]", "last_name": "[erased]"}
    assert payload == {**erased, "to": "jan@example.org"}


@pytest.mark.django_db
def test_such_an_entry_is_found_by_a_name_that_comes_later(world: World) -> None:
    row = world.entry("A form", payload=SPLIT[1])
    subject: Subject = kit.subject(world, {"name": "Maria Kowalska"})
    assert kit.fates("journal", subject) == {row.id: Fate.DELETE}


@pytest.mark.parametrize(
    ("kind", "value", "is_common"),
    [
        ("handle", "@will", True),
        ("handle", "mk", True),
        ("handle", "@mkeller", False),
        ("name", "May", True),
        ("name", "May Keller", False),
        ("name", "王伟", False),
        ("user_id", "42", True),
        ("user_id", "4711234", False),
        ("user_id", "u_42", False),
        ("email", "will@will.will", False),
        ("phone", "+49 170 1234567", False),
        ("pattern", "will", False),
    ],
)
def test_words_that_mean_many_are_known(
    kind: str, value: str, *, is_common: bool
) -> None:
    assert common_words.is_common(kind, value) is is_common


BOB = [
    "ask @bob",
    "ask \uff20bob",
    "q=%40bob",
    "&#64;bob",
    '{"text": "\\u0040bob"}',
    "_@bob_ called",
    ".@bob",
    "@bobさん",
    "@bob.Then it rained",
    '{"user": "bob"}',
    '{"asked": {"customer_id": 4711}}',
    '{"owners": ["ann", "Bob"]}',
]
NOT_BOB = [
    "the boat bobs, bob down",
    "mail anna@bob.example",
    "ask @bobby",
    '{"note": "bob"}',
    '{"order_id": 4711}',
    "order 4711 is late",
]


def _erased_bob(world: World) -> list[suppression.Digest]:
    names = [Name("", "handle", "@bob"), Name("", "user_id", "4711")]
    return suppression.digests_of(world.acme.id, names)


@pytest.mark.parametrize("text", BOB)
def test_a_name_that_is_a_word_is_refused_where_it_means_somebody(
    world: World, text: str
) -> None:
    assert suppression.suppressed_pieces(world.acme.id, text, _erased_bob(world))


@pytest.mark.parametrize("text", NOT_BOB)
def test_the_word_itself_is_free(world: World, text: str) -> None:
    assert not suppression.suppressed_pieces(world.acme.id, text, _erased_bob(world))


def test_after_a_restore_the_word_itself_is_looked_for(world: World) -> None:
    names = suppression.names_in(
        world.acme.id, "order 4711 for bob", _erased_bob(world)
    )
    assert set(names) == {"4711", "bob"}


def test_a_card_about_somebody_gone_is_refused(world: World) -> None:
    by = world.actor("compliance")
    bob = subjects.create("Bob", [NewAlias("handle", "@bob")], by=by)
    consents.note(bob.id, "withdrawn", opted_out=True, by=by)
    arguments = {
        "tier": "peers",
        "key": "bob",
        "content": "Likes tea",
        "mode": "replace",
    }
    path = "/memory/tools/memory.write"
    reply = world.api("ada").post(path, arguments)
    assert b"subject_suppressed" in reply.body
    reply = world.api("ada").post(path, {**arguments, "key": "bert"})
    assert b"subject_suppressed" not in reply.body
    assert MemoryFile.objects.filter(key="bert").exists()
