"""The ten extensions of our provider of the capability contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

import pytest
import time_machine

from memory.integrations.atomicmemory.contract import errors, types
from memory.integrations.atomicmemory.provider.provider import NativeProvider
from memory.models import JournalEntry, Record
from memory.ports import language_model
from memory.ports.language_model import Answer, Conclusion, Engine, Question, Statement
from tests.memory.providers.test_contract_ours import LENA, START, ask, at, keep, ref
from tests.world import World


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
