"""Our provider of the capability contract: three modes, ten extensions, for real."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine

from memory import records
from memory.integrations.atomicmemory.contract import errors, extensions, types
from memory.integrations.atomicmemory.contract.registry import MemoryService
from memory.integrations.atomicmemory.provider import factory, mapping
from memory.integrations.atomicmemory.provider.provider import Remembering
from memory.models import JournalEntry, Record
from memory.ports import language_model
from memory.ports.language_model import Answer, Engine, Question, Statement, Thought
from tests import world as worlds
from tests.world import World

LENA = types.Scope(user="lena")
START = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)


def at(world: World, who: str = "ada") -> Remembering:
    made = Remembering(world.actor(who))
    made.initialize()
    return made


def keep(one: Remembering, content: str, scope: types.Scope = LENA, **more: Any) -> str:
    asked = types.VerbatimIngest(content=content, scope=scope, **more)
    done = one.ingest(asked)
    return [*done.created, *done.updated, *done.unchanged][0]


def ref(memory_id: str, scope: types.Scope = LENA) -> types.MemoryRef:
    return types.MemoryRef(id=memory_id, scope=scope)


def ask(
    one: Remembering, query: str, scope: types.Scope = LENA, **more: Any
) -> list[str]:
    page = one.search(types.SearchRequest(query=query, scope=scope, **more))
    return [hit.memory.content for hit in page.results]


# ── Honest ───────────────────────────────────────────────────────────────────
def test_all_ten_are_declared_and_there(world: World) -> None:
    one = at(world)
    told = one.capabilities()
    assert all(told.extensions.model_dump().values())
    assert extensions.dishonest(one, told) == []
    for ten in extensions.TEN:
        assert one.get_extension(ten.name) is one
        assert one.get_extension(ten.alias) is one
    assert one.get_extension("telepathy") is None


def test_the_registry_makes_it_for_an_actor(world: World) -> None:
    options = {"actor": world.actor("ada")}
    service = MemoryService(factory.registry(), {"native": options})
    service.initialize()
    done = service.ingest({"mode": "memory", "content": "Tea.", "scope": {"user": "u"}})
    assert len(done.created) == 1
    with pytest.raises(errors.ConfigError):
        MemoryService(factory.registry(), {"native": {}}).initialize()


# ── Taking in ────────────────────────────────────────────────────────────────
def test_text_is_drawn_apart_and_said_again_is_unchanged(world: World) -> None:
    one = at(world)
    asked = {
        "mode": "text",
        "content": "Hello! Refunds need a receipt. Parcels leave on Mondays. Any news?",
        "scope": {"user": "lena"},
    }
    first, second = one.ingest(asked), one.ingest(asked)

    assert (len(first.created), first.unchanged) == (2, [])
    assert (second.created, sorted(second.unchanged)) == ([], sorted(first.created))
    rows = Record.objects.filter(pk__in=first.created)
    assert {row.provenance for row in rows} == {"agent_extracted"}


def test_a_correction_is_not_undone_by_hearing_the_old_again(world: World) -> None:
    one = at(world)
    asked = {"mode": "text", "content": "Dana lives in Brno.", "scope": LENA.wire()}
    (made,) = one.ingest(asked).created
    one.update(ref(made), "Dana lives in Prague.")
    assert one.ingest(asked).created != [made]
    found = one.get(ref(made))
    assert found is not None and found.content == "Dana lives in Prague."
    one.delete(ref(made))
    assert len(one.list(types.ListRequest(scope=LENA)).memories) == 1


def test_messages_keep_what_people_said(world: World) -> None:
    one = at(world)
    done = one.ingest(
        {
            "mode": "message",
            "messages": [
                {
                    "role": "system",
                    "content": "You are a shop assistant of great tact.",
                },
                {"role": "user", "content": "I am allergic to wool. It itches."},
                {"role": "assistant", "content": "Thank you, noted!"},
                {"role": "tool", "content": "price lookup returned forty euros"},
            ],
            "scope": {"user": "lena", "thread": "t1"},
        }
    )
    (made,) = done.created
    found = one.get(ref(made))
    assert found is not None
    assert found.content == "I am allergic to wool. It itches."
    assert found.scope.thread == "t1"


def test_a_source_is_told_and_is_no_provenance_of_ours(world: World) -> None:
    one = at(world)
    said = types.Provenance(source="operator_curated", source_url="https://x.example")
    made = keep(one, "Kettles are in aisle four.", provenance=said, metadata={"a": 1})

    found = one.get(ref(made))

    assert found is not None
    assert (found.provenance, found.metadata) == (said, {"a": 1})
    assert Record.objects.get(pk=made).provenance == "user_requested"


def test_an_external_id_is_one_memory_of_a_user(world: World) -> None:
    one = at(world)
    mine: dict[str, Any] = {"metadata": {"externalId": "rule-7"}}
    first = keep(one, "Two checks.", **mine)
    again = keep(one, "Two checks.", types.Scope(user="lena", thread="t9"), **mine)
    changed = keep(one, "Three checks.", **mine)
    other = keep(one, "Two checks.", types.Scope(user="max"), **mine)

    assert first == again == changed != other
    assert [v.content for v in one.history(ref(first))] == [
        "Two checks.",
        "Three checks.",
    ]


@pytest.mark.parametrize("bad", [7, "", " ", "x" * 201, None])
def test_an_external_id_is_a_text(world: World, bad: Any) -> None:
    one = at(world)
    if bad is None:
        assert keep(one, "Tea.", metadata={"externalId": None})
        return
    with pytest.raises(errors.ValidationError):
        keep(one, "Tea.", metadata={"externalId": bad})
    assert Record.objects.count() == 0


def test_a_held_text_is_told_and_kept_from_everybody(world: World) -> None:
    one = at(world)
    with pytest.raises(errors.ProviderError) as caught:
        keep(one, worlds.ATTACK)
    assert (caught.value.problem_code, caught.value.status) == ("held", 409)
    assert caught.value.fields["held_id"]
    assert ask(one, "instructions API key") == []


# ── Asking ───────────────────────────────────────────────────────────────────
def test_walls_between_users_namespaces_threads_and_agents(world: World) -> None:
    one = at(world)
    home = types.Scope(user="lena", namespace="shop", thread="t1")
    made = keep(one, "The alarm code has four digits.", home)

    assert ask(one, "alarm code", home)
    assert ask(one, "alarm code", LENA)
    for elsewhere in (
        types.Scope(user="max"),
        types.Scope(user="lena", namespace="garden"),
        types.Scope(user="lena", thread="t2"),
    ):
        assert ask(one, "alarm code", elsewhere) == []
        assert one.get(ref(made, elsewhere)) is None
        one.delete(ref(made, elsewhere))
    for who in ("lena", "bob", "olga"):
        assert ask(at(world, who), "alarm code") == []
        assert at(world, who).get(ref(made)) is None
    assert one.get(ref(made)) is not None


def test_a_receipt_tells_how_hits_were_found(world: World) -> None:
    one = at(world)
    made = keep(one, "Scarves are folded twice.")
    page = one.search(types.SearchRequest(query="scarves", scope=LENA))
    told = page.retrieval
    assert told is not None
    assert told.candidate_ids == [made]
    assert told.embedding_model and told.embedding_model_version and told.trace_id
    assert told.embedding_dimensions >= 1
    assert page.results[0].observed_at and page.results[0].version_id == f"{made}:1"


def test_a_score_of_zero_is_a_score(world: World) -> None:
    row = Record.objects.get(pk=keep(at(world), "Zero is a number."))
    hit = mapping.hit(records.Hit(row, 0.0, 0.0, 0.0))
    assert (hit.score, hit.similarity, hit.ranking_score, hit.relevance) == (0, 0, 0, 0)
    assert hit.wire()["similarity"] == 0


def test_search_goes_on_at_its_cursor(world: World) -> None:
    one = at(world)
    for n in range(5):
        keep(one, f"Lantern number {n} hangs outside.")
    seen: list[str] = []
    cursor: str | None = None
    while True:
        asked = types.SearchRequest(query="lantern", scope=LENA, limit=2, cursor=cursor)
        page = one.search(asked)
        seen += [hit.memory.id for hit in page.results]
        cursor = page.cursor
        assert (cursor is not None) == (len(page.results) == 2)
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 5
    with pytest.raises(errors.ValidationError):
        ask(one, "lantern", cursor="-1")


@pytest.mark.parametrize("total", [0, 1, 3, 4])
def test_paging_a_list_sees_each_once_and_ends(world: World, total: int) -> None:
    one = at(world)
    made = [keep(one, f"Rope {n}.") for n in range(total)]
    seen: list[str] = []
    cursor: str | None = None
    for _ in range(10):
        page = one.list(types.ListRequest(scope=LENA, limit=2, cursor=cursor))
        seen += [row.id for row in page.memories]
        cursor = page.cursor
        if cursor is None:
            break
        assert len(page.memories) == 2
    assert (seen, cursor) == (made, None)


def test_a_list_refuses_a_cursor_of_nobody_and_of_another_workspace(
    world: World,
) -> None:
    theirs = at(world, "olga")
    keep(theirs, "One lantern.")
    keep(theirs, "Two lanterns.")
    foreign = theirs.list(types.ListRequest(scope=LENA, limit=1)).cursor
    assert foreign is not None
    for cursor in ("nonsense", foreign):
        with pytest.raises(errors.ValidationError):
            at(world).list(types.ListRequest(scope=LENA, cursor=cursor))


def test_filters_nest_and_an_unknown_operator_is_refused(world: World) -> None:
    one = at(world)
    keep(one, "Red boots.", metadata={"size": 41})
    keep(one, "Blue boots.", metadata={"size": 38})
    big = {"field": "metadata.size", "op": "gte", "value": 40}
    blue = {"field": "content", "op": "contains", "value": "Blue"}

    assert ask(one, "boots", filter={"and": [big, {"not": blue}]}) == ["Red boots."]
    assert ask(one, "boots", filter={"or": [big, blue]}, limit=5)
    unknown = {"field": "content", "op": "sounds_like", "value": "x"}
    for call in (
        lambda: ask(one, "boots", filter=unknown),
        lambda: one.list(types.ListRequest(scope=LENA, filter=unknown)),
    ):
        with pytest.raises(errors.ValidationError) as caught:
            call()
        assert (caught.value.status, caught.value.problem_code) == (422, "bad_filter")
    with pytest.raises(errors.UnsupportedOperationError):
        ask(one, "boots", reranker="oracle")


# ── Ten extensions ───────────────────────────────────────────────────────────
def test_update_history_and_the_past(world: World) -> None:
    one = at(world)
    with time_machine.travel(START, tick=False):
        made = keep(one, "The shop opens at nine.")
    with time_machine.travel(START + timedelta(days=2), tick=False):
        new = one.update(ref(made), "The shop opens at ten.")
    asked = types.SearchRequest(query="shop opens", scope=LENA)

    def then(days: int) -> list[str]:
        page = one.search_as_of(asked, START + timedelta(days=days))
        return [hit.memory.content for hit in page.results]

    assert new.content == "The shop opens at ten."
    assert [then(-1), then(1), then(3)] == [
        [],
        ["The shop opens at nine."],
        ["The shop opens at ten."],
    ]
    first, second = one.history(ref(made))
    assert (first.event, first.parent_id) == ("created", None)
    assert (second.event, second.parent_id) == ("updated", first.id)
    assert ask(one, "opens at nine") == ["The shop opens at ten."]
    with pytest.raises(errors.ValidationError):
        one.search_as_of(asked)


def test_forgetting_with_a_reason_leaves_no_word(world: World) -> None:
    one = at(world)
    made = keep(one, "Zanzibar is the safe word.")
    one.forget(ref(made), "asked by lena")
    one.forget(ref(made), "again")
    one.delete(ref(made))

    assert one.get(ref(made)) is None
    assert ask(one, "Zanzibar") == []
    assert one.history(ref(made)) == []
    words = list(JournalEntry.objects.values_list("summary", "body", "refs_text"))
    assert "Zanzibar" not in str(words)
    assert "asked by lena" in str(words)


def test_batches_are_checked_before_the_first(world: World) -> None:
    one = at(world)
    good = types.VerbatimIngest(content="Tea.", scope=LENA)
    bad = types.VerbatimIngest(content="Milk.", scope=types.Scope(user=""))
    with pytest.raises(errors.InvalidScopeError):
        one.batch_ingest([good, bad])
    assert Record.objects.count() == 0

    done = one.batch_ingest(
        [good, types.TextIngest(content="Milk goes bad.", scope=LENA)]
    )
    ids = [made for result in done for made in result.created]
    assert [len(result.created) for result in done] == [1, 1]
    one.batch_delete([ref(made) for made in ids] * 2)
    assert one.list(types.ListRequest(scope=LENA)).memories == []


def test_the_graph_knows_entries_people_and_likeness(world: World) -> None:
    one = at(world)
    made = keep(one, "Dana keeps brown bees near Olomouc.")
    near = keep(one, "Dana keeps white bees near Olomouc.")
    one.update(ref(made), "Dana keeps black bees near Olomouc.")
    asked = types.GraphSearchRequest(query="bees", scope=LENA)

    whole = one.search_graph(asked)
    ids = {node.id for node in whole.nodes}
    episodes = [
        e for e in whole.edges if e.from_ == made and e.fact.startswith(("c", "u"))
    ]
    first, second = sorted(episodes, key=lambda edge: str(edge.valid_at))
    assert {made, near} <= ids
    assert first.invalid_at == second.valid_at
    assert second.invalid_at is None
    assert any(e.fact == "speak of the same" for e in whole.edges)
    assert all(e.from_ in ids and e.to in ids for e in whole.edges)

    nodes = one.search_graph(asked.model_copy(update={"graph_scope": "nodes"}))
    assert {made, near} <= {n.id for n in nodes.nodes}
    assert nodes.edges == []
    parts = one.search_graph(asked.model_copy(update={"graph_scope": "episodes"}))
    assert {e.fact.split()[0] for e in parts.edges} >= {"created", "updated"}


def test_a_profile_and_insights_cite_what_they_rest_on(world: World) -> None:
    one = at(world)
    ids = [
        keep(one, "Lena prefers trains over planes."),
        keep(one, "Lena prefers trains over cars."),
        keep(one, "Parcels leave on Mondays."),
    ]
    told = one.profile(LENA)
    assert told.facts is not None
    assert all(any(made in fact for fact in told.facts) for made in ids)
    assert "trains" in told.summary
    assert one.profile(LENA) == told
    assert one.profile(types.Scope(user="nobody")).facts == []

    found = one.reflect("how does lena travel? trains", LENA)
    best = found[0]
    assert set(best.supporting_memory_ids) == set(ids[:2])
    assert best.confidence > found[-1].confidence or len(found) == 1
    assert one.reflect("how does lena travel? trains", LENA) == found
    assert one.reflect("trains", types.Scope(user="nobody")) == []


class Model:
    """A mind that answers as it is told, and remembers what it was asked."""

    def __init__(self, *thoughts: Thought, fault: str = "") -> None:
        self.thoughts, self.fault = thoughts, fault
        self.asked: list[tuple[Question, list[Statement]]] = []

    def engine(self) -> Engine:
        return Engine("ollama", "some-model", 3)

    def thinker(self) -> str:
        return "some-chat"

    def answer(self, asked: Question, shown: Sequence[Statement]) -> Answer:
        self.asked.append((asked, list(shown)))
        return Answer(self.thoughts, "some-chat", self.fault)


@pytest.fixture
def think() -> Iterator[Callable[..., Model]]:
    before = language_model.mind()

    def made(*thoughts: Thought, fault: str = "") -> Model:
        found = Model(*thoughts, fault=fault)
        language_model.register(found)
        return found

    yield made
    language_model.register(before)


Think = Callable[..., Model]
FACT = "Lena prefers trains over planes."


def test_a_model_says_it_and_is_asked_for_what_was_asked(
    world: World, think: Think
) -> None:
    one = at(world)
    made = keep(one, FACT)
    model = think(Thought("Lena travels by rail.", 0.8, (made,)))
    found = one.reflect_with_maker("trains", LENA)
    assert found.insights == [
        types.Insight(
            content="Lena travels by rail.",
            confidence=0.8,
            supporting_memory_ids=[made],
        )
    ]
    assert (found.maker.how, found.maker.model) == ("model", "some-chat")
    told = one.profile_with_maker(LENA, "How does she travel?")
    assert told.profile.summary == f"Lena travels by rail. [{made}]"
    assert told.profile.facts == [f"{FACT} [{made}]"]
    scope = {"user": "lena"}
    assert [asked for asked, _ in model.asked] == [
        Question("reflect", "trains", scope),
        Question("profile", "How does she travel?", scope),
    ]
    assert all([one.id for one in shown] == [made] for _, shown in model.asked)


@pytest.mark.parametrize(
    ("thoughts", "fault", "why"),
    [
        ((), "timeout", "timeout"),
        ((), "", None),
        ((Thought("Made up.", 0.9, ("rec_invented",)),), "", "unknown_ids"),
        ((Thought("Rests on nothing.", 0.9, ()),), "", "unknown_ids"),
    ],
)
def test_where_a_model_fails_the_plain_answer_stands_in_and_says_so(
    world: World,
    think: Think,
    thoughts: tuple[Thought, ...],
    fault: str,
    why: str | None,
) -> None:
    one = at(world)
    made = keep(one, FACT)
    think(*thoughts, fault=fault)
    found, told = one.reflect_with_maker("trains", LENA), one.profile_with_maker(LENA)
    assert [insight.content for insight in found.insights] == [FACT]
    assert told.profile.summary == f"{FACT} [{made}]"
    for maker in (found.maker, told.maker):
        assert (maker.how, maker.fault) == ("extractive", why)


def test_health_is_told_and_never_raised(world: World) -> None:
    assert Remembering(world.actor("ada")).health().ok is False
    told = at(world).health()
    assert told.ok
    assert told.latency_ms is not None


def test_correction_survives_a_restart(world: World) -> None:
    made = keep(at(world), "Dana lives in Brno.")
    assert ask(at(world), "Where does Dana live?") == ["Dana lives in Brno."]
    at(world).update(ref(made), "Dana lives in Prague.")
    assert ask(at(world), "Where does Dana live?") == ["Dana lives in Prague."]
    assert ask(at(world, "bob"), "Where does Dana live?") == []
