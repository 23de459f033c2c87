"""The word ranking on PostgreSQL: lists of a workspace's terms, counts, candidates."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from episodic.index import sweep as index
from memory import fulltext
from memory.fulltext import WordScope
from memory.journal import erasure
from memory.journal.erasure import Remains
from memory.models import Agent, EntryWords, JournalEntry, WordChange, WordCount
from memory.rules.entries import RULE_TYPE
from memory.word_index import (
    frequencies,
    pg_candidates,
    pg_table,
    postgres,
    ranking,
    storage,
    terms,
)
from tests import factories
from tests.world import World

pytestmark = pytest.mark.postgres


def answer(text: str, scope: WordScope, limit: int = 10) -> postgres.CandidateAnswer:
    result = ranking.search(fulltext.word_query(text), scope, limit)
    assert isinstance(result, postgres.CandidateAnswer)
    return result


def hit_ids(text: str, scope: WordScope, limit: int = 10) -> list[str]:
    return [hit.entry_id for hit in answer(text, scope, limit).hits]


def vocabulary(size: int) -> list[str]:
    return [f"w{number:04}x" for number in range(size)]


def zipf(dice: random.Random, words: Sequence[str], count: int) -> str:
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    return " ".join(dice.choices(words, weights, k=count))


def write(world: World, dice: random.Random, words: Sequence[str], count: int) -> None:
    texts = [zipf(dice, words, dice.randrange(4, 40)) for _ in range(count)]
    for part in range(0, count, 50):
        trace = dice.choice([None, f"trace {part}"])
        rows = texts[part : part + 50]
        factories.append_many(world.actor("ada"), rows, trace_id=trace)


# ── Candidates ───────────────────────────────────────────────────────────────
def test_what_is_over_the_budget_costs_little_of_the_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice, words = random.Random(7), vocabulary(300)
    write(world, dice, words, 1_500)
    scope = WordScope(world.acme.id)
    questions = [zipf(dice, words[5:], dice.randrange(1, 5)) for _ in range(40)]
    exact = [hit_ids(text, scope) for text in questions]
    monkeypatch.setattr(pg_candidates, "BUDGET", 200)
    monkeypatch.setattr(pg_candidates, "ENOUGH", 50)
    capped = [hit_ids(text, scope) for text in questions]
    shares = [
        len(set(capped_hits) & set(all_hits)) / max(1, len(all_hits))
        for capped_hits, all_hits in zip(capped, exact, strict=True)
    ]
    assert sum(shares) / len(shares) >= 0.95


def parts(
    text: str, scope: WordScope, budget: int
) -> list[tuple[tuple[list[int], ...], tuple[int, ...]]]:
    numbers = sorted(terms.of_words(fulltext.word_query(text).terms))
    lists = [k for keys in pg_candidates.scope_lists(scope) for k in keys]
    counts = frequencies.counts(scope.workspace_id, [*numbers, *lists])
    plan = pg_candidates.Plan(scope, numbers, counts, budget)
    return [(part.lists, part.holding) for part in plan.parts()]


def keys(scope: WordScope, *words: str) -> list[int]:
    return pg_table.keys(scope.workspace_id, sorted(terms.of_words(words)))


def test_the_rarest_words_come_first(world: World) -> None:
    factories.append_many(world.actor("ada"), ["harbour"] * 30)
    factories.append_many(world.actor("ada"), ["harbour crane"] * 20)
    world.entry("zeppelin")
    scope = WordScope(world.acme.id)
    (lists, _), *_ = parts("harbour crane zeppelin", scope, budget=25)
    assert [sorted(one_list) for one_list in lists] == [
        sorted([*keys(scope, "crane"), *keys(scope, "zeppelin")])
    ]
    # At least the rarest: alone it is more than the budget.
    first, *_ = parts("harbour crane", scope, budget=3)
    assert first == ((keys(scope, "crane"), keys(scope, "harbour")), ()) or first == (
        (keys(scope, "harbour"), keys(scope, "crane")),
        (),
    )


def test_a_question_of_frequent_words_reads_the_newest_too(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        factories.append(world.actor("ada"), summary="harbour", ts=factories.ago(days))
        for days in range(60, 0, -1)
    ]
    scope = WordScope(world.acme.id)
    monkeypatch.setattr(pg_candidates, "BUDGET", 10)
    planned = parts("harbour", scope, budget=10)
    assert [holding for _, holding in planned if holding] == [
        tuple(terms.of_words(["harbour"]))
    ]
    assert hit_ids("harbour", scope, 5) == [row.id for row in rows[:-6:-1]]


def test_a_small_scope_reads_no_long_list(world: World) -> None:
    factories.append_many(world.actor("ada"), ["harbour crane"] * 300)
    row = factories.append(world.actor("bob"), summary="harbour lantern")
    scope = WordScope(world.acme.id, agent_id=world.agents["bob"].id)
    assert parts("harbour crane", scope, 1_000) == [((), ())]
    assert hit_ids("harbour crane", scope) == [row.id]


def test_the_rules_of_a_large_crew_leave_the_scope_of_its_agent_small(
    world: World,
) -> None:
    crew = world.agents["ada"].crew_id
    factories.append_many(world.actor("ada"), ["harbour crane"] * 300)
    own = factories.append(world.actor("bob"), summary="harbour lantern")
    rule = world.entry("harbour", entry_type=RULE_TYPE)
    JournalEntry.objects.filter(pk=rule.pk).update(agent_id=None, crew_id=crew)
    storage.fill()
    scope = WordScope(
        world.acme.id, agent_id=world.agents["bob"].id, rules_crew_id=crew
    )
    assert parts("harbour crane", scope, 100) == [((), ())]
    assert set(hit_ids("harbour crane", scope)) == {own.id, rule.id}


def test_entries_that_are_not_embedded_do_not_hide_the_one_that_is_sought(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pg_candidates, "BUDGET", 10)
    factories.append_many(world.actor("ada"), ["zeppelin"] * 5)
    texts = [*["harbour"] * 40, "zeppelin"]
    *_, row = factories.append_many(world.actor("bob"), texts)
    own = WordScope(
        world.acme.id, agent_id=world.agents["bob"].id, embeddable_only=False
    )
    JournalEntry.objects.filter(agent_id=own.agent_id).update(embeddable=False)
    assert hit_ids("zeppelin", own) == [row.id]


def test_a_key_is_of_one_workspace(world: World) -> None:
    homes = [world.acme.id, world.other.id]
    lists = [
        pg_table.keys(home, [7, pg_table.of_column("crew_id", "x")]) for home in homes
    ]
    assert set(lists[0]).isdisjoint(lists[1])
    assert len(set(lists[0])) == pg_table.TIERS + 1


def test_stored_keys_are_those_that_are_asked_for(world: World) -> None:
    row = world.entry("harbour harbour crane", payload={"text": "lantern " * 60})
    with connection.cursor() as cursor:
        cursor.execute("SELECT keys FROM journal_words WHERE docid = %s", [row.docid])
        (stored,) = cursor.fetchone()
    scope = WordScope(world.acme.id)
    for word in ("harbour", "crane", "lantern"):
        assert len(set(stored) & set(keys(scope, word))) == 1
    for name in ("crew_id", "agent_id", "entry_type"):
        number = pg_table.of_column(name, str(getattr(row, name)))
        assert pg_table.keys(world.acme.id, [number])[0] in stored


def test_a_question_reads_one_part_of_the_table(world: World) -> None:
    world.entry("harbour crane")
    with CaptureQueriesContext(
        connection,
    ) as queries:
        answer("harbour crane", WordScope(world.acme.id)).hits  # noqa: B018
    statement = next(
        q["sql"] for q in queries if "UNION" in q["sql"] or "keys &&" in q["sql"]
    )
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {statement}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert (
        len(
            {
                word
                for word in plan.split()
                if word.startswith("journal_words_") and word[14:].isdigit()
            }
        )
        == 1
    )


# ── Counts ───────────────────────────────────────────────────────────────────
def count_of(world: World, word: str) -> int:
    (number,) = terms.of_words([word])
    return frequencies.counts(world.acme.id, [number]).by_term[number]


def stored_terms(world: World) -> set[int]:
    rows = WordCount.objects.filter(workspace_id=world.acme.id)
    return set(rows.values_list("term", flat=True))


def test_a_count_is_stored_and_used_until_the_chain_grew_by_a_fifth(
    world: World,
) -> None:
    factories.append_many(world.actor("ada"), ["harbour"] * 50)
    assert count_of(world, "harbour") == 50
    factories.append_many(world.actor("ada"), ["harbour"] * 10)
    assert count_of(world, "harbour") == 50
    world.entry("harbour")
    assert count_of(world, "harbour") == 61


def test_an_erased_word_is_not_counted_any_more(world: World) -> None:
    rows = factories.append_many(world.actor("ada"), ["harbour", "zeppelin harbour"])
    assert (count_of(world, "zeppelin"), count_of(world, "harbour")) == (1, 2)
    numbers = terms.of_words(["zeppelin", "harbour"])
    assert numbers.keys() <= stored_terms(world)
    erasure.erase(world.acme.id, [rows[1].id])
    assert numbers.keys().isdisjoint(stored_terms(world))
    assert (count_of(world, "zeppelin"), count_of(world, "harbour")) == (0, 1)
    assert frequencies.of_no_entry(world.acme.id) == []


def test_the_verification_notices_a_count_that_outlived_its_words(world: World) -> None:
    world.entry("harbour")
    (number,) = terms.of_words(["zeppelin"])
    WordCount.objects.create(
        workspace_id=world.acme.id, term=number, seq=1, entries=1, words=0
    )
    assert frequencies.of_no_entry(world.acme.id) == [number]


def test_the_verification_looks_into_the_lists_of_rare_words_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.entry("lantern")
    factories.append_many(world.actor("ada"), ["harbour crane"] * 9)
    words = terms.of_words(["lantern", "harbour", "crane"])
    frequencies.counts(world.acme.id, words)
    monkeypatch.setattr(frequencies, "READ_FIRST", 9)
    with CaptureQueriesContext(connection) as queries:
        assert frequencies.of_no_entry(world.acme.id) == []
    assert len([q for q in queries if "&&" in q["sql"]]) == 1


def test_counts_follow_a_new_name_of_an_agent(world: World) -> None:
    world.entry("harbour")
    assert count_of(world, "ada") == 1
    Agent.objects.filter(pk=world.agents["ada"].pk).update(name="Grace")
    assert terms.of_words(["ada"]).keys().isdisjoint(stored_terms(world))


# ── Words that are not written yet ───────────────────────────────────────────
def test_what_was_redacted_is_found_by_its_rest_at_once(world: World) -> None:
    row = world.entry("zeppelin over the harbour")
    remains = Remains("over the harbour", {"text": ""}, {}, {})
    erasure.redact(world.acme.id, {row.id: remains})
    assert not EntryWords.objects.filter(pk=row.docid).exists()
    scope = WordScope(world.acme.id)
    assert hit_ids("harbour", scope) == [row.id]
    assert hit_ids("zeppelin", scope) == []
    assert row.id in answer("harbour", scope).details([row.id])
    assert storage.fill() == 1
    assert not WordChange.objects.exists()
    assert hit_ids("harbour", scope) == [row.id]


def test_the_many_entries_of_a_renamed_agent_are_found_after_the_next_sweep(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frequencies, "UNWRITTEN", 2)
    monkeypatch.setattr(storage, "CHUNK", 3)
    rows = factories.append_many(world.actor("ada"), ["harbour"] * 8)
    Agent.objects.filter(pk=world.agents["ada"].pk).update(name="Grace")
    scope = WordScope(world.acme.id)
    assert len(hit_ids("harbour", scope)) == 2
    index.sweep()
    assert set(hit_ids("harbour", scope)) == {row.id for row in rows}
    assert set(hit_ids("grace", scope)) == {row.id for row in rows}
    assert not WordChange.objects.exists()


def test_columns_beside_the_words_follow_the_entry(world: World) -> None:
    row = world.entry("harbour")
    rows = JournalEntry.objects.filter(pk=row.pk)
    scope = WordScope(world.acme.id)
    bob = world.agents["bob"].id
    assert hit_ids("harbour", replace(scope, agent_id=bob)) == []
    rows.update(agent_id=bob)
    assert hit_ids("harbour", replace(scope, agent_id=bob)) == [row.id]
    rows.update(embeddable=False)
    assert hit_ids("harbour", scope) == []
    assert hit_ids("harbour", replace(scope, embeddable_only=False)) == [row.id]
