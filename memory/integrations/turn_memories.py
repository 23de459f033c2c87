"""A turn with memories: recalled before it, extracted after it.

A turn's strategy handles files and gateways. Where the workspace setting is on, the
stages over memories run beside the strategy, in the scope of the request's end user,
else of the agent. What is extracted is of the conversation: its entries share a trace
id. A failure of a stage never fails a turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memory import workspace_settings
from memory.integrations import agent_tools
from memory.integrations.gateway import turns
from memory.integrations.gateway.strategies import (
    Completion,
    MemoryStrategy,
    Outcome,
    Turn,
)
from memory.integrations.gateway.turns import Recalled
from memory.integrations.promptkit import extracting, memories
from memory.integrations.promptkit.memories import Memory, Message
from memory.integrations.promptkit.protocols import Turn as Conversation
from memory.integrations.promptkit.retrieving import ConversationRetriever
from memory.integrations.promptkit.stages import (
    VARIABLE,
    ExtractionStage,
    RetrievalStage,
)
from memory.integrations.promptkit.store import RecordStore
from memory.rules import prompt_fence
from memory.rules.permissions import Actor
from memory.workspace_settings.declarations import TURNS_USE_MEMORIES


def _prompt_text(recalled: Sequence[Memory]) -> str:
    """Return memories as text for a prompt; an empty text for none."""
    return prompt_fence.around_text(memories.formatted(recalled)) if recalled else ""


def _uses_memories(by: Actor) -> bool:
    """Return whether the stages run: the setting is on and the caller has the tools."""
    is_on = workspace_settings.value(by.workspace_id, TURNS_USE_MEMORIES)
    return is_on and agent_tools.has_memories(by)


def recall(turn: Turn, *, by: Actor) -> Recalled:
    """Run an agent's strategy before its run, and the retrieval stage beside it."""
    recalled = turns.recall(turn, by=by)
    if not _uses_memories(by):
        return recalled
    retriever = ConversationRetriever(RecordStore(by))
    stage = RetrievalStage(retriever, agent_tools.scope_of(by), _prompt_text)
    conversation = Conversation(messages=[Message(role="user", content=turn.prompt)])
    text = stage.process(conversation).variables.get(VARIABLE)
    return replace(recalled, memory_context=text)


def persist(turn: Turn, outcome: Outcome, *, by: Actor) -> MemoryStrategy:
    """Run the strategy after the run, and the extraction stage beside it.

    Nothing is stored for a run that ended in an error.
    """
    strategy = turns.persist(turn, outcome, by=by)
    if outcome.completion is not Completion.ERROR and _uses_memories(by):
        scope = agent_tools.scope_of(by)
        stage = ExtractionStage(
            extracting.extractor(), RecordStore(by), scope, turn.conversation_id
        )
        messages = [
            Message(role="user", content=turn.prompt),
            Message(role="assistant", content=outcome.answer),
        ]
        stage.process(Conversation(messages=messages))
    return strategy
