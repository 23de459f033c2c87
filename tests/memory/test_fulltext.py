"""The word index: user text stays text, tenants stay apart, words are found."""

from __future__ import annotations

import unicodedata
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory import fulltext
from memory.fulltext import WordScope
from memory.journal import append as journal
from memory.models import JournalEntry
from memory.word_index import ranking
from tests import factories
from tests.world import World

HOSTILE = [
    '"',
    '""',
    '"unbalanced',
    "a AND b OR NOT c",
    "NEAR(a b, 3)",
    "summary : x",
    "{summary body} : x",
    "^refund",
    "refund*",
    "refund + x",
    "(((",
    "-refund",
    "a\x00b",
    "'; DROP TABLE journal_entries; --",
    "🚀🔥",
    "\u202erefund",
    "%s %(x)s {0}",
    "\\",
    "x" * 10_000,
    "refund " * 1_500,
    " ".join(f"w{n}" for n in range(3_000)),
]


def ids(world: World, text: str, **scope: object) -> list[str]:
    """Return what a question finds in acme, best first."""
    word_scope = WordScope(world.acme.id, **scope)  # type: ignore[arg-type]
    query = fulltext.word_query(text)
    return [hit.entry_id for hit in ranking.search(query, word_scope, 50).hits]


def matching_ids(world: World, text: str, workspace_id: str = "") -> set[str]:
    """Return what the search box of the journal finds."""
    words = fulltext.matching(workspace_id or world.acme.id, text)
    if words is None:
        return set()
    rows = JournalEntry.objects.filter(words)
    return set(rows.values_list("pk", flat=True))


# ── Hostile text ─────────────────────────────────────────────────────────────
@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_is_a_query_language(world: World, text: str) -> None:
    world.entry("refund for a lost receipt")
    assert len(ids(world, text)) <= 1
    assert len(matching_ids(world, text)) <= 1


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(text=st.text(max_size=80))
def test_any_text_can_be_asked_and_found_again(world: World, text: str) -> None:
    row = world.entry(("note " + text.replace("\x00", " ")).strip())
    assert row.id in ids(world, f"note {text}")
    assert row.id in matching_ids(world, "note")
    JournalEntry.objects.filter(pk=row.pk).delete()
    assert row.id not in ids(world, f"note {text}")


def test_text_without_a_word_matches_nothing(world: World) -> None:
    world.entry("***")
    for text in ("", "***", '""', "🚀", "_"):
        assert ids(world, text) == []
        assert matching_ids(world, text) == set()


# ── Words ────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Rozhodnutí padlo", "rozhodnuti"),
        ("rozhodnuti padlo", "Rozhodnutí"),
        ("ROZHODNUTÍ PADLO", "rozhodnutí"),
        ("Žurnálu věříme", "zurnalu"),
        ("Überweisung fehlt", "uberweisung"),
        ("the deployment failed", "deployments"),
        ("customers were refunding", "refund"),
        ("order-4711 lost", "4711"),
        ("snake_case_name", "case"),
        ("日本 語", "日本"),
        (unicodedata.normalize("NFD", "příkaz"), "příkaz"),
        ("příkaz", unicodedata.normalize("NFD", "příkaz")),
    ],
)
def test_accents_case_and_endings_do_not_matter(
    world: World, text: str, query: str
) -> None:
    row = world.entry(text)
    world.entry("something else entirely")
    assert ids(world, query) == [row.id]
    assert matching_ids(world, query) == {row.id}


def test_words_of_the_payload_are_found_and_its_keys_are_not(world: World) -> None:
    row = world.entry(
        "x", payload={"question": "where is my parcel", "list": [["deep"]]}
    )
    assert ids(world, "parcel") == ids(world, "deep") == [row.id]
    assert ids(world, "question") == []


def test_the_search_box_wants_every_word_and_recall_any(world: World) -> None:
    full_match = world.entry("lost receipt in March")
    half_match = world.entry("lost parcel in April")
    assert matching_ids(world, "lost receipt") == {full_match.id}
    assert ids(world, "lost receipt") == [full_match.id, half_match.id]


def test_a_quoted_part_is_a_phrase(world: World) -> None:
    right = world.entry("the lost receipt was found")
    world.entry("the receipt of a lost parcel")
    assert matching_ids(world, '"lost receipt"') == {right.id}


def test_stop_words_are_left_out_and_named() -> None:
    query = fulltext.word_query("why was the refund denied")
    assert query.terms == ("refund", "denied")
    assert query.dropped == ("why", "was", "the")


def test_places_left_out_of_a_question_are_not_searched() -> None:
    text = "what did mira decide last week about refunds"
    start = text.index("last week")
    query = fulltext.word_query(text, [(start, start + len("last week"))])
    assert query.terms == ("mira", "decide", "refunds")
    assert query.dropped == ("what", "did", "last", "week", "about")
    # Words on both sides of the place do not stand side by side.
    assert query.pairs == (("did", "mira"), ("mira", "decide"), ("about", "refunds"))


def test_places_left_out_are_searched_when_nothing_else_is_left() -> None:
    text = "what was it last week"
    assert fulltext.word_query(text, [(12, 21)]) == fulltext.word_query(text)
    assert fulltext.word_query(text, [(12, 21)]).terms == ("last", "week")


def test_at_most_thirty_two_terms_are_asked() -> None:
    query = fulltext.word_query(" ".join(f"w{n}" for n in range(40)))
    assert len(query.terms) == fulltext.MAX_TERMS
    assert len(query.dropped) == 8


# ── The index follows the entries ────────────────────────────────────────────
def test_changing_and_deleting_an_entry_changes_the_index(world: World) -> None:
    row = world.entry("zeppelin")
    JournalEntry.objects.filter(pk=row.pk).update(summary="submarine", body="torpedo")
    assert matching_ids(world, "zeppelin") == set()
    assert (
        matching_ids(world, "submarine") == matching_ids(world, "torpedo") == {row.id}
    )
    JournalEntry.objects.filter(pk=row.pk).delete()
    assert matching_ids(world, "submarine") == set()
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO journal_fts(journal_fts) VALUES('integrity-check')"
            )


def test_words_that_hit_are_told_per_entry(world: World) -> None:
    first, second = world.entry("lost receipt"), world.entry("lost parcel")
    foreign = world.entry("lost receipt", by="olga")
    matches = ranking.matching_words(
        world.acme.id,
        ["lost", "receipts", "zeppelin"],
        {row.id: row.docid for row in (first, second, foreign)},
    )
    assert matches == {
        first.id: ["lost", "receipts"],
        second.id: ["lost"],
        foreign.id: [],
    }


# ── Whose words ──────────────────────────────────────────────────────────────
def test_another_workspaces_words_are_never_found(world: World) -> None:
    own = world.entry("zeppelin secret")
    foreign = world.entry("zeppelin secret", by="olga")
    assert ids(world, "zeppelin") == [own.id]
    assert matching_ids(world, "zeppelin") == {own.id}
    assert matching_ids(world, "zeppelin", world.other.id) == {foreign.id}


def test_row_numbers_of_two_workspaces_never_meet(world: World) -> None:
    low, high = fulltext.docids(world.acme.id)
    other_low, other_high = fulltext.docids(world.other.id)
    assert high < other_low or other_high < low
    row = world.entry()
    assert low <= row.docid <= high


def test_crew_and_agent_are_either_or(world: World) -> None:
    ada = world.entry("zeppelin", by="ada")
    lena = world.entry("zeppelin", by="lena")
    bob = world.entry("zeppelin", by="bob")
    crew, agent = world.crews["support"].id, world.agents["bob"].id
    assert set(ids(world, "zeppelin")) == {ada.id, lena.id, bob.id}
    assert set(ids(world, "zeppelin", crew_id=crew)) == {ada.id, lena.id}
    assert set(ids(world, "zeppelin", agent_id=agent)) == {bob.id}
    hits = ids(world, "zeppelin", crew_id=crew, agent_id=agent)
    assert set(hits) == {ada.id, lena.id, bob.id}


def test_only_what_is_embedded_is_recalled_unless_asked_otherwise(world: World) -> None:
    loud = world.entry("zeppelin")
    quiet = world.entry("zeppelin", entry_type="exec.output_chunk")
    assert ids(world, "zeppelin") == [loud.id]
    assert set(ids(world, "zeppelin", embeddable_only=False)) == {loud.id, quiet.id}
    chunks = ids(
        world, "zeppelin", entry_types=("exec.output_chunk",), embeddable_only=False
    )
    assert chunks == [quiet.id]


def test_both_ends_of_a_range_are_in_it(world: World) -> None:
    when = timezone.now().replace(microsecond=123_000) - timedelta(days=1)
    row = world.entry("zeppelin", ts=when)
    tick = timedelta(milliseconds=1)
    assert ids(world, "zeppelin", since=when, until=when) == [row.id]
    assert ids(world, "zeppelin", since=when + tick) == []
    assert ids(world, "zeppelin", until=when - tick) == []


def test_an_erased_entry_leaves_the_index(world: World) -> None:
    row = world.entry("zeppelin", payload={"text": "dirigible"})
    JournalEntry.objects.filter(pk=row.pk).update(summary="", body="", salt=None)
    assert ids(world, "zeppelin") == ids(world, "dirigible") == []


def test_the_limit_holds(world: World) -> None:
    factories.append_many(world.actor("ada"), ["zeppelin"] * 5)
    query = fulltext.word_query("zeppelin")
    assert len(ranking.search(query, WordScope(world.acme.id), 3).hits) == 3
    assert journal.key()


def test_an_agent_alone_finds_none_of_its_crew(world: World) -> None:
    ada = world.entry("zeppelin", by="ada")
    world.entry("zeppelin", by="lena")
    agent = world.agents["ada"].id
    assert ids(world, "zeppelin", agent_id=agent) == [ada.id]
    assert ids(world, "zeppelin", agent_id="nobody") == []
