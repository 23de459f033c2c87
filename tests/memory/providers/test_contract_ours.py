"""Our provider of the capability contract: three modes, ten extensions, for real."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memory import records
from memory.integrations.atomicmemory.contract import errors, extensions, types
from memory.integrations.atomicmemory.contract.registry import MemoryService
from memory.integrations.atomicmemory.provider import factory, mapping
from memory.integrations.atomicmemory.provider.provider import NativeProvider
from memory.models import Record
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
