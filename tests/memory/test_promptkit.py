"""Stages, retriever, extractor, executor: PromptKit's contract beyond its tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.integrations.promptkit import executor, extracting, memories
from memory.integrations.promptkit.executor import DESCRIPTORS, Executor
from memory.integrations.promptkit.extracting import PatternExtractor
from memory.integrations.promptkit.memories import Category, Memory, Message, Provenance
from memory.integrations.promptkit.protocols import Descriptor, Retrieve, Turn
from memory.integrations.promptkit.retrieving import ConversationRetriever, questions
from memory.integrations.promptkit.stages import ExtractionStage, RetrievalStage
from memory.integrations.promptkit.store import RecordStore
from memory.integrations.promptkit.testing import InMemoryStore
from memory.rules import errors
from tests.memory import promptkit
from tests.world import World

SCOPE = {"user_id": "harriet"}


def talk(*texts: str) -> list[Message]:
    """Return a conversation, the user first."""
    roles = ("user", "assistant")
    return [Message(role=roles[n % 2], content=text) for n, text in enumerate(texts)]


class Fixed:
    """Retrieves and extracts fixed memories, or fails."""

    def __init__(self, *memories: Memory, error: Exception | None = None) -> None:
        self.found, self.error, self.asked = list(memories), error, 0

    def retrieve_context(
        self,
        scope: Any,  # noqa: ARG002  (the protocol names it)
        messages: Sequence[Message],  # noqa: ARG002
    ) -> list[Memory]:
        self.asked += 1
        if self.error:
            raise self.error
        return self.found

    extract = retrieve_context


# ── Provenance, categories, lines ────────────────────────────────────────────
def test_the_constants_are_the_contracts() -> None:
    assert list(Provenance) == [
        "user_requested",
        "agent_extracted",
        "system_generated",
        "operator_curated",
    ]
    assert [category.value for category in Category] == [
        f"memory:{name}"
        for name in (
            "identity",
            "preferences",
            "context",
            "location",
            "health",
            "history",
        )
    ]


def test_a_stamp_overwrites_and_keeps_the_rest() -> None:
    memory = Memory(content="x", metadata={"provenance": "mine", "mood": "calm"})
    memories.stamp(memory, Provenance.USER_REQUESTED)
    assert memory.metadata == {"provenance": "user_requested", "mood": "calm"}
    assert Memory(content="x", metadata={"provenance": 7}).provenance == ""
    assert Memory(content="x").provenance == ""


def test_a_line_per_memory() -> None:
    rows = [
        Memory(content="Likes tea", type="preference", confidence=0.9),
        Memory(content="Lives in Porto", type="fact", confidence=0.25),
    ]
    assert memories.formatted(rows) == (
        "[preference] Likes tea (confidence: 0.9)\n"
        "[fact] Lives in Porto (confidence: 0.2)\n"
    )
    assert memories.formatted([]) == ""


def test_json_leaves_out_what_is_empty() -> None:
    data = memories.as_json(Memory(content="x", id="m"))
    assert data["turn_range"] == [0, 0]
    assert not {"metadata", "session_id", "expires_at"} & set(data)


# ── Stages ───────────────────────────────────────────────────────────────────
def test_retrieval_injects_once() -> None:
    retriever = Fixed(Memory(content="Likes tea", type="fact"))
    turn = RetrievalStage(retriever, SCOPE).process(Turn(talk("tea?", "yes", "more?")))
    assert turn.variables == {"memory_context": "[fact] Likes tea (confidence: 0.8)\n"}
    assert retriever.asked == 1


@pytest.mark.parametrize("retriever", [None, Fixed(), Fixed(error=OSError("gone"))])
def test_retrieval_lets_a_turn_pass(retriever: Fixed | None) -> None:
    turn = RetrievalStage(retriever, SCOPE).process(Turn(talk("tea?")))
    assert turn.variables == {} and len(turn.messages) == 1


def test_retrieval_skips_an_empty_conversation() -> None:
    retriever = Fixed(Memory(content="x"))
    assert RetrievalStage(retriever, SCOPE).process(Turn()).variables == {}
    assert retriever.asked == 0


def test_extraction_stamps_only_what_has_no_stamp() -> None:
    store = InMemoryStore()
    curated = Memory(content="Curated")
    memories.stamp(curated, Provenance.OPERATOR_CURATED)
    elsewhere = Memory(content="Elsewhere", scope={"user_id": "omar"})
    stage = ExtractionStage(
        Fixed(curated, Memory(content="Heard"), elsewhere), store, SCOPE
    )
    stage.process(Turn(talk("hello")))
    provenances = {memory.content: memory.provenance for memory in store.list(SCOPE)}
    assert provenances == {"Curated": "operator_curated", "Heard": "agent_extracted"}
    assert [memory.content for memory in store.list({"user_id": "omar"})] == [
        "Elsewhere"
    ]


def test_extraction_never_stops_a_turn() -> None:
    class Full(InMemoryStore):
        def save(self, memory: Memory) -> None:
            if memory.content == "Too much":
                raise OSError("full")
            super().save(memory)

    store = Full()
    failing_extractor = Fixed(Memory(content="Too much"), Memory(content="Fits"))
    for extractor in (failing_extractor, None, Fixed(error=ValueError("no"))):
        turn = Turn(talk("hello"))
        assert ExtractionStage(extractor, store, SCOPE).process(turn) is turn
    assert [memory.content for memory in store.list(SCOPE)] == ["Fits"]
    silent = Fixed(Memory(content="Nothing was said"))
    ExtractionStage(silent, store, SCOPE).process(Turn())
    assert silent.asked == 0


# ── Executor ─────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "descriptor",
    [
        None,
        Descriptor(
            name="memory__dream", description="", input_schema={}, output_schema={}
        ),
    ],
)
def test_no_tool_and_an_unknown_one_are_errors(descriptor: Descriptor | None) -> None:
    with pytest.raises(executor.UnknownTool, match="memory__recall"):
        Executor(InMemoryStore(), SCOPE).execute(descriptor, {})


def test_a_store_that_fails_is_named_by_its_tool() -> None:
    class Down(InMemoryStore):
        def list(self, *_: Any, **__: Any) -> list[Memory]:
            raise errors.Unavailable(reason="the store")

    tool_executor = Executor(Down(), SCOPE)
    with pytest.raises(errors.Unavailable, match=r"^memory list: "):
        tool_executor.execute(executor.descriptor("memory__list"), {})


class Host:
    """A host that records the tools registered."""

    def __init__(self) -> None:
        self.names: list[Descriptor] = []

    def register(self, descriptor: Descriptor) -> None:
        self.names.append(descriptor)


def test_registration() -> None:
    class Rich(InMemoryStore):
        def register_tools(self, registry: Host) -> None:
            registry.register(wide)

    wide = Descriptor(
        name="memory__open", description="", input_schema={}, output_schema={}
    )
    descriptor = Descriptor(
        name="memory__list", description="wider", input_schema={}, output_schema={}
    )
    host = Host()
    executor.register(host, SCOPE, Rich(), replaced={"memory__list": descriptor})
    assert [tool.name for tool in host.names] == [
        *(tool.name for tool in DESCRIPTORS),
        "memory__open",
    ]
    assert descriptor in host.names
    assert all(tool.mode == tool.namespace == "memory" for tool in host.names)
    for scope, disabled in (({}, False), ({"agent_id": "a"}, False), (SCOPE, True)):
        host = Host()
        executor.register(host, scope, disabled=disabled)
        assert host.names == []


def test_schemas_are_open_and_have_answers() -> None:
    for tool in DESCRIPTORS:
        assert "additionalProperties" not in tool.input_schema, tool.name
        assert tool.output_schema["type"] == "object"
    assert "offset" not in DESCRIPTORS[2].input_schema["properties"]


# ── Our retriever ────────────────────────────────────────────────────────────
def test_the_whole_conversation_is_searched() -> None:
    messages = talk(
        "The kiln in Porto broke.", "I am sorry.", "And how long does that take?"
    )
    last, around = questions(messages)
    assert last == "And how long does that take?"
    assert "kiln" in around and around.startswith(last)
    assert questions([]) == [] == questions(talk("   "))


def test_what_was_said_before_finds_too(world: World) -> None:
    store = RecordStore(promptkit.actor_and_token(world)[0])
    for text in ("The kiln in Porto is mended by Rui", "Tea is kept in the blue tin"):
        store.save(Memory(content=text, scope=dict(SCOPE)))
    messages = talk("The kiln in Porto broke.", "I am sorry.", "Who can help?")
    recalled = ConversationRetriever(store, limit=1).retrieve_context(SCOPE, messages)
    assert [memory.content for memory in recalled] == [
        "The kiln in Porto is mended by Rui"
    ]
    assert (
        ConversationRetriever(store).retrieve_context({"user_id": "omar"}, messages)
        == []
    )


# ── Our extractor ────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("sentence", "kind", "category"),
    [
        ("I prefer green tea.", "preference", "memory:preferences"),
        ("My name is Harriet.", "fact", "memory:identity"),
        ("I live in Porto.", "fact", "memory:location"),
        ("I'm allergic to nuts.", "fact", "memory:health"),
        ("Please always answer in English.", "preference", "memory:preferences"),
        ("Remember that the kiln is closed.", "fact", None),
        ("I work at the harbour.", "fact", "memory:context"),
        ("We decided to fire the kiln on Friday.", "decision", "memory:history"),
    ],
)
def test_statements_are_kept_in_the_users_words(
    sentence: str, kind: str, category: str | None
) -> None:
    extracted = PatternExtractor().extract(SCOPE, talk(f"Hello there. {sentence} Bye."))
    assert [(memory.content, memory.type) for memory in extracted] == [(sentence, kind)]
    assert extracted[0].metadata.get("consent_category") == category
    assert extracted[0].scope == SCOPE


def test_questions_and_what_a_model_says_are_no_statements() -> None:
    messages = talk("Do I like tea?", "I prefer coffee. My name is Bot.", "Hm.")
    assert PatternExtractor().extract(SCOPE, messages) == []


@given(st.lists(st.text(max_size=80), max_size=6))
def test_the_extractor_makes_nothing_up(texts: list[str]) -> None:
    messages = [Message(role="user", content=text) for text in texts]
    first = PatternExtractor().extract(SCOPE, messages)
    assert first == PatternExtractor().extract(SCOPE, messages)
    normalised = [" ".join(text.split()) for text in texts]
    for memory in first:
        assert memory.content in normalised[memory.turn_range[0]]


def test_the_extractor_can_be_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extracting._port, "extractor", extracting.extractor())
    extractor = Fixed()
    extracting.register(extractor)
    assert extracting.extractor() is extractor


# ── Our store ────────────────────────────────────────────────────────────────
def test_the_credentials_own_ids_say_nothing_more(world: World) -> None:
    actor, _ = promptkit.actor_and_token(world)
    store = RecordStore(actor)
    full_scope = {**SCOPE, "workspace_id": actor.workspace_id, "agent_id": actor.id}
    store.save(Memory(content="Hers", scope=dict(SCOPE)))
    assert len(store.list(full_scope)) == len(store.list(SCOPE)) == 1
    assert store.list({**SCOPE, "agent_id": "somebody"}) == []


def test_an_unstamped_memory_is_the_systems(world: World) -> None:
    store = RecordStore(promptkit.actor_and_token(world)[0])
    store.save(Memory(content="Made", scope=dict(SCOPE), turn_range=(2, 4)))
    memory = store.retrieve(SCOPE, "", Retrieve())[0]
    assert memory.metadata == {"provenance": "system_generated"}
    assert memory.turn_range == (2, 4)


# ── The tools our store brings ───────────────────────────────────────────────
def tools_of(world: World) -> tuple[dict[str, Descriptor], RecordStore]:
    """Return the tools registered with our store, by name, and the store."""
    host, store = Host(), RecordStore(promptkit.actor_and_token(world)[0])
    executor.register(host, SCOPE, store)
    return {tool.name: tool for tool in host.names}, store


def test_our_store_adds_two_tools_and_they_work(world: World) -> None:
    tools, store = tools_of(world)
    assert list(tools)[4:] == ["memory__history", "memory__revise"]
    executor = Executor(store, SCOPE)
    remembered = executor.execute(tools["memory__remember"], {"content": "Likes tea"})
    change = {"memory_id": remembered["id"], "content": "Likes coffee"}
    revised = executor.execute(tools["memory__revise"], change)
    assert revised == {"status": "revised", "memory_id": remembered["id"], "version": 2}
    [memory] = store.list(SCOPE)
    assert (memory.content, memory.provenance) == ("Likes coffee", "user_requested")
    past = executor.execute(tools["memory__history"], {"memory_id": remembered["id"]})
    assert past["count"] == 2
    assert [(version["event"], version["content"]) for version in past["versions"]] == [
        ("created", "Likes tea"),
        ("updated", "Likes coffee"),
    ]


@pytest.mark.parametrize("name", ["memory__history", "memory__revise"])
def test_the_stores_tools_keep_to_the_bound_scope(world: World, name: str) -> None:
    tools, store = tools_of(world)
    elsewhere = Memory(content="Omar's", scope={"user_id": "omar"})
    store.save(elsewhere)
    executor = Executor(store, SCOPE)
    for memory_id in (elsewhere.id, "rec_0000000000000000"):
        arguments = {"memory_id": memory_id, "content": "Mine", "user_id": "omar"}
        with pytest.raises(errors.NotFound, match=f"^{name.replace('__', ' ')}: "):
            executor.execute(tools[name], arguments)
    assert [memory.content for memory in store.list({"user_id": "omar"})] == ["Omar's"]
    for arguments in ({}, {"memory_id": "", "content": "x"}):
        with pytest.raises(errors.Invalid, match="memory_id is required"):
            executor.execute(tools[name], arguments)


def test_only_the_store_that_brings_a_tool_carries_it_out(world: World) -> None:
    tools, _ = tools_of(world)
    with pytest.raises(executor.UnknownTool):
        Executor(InMemoryStore(), SCOPE).execute(tools["memory__revise"], {})
