"""One interface between a run and its memory, whichever strategy is behind it.

``recall_before_run`` is called before the messages for the model are built,
``persist_after_run`` after the final answer. Exactly one strategy exists for a run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Protocol

import httpx

from memory.integrations.gateway import events, references
from memory.integrations.gateway.client import GatewayClient, GatewayFailure, Operation
from memory.integrations.gateway.config import GatewayConfig, MemoryConfig, Mode
from memory.integrations.gateway.events import Sink
from memory.integrations.gateway.references import ReferenceMessage

ASSISTANT: Final = "beaver"
CHAT: Final = "chat:"
FILE_BYTES: Final = 64 * 1024


class Completion(StrEnum):
    """How a run ended; one that ended in an error is not kept."""

    NORMAL = "normal"
    TOOL_LIMIT = "tool_limit"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The prompt, its conversation and time; ``user`` names the card to show."""

    conversation_id: str
    prompt: str
    asked_at: datetime
    user: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The final answer of a run."""

    answer: str
    answered_at: datetime
    completion: Completion = Completion.NORMAL


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The two curated files as they were when the conversation began."""

    memory: str = ""
    user: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether both files are blank."""
        return not (self.memory.strip() or self.user.strip())


@dataclass(frozen=True, slots=True)
class Recall:
    """What a run gets: a snapshot for its system prompt, a message, or nothing."""

    snapshot: Snapshot | None = None
    reference: ReferenceMessage | None = None


def from_folder(folder: Path) -> Snapshot:
    """Return the files ``MEMORY.md`` and ``USER.md`` of a folder.

    A file that is missing, too large or no text is empty: a run does not fail for it.
    """
    texts = []
    for name in ("MEMORY.md", "USER.md"):
        try:
            with (folder / name).open("rb") as stream:
                raw = stream.read(FILE_BYTES + 1)
            texts.append(raw.decode() if len(raw) <= FILE_BYTES else "")
        except (OSError, UnicodeDecodeError):
            texts.append("")
    return Snapshot(*texts)


class MemoryStrategy(Protocol):
    """A run's memory. ``has_memory_tool``: whether to register that tool."""

    mode: Mode
    has_memory_tool: bool
    has_session_search: bool
    system_rule: str

    async def recall_before_run(self, turn: Turn) -> Recall:
        """Return what memory has for a turn; it never fails."""
        ...

    async def persist_after_run(self, turn: Turn, outcome: Outcome) -> None:
        """Keep what is worth keeping of a turn; it never fails."""
        ...


class Curated:
    """The two files, frozen at the first recall; no HTTP, nothing stored."""

    mode = Mode.CURATED
    has_memory_tool = True
    has_session_search = True
    system_rule = references.SYSTEM_RULE

    def __init__(self, look: Callable[[], Snapshot]) -> None:
        self._look = look
        self._frozen: Snapshot | None = None

    async def recall_before_run(self, turn: Turn) -> Recall:  # noqa: ARG002
        """Return the snapshot, the same one for every turn of this strategy."""
        if self._frozen is None:
            self._frozen = self._look()
        return Recall(snapshot=None if self._frozen.is_empty else self._frozen)

    async def persist_after_run(self, turn: Turn, outcome: Outcome) -> None:
        """Do nothing: the memory tool writes these files."""


def epoch_ms(moment: datetime) -> int:
    """Return a moment as UTC epoch milliseconds, positive."""
    return max(1, int(moment.astimezone(UTC).timestamp() * 1000))


class Gateway:
    """A memory gateway: one search before a run, one add and one flush after."""

    mode = Mode.MEMORY_GATEWAY
    has_memory_tool = False
    has_session_search = True
    system_rule = references.SYSTEM_RULE

    def __init__(
        self, config: GatewayConfig, sink: Sink, client: GatewayClient | None = None
    ) -> None:
        self._config, self._sink = config, sink
        self._client = client or GatewayClient(config)

    def __repr__(self) -> str:
        return "Gateway()"

    async def recall_before_run(self, turn: Turn) -> Recall:
        """Search once; a failure becomes an event and gives no message."""
        try:
            results = await self._client.search(turn.conversation_id, turn.prompt)
        except GatewayFailure as failure:
            await self._sink.record(events.failed(failure))
            return Recall()
        scope = [scope_value.value for scope_value in self._config.scope]
        event = events.succeeded(
            Operation.SEARCH, scope=scope, result_count=len(results)
        )
        await self._sink.record(event)
        return Recall(reference=references.message(results, self._config.top_k))

    async def persist_after_run(self, turn: Turn, outcome: Outcome) -> None:
        """Add the turn and flush it, each once; failures do not reach the run."""
        if outcome.completion is Completion.ERROR:
            return
        chat = CHAT + turn.conversation_id
        messages = self._messages(turn, outcome)
        try:
            await self._client.add(chat, messages)
        except GatewayFailure as failure:
            await self._sink.record(events.failed(failure))
            return
        added = {"chat_id": chat, "message_count": len(messages)}
        await self._sink.record(events.succeeded(Operation.ADD, **added))
        try:
            await self._client.flush(chat)
        except GatewayFailure as failure:
            await self._sink.record(events.failed(failure, add_succeeded=True))
            return
        await self._sink.record(events.succeeded(Operation.FLUSH, chat_id=chat))

    def _messages(self, turn: Turn, outcome: Outcome) -> list[dict[str, Any]]:
        """Return the two messages of a turn: the prompt and the final answer."""
        asked_ms = epoch_ms(turn.asked_at)
        return [
            {
                "sender_id": self._config.user_id,
                "role": "user",
                "timestamp": asked_ms,
                "content": turn.prompt,
            },
            {
                "sender_id": ASSISTANT,
                "role": "assistant",
                "timestamp": max(asked_ms, epoch_ms(outcome.answered_at)),
                "content": outcome.answer,
            },
        ]


class Hybrid:
    """Both: the curated files, and what a gateway finds."""

    mode = Mode.HYBRID
    has_memory_tool = True
    has_session_search = True
    system_rule = references.SYSTEM_RULE

    def __init__(self, curated: Curated, gateway: Gateway) -> None:
        self._curated, self._gateway = curated, gateway

    async def recall_before_run(self, turn: Turn) -> Recall:
        """Return the snapshot and what the gateway found."""
        files = await self._curated.recall_before_run(turn)
        gateway_recall = await self._gateway.recall_before_run(turn)
        return Recall(files.snapshot, gateway_recall.reference)

    async def persist_after_run(self, turn: Turn, outcome: Outcome) -> None:
        await self._gateway.persist_after_run(turn, outcome)


OF_MODE: Final[dict[Mode, type[MemoryStrategy]]] = {
    Mode.CURATED: Curated,
    Mode.MEMORY_GATEWAY: Gateway,
    Mode.HYBRID: Hybrid,
}


def build(
    mode: Mode, gateway: Gateway | None, look: Callable[[], Snapshot]
) -> MemoryStrategy:
    """Return the strategy of a mode, with its gateway where it needs one."""
    curated = Curated(look)
    if gateway is None or mode is Mode.CURATED:
        return curated
    return gateway if mode is Mode.MEMORY_GATEWAY else Hybrid(curated, gateway)


def of(
    config: MemoryConfig,
    look: Callable[[], Snapshot],
    sink: Sink,
    transport: httpx.AsyncBaseTransport | None = None,
) -> MemoryStrategy:
    if config.gateway is None:
        return build(config.mode, None, look)
    client = GatewayClient(config.gateway, transport=transport)
    return build(config.mode, Gateway(config.gateway, sink, client), look)
