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
from memory.integrations.atomicmemory.provider.provider import NativeProvider
from memory.models import JournalEntry, Record
from memory.ports import language_model
from memory.ports.language_model import Answer, Conclusion, Engine, Question, Statement
from tests import world as worlds
from tests.world import World

LENA = types.Scope(user="lena")
START = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)


def at(world: World, agent: str = "ada") -> NativeProvider:
    provider = NativeProvider(world.actor(agent))
    provider.initialize()
    return provider


def keep(
    provider: NativeProvider, content: str, scope: types.Scope = LENA, **fields: Any
) -> str:
    request = types.VerbatimIngest(content=content, scope=scope, **fields)
    result = provider.ingest(request)
    return [*result.created, *result.updated, *result.unchanged][0]


def ref(memory_id: str, scope: types.Scope = LENA) -> types.MemoryRef:
    return types.MemoryRef(id=memory_id, scope=scope)


def ask(
    provider: NativeProvider, query: str, scope: types.Scope = LENA, **fields: Any
) -> list[str]:
    page = provider.search(types.SearchRequest(query=query, scope=scope, **fields))
    return [hit.memory.content for hit in page.results]


# ── Honest ───────────────────────────────────────────────────────────────────
def test_all_ten_are_declared_and_there(world: World) -> None:
    provider = at(world)
    capabilities = provider.capabilities()
    assert all(capabilities.extensions.model_dump().values())
    assert extensions.dishonest(provider, capabilities) == []
    for ten in extensions.TEN:
        assert provider.get_extension(ten.name) is provider
        assert provider.get_extension(ten.alias) is provider
    assert provider.get_extension("telepathy") is None


def test_the_registry_makes_it_for_an_actor(world: World) -> None:
    options = {"actor": world.actor("ada")}
    service = MemoryService(factory.registry(), {"native": options})
    service.initialize()
    ingested = service.ingest(
        {"mode": "memory", "content": "Tea.", "scope": {"user": "u"}}
    )
    assert len(ingested.created) == 1
    with pytest.raises(errors.ConfigError):
        MemoryService(factory.registry(), {"native": {}}).initialize()


# ── Taking in ────────────────────────────────────────────────────────────────
def test_statements_are_extracted_and_repeats_are_unchanged(world: World) -> None:
    provider = at(world)
    request = {
        "mode": "text",
        "content": "Hello! Refunds need a receipt. Parcels leave on Mondays. Any news?",
        "scope": {"user": "lena"},
    }
    first, second = provider.ingest(request), provider.ingest(request)

    assert (len(first.created), first.unchanged) == (2, [])
    assert (second.created, sorted(second.unchanged)) == ([], sorted(first.created))
    rows = Record.objects.filter(pk__in=first.created)
    assert {row.provenance for row in rows} == {"agent_extracted"}


def test_a_correction_is_not_undone_by_the_old_text(world: World) -> None:
    provider = at(world)
    request = {
        "mode": "text",
        "content": "Dana lives in Brno.",
        "scope": LENA.to_json(),
    }
    (memory_id,) = provider.ingest(request).created
    provider.update(ref(memory_id), "Dana lives in Prague.")
    assert provider.ingest(request).created != [memory_id]
    found_memory = provider.get(ref(memory_id))
    assert found_memory is not None and found_memory.content == "Dana lives in Prague."
    provider.delete(ref(memory_id))
    assert len(provider.list(types.ListRequest(scope=LENA)).memories) == 1


def test_messages_keep_what_people_said(world: World) -> None:
    provider = at(world)
    ingested = provider.ingest(
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
    (memory_id,) = ingested.created
    found_memory = provider.get(ref(memory_id))
    assert found_memory is not None
    assert found_memory.content == "I am allergic to wool. It itches."
    assert found_memory.scope.thread == "t1"


def test_a_source_is_returned_and_is_not_the_provenance(world: World) -> None:
    provider = at(world)
    source = types.Provenance(source="operator_curated", source_url="https://x.example")
    memory_id = keep(
        provider, "Kettles are in aisle four.", provenance=source, metadata={"a": 1}
    )

    found_memory = provider.get(ref(memory_id))

    assert found_memory is not None
    assert (found_memory.provenance, found_memory.metadata) == (source, {"a": 1})
    assert Record.objects.get(pk=memory_id).provenance == "user_requested"


def test_an_external_id_is_one_memory_of_a_user(world: World) -> None:
    provider = at(world)
    metadata_fields: dict[str, Any] = {"metadata": {"externalId": "rule-7"}}
    first = keep(provider, "Two checks.", **metadata_fields)
    repeated_id = keep(
        provider,
        "Two checks.",
        types.Scope(user="lena", thread="t9"),
        **metadata_fields,
    )
    changed_id = keep(provider, "Three checks.", **metadata_fields)
    other = keep(provider, "Two checks.", types.Scope(user="max"), **metadata_fields)

    assert first == repeated_id == changed_id != other
    assert [v.content for v in provider.history(ref(first))] == [
        "Two checks.",
        "Three checks.",
    ]


@pytest.mark.parametrize("bad", [7, "", " ", "x" * 201, None])
def test_an_external_id_is_a_text(world: World, bad: Any) -> None:
    provider = at(world)
    if bad is None:
        assert keep(provider, "Tea.", metadata={"externalId": None})
        return
    with pytest.raises(errors.ValidationError):
        keep(provider, "Tea.", metadata={"externalId": bad})
    assert Record.objects.count() == 0


def test_a_held_text_is_reported_and_not_found(world: World) -> None:
    provider = at(world)
    with pytest.raises(errors.ProviderError) as caught:
        keep(provider, worlds.ATTACK)
    assert (caught.value.problem_code, caught.value.status) == ("held", 409)
    assert caught.value.fields["held_id"]
    assert ask(provider, "instructions API key") == []


# ── Asking ───────────────────────────────────────────────────────────────────
def test_users_namespaces_threads_and_agents_are_isolated(world: World) -> None:
    provider = at(world)
    home = types.Scope(user="lena", namespace="shop", thread="t1")
    memory_id = keep(provider, "The alarm code has four digits.", home)

    assert ask(provider, "alarm code", home)
    assert ask(provider, "alarm code", LENA)
    for elsewhere in (
        types.Scope(user="max"),
        types.Scope(user="lena", namespace="garden"),
        types.Scope(user="lena", thread="t2"),
    ):
        assert ask(provider, "alarm code", elsewhere) == []
        assert provider.get(ref(memory_id, elsewhere)) is None
        provider.delete(ref(memory_id, elsewhere))
    for agent in ("lena", "bob", "olga"):
        assert ask(at(world, agent), "alarm code") == []
        assert at(world, agent).get(ref(memory_id)) is None
    assert provider.get(ref(memory_id)) is not None


def test_a_receipt_tells_how_hits_were_found(world: World) -> None:
    provider = at(world)
    memory_id = keep(provider, "Scarves are folded twice.")
    page = provider.search(types.SearchRequest(query="scarves", scope=LENA))
    receipt = page.retrieval
    assert receipt is not None
    assert receipt.candidate_ids == [memory_id]
    assert (
        receipt.embedding_model and receipt.embedding_model_version and receipt.trace_id
    )
    assert receipt.embedding_dimensions >= 1
    assert (
        page.results[0].observed_at and page.results[0].version_id == f"{memory_id}:1"
    )


def test_a_score_of_zero_is_a_score(world: World) -> None:
    row = Record.objects.get(pk=keep(at(world), "Zero is a number."))
    hit = mapping.hit(records.Hit(row, 0.0, 0.0, 0.0))
    assert (hit.score, hit.similarity, hit.ranking_score, hit.relevance) == (0, 0, 0, 0)
    assert hit.to_json()["similarity"] == 0


def test_search_goes_on_at_its_cursor(world: World) -> None:
    provider = at(world)
    for n in range(5):
        keep(provider, f"Lantern number {n} hangs outside.")
    seen_ids: list[str] = []
    cursor: str | None = None
    while True:
        request = types.SearchRequest(
            query="lantern", scope=LENA, limit=2, cursor=cursor
        )
        page = provider.search(request)
        seen_ids += [hit.memory.id for hit in page.results]
        cursor = page.cursor
        assert (cursor is not None) == (len(page.results) == 2)
        if cursor is None:
            break
    assert len(seen_ids) == len(set(seen_ids)) == 5
    with pytest.raises(errors.ValidationError):
        ask(provider, "lantern", cursor="-1")


@pytest.mark.parametrize("total", [0, 1, 3, 4])
def test_paging_a_list_sees_each_once_and_ends(world: World, total: int) -> None:
    provider = at(world)
    memory_ids = [keep(provider, f"Rope {n}.") for n in range(total)]
    seen_ids: list[str] = []
    cursor: str | None = None
    for _ in range(10):
        page = provider.list(types.ListRequest(scope=LENA, limit=2, cursor=cursor))
        seen_ids += [row.id for row in page.memories]
        cursor = page.cursor
        if cursor is None:
            break
        assert len(page.memories) == 2
    assert (seen_ids, cursor) == (memory_ids, None)


def test_a_list_refuses_a_cursor_of_nobody_and_of_another_workspace(
    world: World,
) -> None:
    other_provider = at(world, "olga")
    keep(other_provider, "One lantern.")
    keep(other_provider, "Two lanterns.")
    foreign = other_provider.list(types.ListRequest(scope=LENA, limit=1)).cursor
    assert foreign is not None
    for cursor in ("nonsense", foreign):
        with pytest.raises(errors.ValidationError):
            at(world).list(types.ListRequest(scope=LENA, cursor=cursor))


def test_filters_nest_and_an_unknown_operator_is_refused(world: World) -> None:
    provider = at(world)
    keep(provider, "Red boots.", metadata={"size": 41})
    keep(provider, "Blue boots.", metadata={"size": 38})
    big = {"field": "metadata.size", "op": "gte", "value": 40}
    blue = {"field": "content", "op": "contains", "value": "Blue"}

    assert ask(provider, "boots", filter={"and": [big, {"not": blue}]}) == [
        "Red boots."
    ]
    assert ask(provider, "boots", filter={"or": [big, blue]}, limit=5)
    unknown = {"field": "content", "op": "sounds_like", "value": "x"}
    for call in (
        lambda: ask(provider, "boots", filter=unknown),
        lambda: provider.list(types.ListRequest(scope=LENA, filter=unknown)),
    ):
        with pytest.raises(errors.ValidationError) as caught:
            call()
        assert (caught.value.status, caught.value.problem_code) == (422, "bad_filter")
    with pytest.raises(errors.UnsupportedOperationError):
        ask(provider, "boots", reranker="oracle")


# ── Ten extensions ───────────────────────────────────────────────────────────
def test_update_history_and_the_past(world: World) -> None:
    provider = at(world)
    with time_machine.travel(START, tick=False):
        memory_id = keep(provider, "The shop opens at nine.")
    with time_machine.travel(START + timedelta(days=2), tick=False):
        new = provider.update(ref(memory_id), "The shop opens at ten.")
    request = types.SearchRequest(query="shop opens", scope=LENA)

    def then(days: int) -> list[str]:
        page = provider.search_as_of(request, START + timedelta(days=days))
        return [hit.memory.content for hit in page.results]

    assert new.content == "The shop opens at ten."
    assert [then(-1), then(1), then(3)] == [
        [],
        ["The shop opens at nine."],
        ["The shop opens at ten."],
    ]
    first, second = provider.history(ref(memory_id))
    assert (first.event, first.parent_id) == ("created", None)
    assert (second.event, second.parent_id) == ("updated", first.id)
    assert ask(provider, "opens at nine") == ["The shop opens at ten."]
    with pytest.raises(errors.ValidationError):
        provider.search_as_of(request)


def test_forgetting_with_a_reason_leaves_no_word(world: World) -> None:
    provider = at(world)
    memory_id = keep(provider, "Zanzibar is the safe word.")
    provider.forget(ref(memory_id), "asked by lena")
    provider.forget(ref(memory_id), "again")
    provider.delete(ref(memory_id))

    assert provider.get(ref(memory_id)) is None
    assert ask(provider, "Zanzibar") == []
    assert provider.history(ref(memory_id)) == []
    words = list(JournalEntry.objects.values_list("summary", "body", "refs_text"))
    assert "Zanzibar" not in str(words)
    assert "asked by lena" in str(words)


def test_batches_are_checked_before_the_first(world: World) -> None:
    provider = at(world)
    good = types.VerbatimIngest(content="Tea.", scope=LENA)
    bad = types.VerbatimIngest(content="Milk.", scope=types.Scope(user=""))
    with pytest.raises(errors.InvalidScopeError):
        provider.batch_ingest([good, bad])
    assert Record.objects.count() == 0

    ingested = provider.batch_ingest(
        [good, types.TextIngest(content="Milk goes bad.", scope=LENA)]
    )
    ids = [memory_id for result in ingested for memory_id in result.created]
    assert [len(result.created) for result in ingested] == [1, 1]
    provider.batch_delete([ref(memory_id) for memory_id in ids] * 2)
    assert provider.list(types.ListRequest(scope=LENA)).memories == []


def test_the_graph_knows_entries_people_and_likeness(world: World) -> None:
    provider = at(world)
    memory_id = keep(provider, "Dana keeps brown bees near Olomouc.")
    similar_id = keep(provider, "Dana keeps white bees near Olomouc.")
    provider.update(ref(memory_id), "Dana keeps black bees near Olomouc.")
    request = types.GraphSearchRequest(query="bees", scope=LENA)

    graph = provider.search_graph(request)
    ids = {node.id for node in graph.nodes}
    episodes = [
        e for e in graph.edges if e.from_ == memory_id and e.fact.startswith(("c", "u"))
    ]
    first, second = sorted(episodes, key=lambda edge: str(edge.valid_at))
    assert {memory_id, similar_id} <= ids
    assert first.invalid_at == second.valid_at
    assert second.invalid_at is None
    assert any(e.fact == "speak of the same" for e in graph.edges)
    assert all(e.from_ in ids and e.to in ids for e in graph.edges)

    nodes = provider.search_graph(request.model_copy(update={"graph_scope": "nodes"}))
    assert {memory_id, similar_id} <= {n.id for n in nodes.nodes}
    assert nodes.edges == []
    parts = provider.search_graph(
        request.model_copy(update={"graph_scope": "episodes"})
    )
    assert {e.fact.split()[0] for e in parts.edges} >= {"created", "updated"}


def test_a_profile_and_insights_cite_what_they_rest_on(world: World) -> None:
    provider = at(world)
    ids = [
        keep(provider, "Lena prefers trains over planes."),
        keep(provider, "Lena prefers trains over cars."),
        keep(provider, "Parcels leave on Mondays."),
    ]
    profile = provider.profile(LENA)
    assert profile.facts is not None
    assert all(any(memory_id in fact for fact in profile.facts) for memory_id in ids)
    assert "trains" in profile.summary
    assert provider.profile(LENA) == profile
    assert provider.profile(types.Scope(user="nobody")).facts == []

    insights = provider.reflect("how does lena travel? trains", LENA)
    best = insights[0]
    assert set(best.supporting_memory_ids) == set(ids[:2])
    assert best.confidence > insights[-1].confidence or len(insights) == 1
    assert provider.reflect("how does lena travel? trains", LENA) == insights
    assert provider.reflect("trains", types.Scope(user="nobody")) == []


class Model:
    """A language model with fixed answers that records the questions."""

    def __init__(self, *conclusions: Conclusion, fault: str = "") -> None:
        self.conclusions, self.fault = conclusions, fault
        self.asked: list[tuple[Question, list[Statement]]] = []

    def engine(self) -> Engine:
        return Engine("ollama", "some-model", 3)

    def model_name(self) -> str:
        return "some-chat"

    def answer(self, question: Question, statements: Sequence[Statement]) -> Answer:
        self.asked.append((question, list(statements)))
        return Answer(self.conclusions, "some-chat", self.fault)


@pytest.fixture
def think() -> Iterator[Callable[..., Model]]:
    before = language_model.current()

    def install_model(*conclusions: Conclusion, fault: str = "") -> Model:
        model = Model(*conclusions, fault=fault)
        language_model.register(model)
        return model

    yield install_model
    language_model.register(before)


Think = Callable[..., Model]
FACT = "Lena prefers trains over planes."


def test_a_model_answers_with_the_question_and_scope(
    world: World, think: Think
) -> None:
    provider = at(world)
    memory_id = keep(provider, FACT)
    model = think(Conclusion("Lena travels by rail.", 0.8, (memory_id,)))
    reflection = provider.reflect_with_maker("trains", LENA)
    assert reflection.insights == [
        types.Insight(
            content="Lena travels by rail.",
            confidence=0.8,
            supporting_memory_ids=[memory_id],
        )
    ]
    assert (reflection.maker.how, reflection.maker.model) == ("model", "some-chat")
    portrait = provider.profile_with_maker(LENA, "How does she travel?")
    assert portrait.profile.summary == f"Lena travels by rail. [{memory_id}]"
    assert portrait.profile.facts == [f"{FACT} [{memory_id}]"]
    scope = {"user": "lena"}
    assert [question for question, _ in model.asked] == [
        Question("reflect", "trains", scope),
        Question("profile", "How does she travel?", scope),
    ]
    assert all(
        [statement.id for statement in statements] == [memory_id]
        for _, statements in model.asked
    )


@pytest.mark.parametrize(
    ("conclusions", "fault", "reported_fault"),
    [
        ((), "timeout", "timeout"),
        ((), "", None),
        ((Conclusion("Made up.", 0.9, ("rec_invented",)),), "", "unknown_ids"),
        ((Conclusion("Rests on nothing.", 0.9, ()),), "", "unknown_ids"),
    ],
)
def test_a_failing_model_is_replaced_by_extraction_with_the_reason(
    world: World,
    think: Think,
    conclusions: tuple[Conclusion, ...],
    fault: str,
    reported_fault: str | None,
) -> None:
    provider = at(world)
    memory_id = keep(provider, FACT)
    think(*conclusions, fault=fault)
    reflection, portrait = (
        provider.reflect_with_maker("trains", LENA),
        provider.profile_with_maker(LENA),
    )
    assert [insight.content for insight in reflection.insights] == [FACT]
    assert portrait.profile.summary == f"{FACT} [{memory_id}]"
    for maker in (reflection.maker, portrait.maker):
        assert (maker.how, maker.fault) == ("extractive", reported_fault)


def test_health_is_returned_and_never_raised(world: World) -> None:
    assert NativeProvider(world.actor("ada")).health().ok is False
    health = at(world).health()
    assert health.ok
    assert health.latency_ms is not None


def test_correction_survives_a_restart(world: World) -> None:
    memory_id = keep(at(world), "Dana lives in Brno.")
    assert ask(at(world), "Where does Dana live?") == ["Dana lives in Brno."]
    at(world).update(ref(memory_id), "Dana lives in Prague.")
    assert ask(at(world), "Where does Dana live?") == ["Dana lives in Prague."]
    assert ask(at(world, "bob"), "Where does Dana live?") == []
