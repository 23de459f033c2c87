"""Whether memory can be recalled by meaning now, as one sentence and its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from episodic.embedders.base import Reason, State, Status
from episodic.index import engine
from episodic.index import status as index_status
from memory.rules.permissions import Actor

NONE: Final = "none"
HASHING: Final = "hashing"

REASONS: Final[dict[Reason, str]] = {
    Reason.UNREACHABLE: "there is no answer at its address",
    Reason.TIMEOUT: "it did not answer in time",
    Reason.BAD_ANSWER: "its answer is not usable",
    Reason.NOT_CONFIGURED: "a setting or a package is missing",
    Reason.DAMAGED: "the files of the model are damaged",
    Reason.UNEXPECTED: "it failed in an unexpected way",
}


@dataclass(frozen=True, slots=True)
class EmbedderCard:
    """Whether the embedder answers, from real calls of this process."""

    name: str
    model: str
    dim: int | None
    colour: str
    word: str
    note: str
    last_ms: float | None
    checked_at: datetime | None
    recent: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """The state of recall by meaning: the finding first, then what it rests on."""

    finding: str
    embedder: EmbedderCard
    status: index_status.Status
    colour: str
    word: str

    @property
    def share(self) -> float | None:
        """How much of what deserves a vector has one, in percent; None without any."""
        if not self.status.embeddable:
            return None
        return 100 * self.status.indexed / self.status.embeddable


def card(actor: Actor) -> Card:
    """Return the state of recall by meaning in the actor's workspace."""
    status = index_status.status(actor.workspace_id, by=actor)
    embedder_status = engine.status()
    name = engine.embedder().name
    stopped = name == NONE or embedder_status.state is State.FAILING
    colour, word = _index_state(status, stopped=stopped)
    return Card(
        finding(status, embedder_status, name),
        _embedder(embedder_status),
        status,
        colour,
        word,
    )


def finding(status: index_status.Status, embedder_status: Status, name: str) -> str:
    """Return what is true now in one sentence, the worst first."""
    if name == NONE:
        return "Recall is by words alone: no embedder is configured"
    if embedder_status.state is State.FAILING:
        return "The embedder does not answer: recall is by words alone"
    if status.failed:
        return f"{_entries(status.failed)} cannot be recalled by meaning"
    if status.pending:
        verb = "waits" if status.pending == 1 else "wait"
        return f"{_entries(status.pending)} {verb} for a vector{_oldest(status)}"
    if not status.embeddable:
        return "No memory here can be recalled by meaning yet"
    if status.embeddable == 1:
        return "The one memory here can be recalled by meaning"
    return f"All {status.embeddable:,} memories can be recalled by meaning"


def _entries(count: int) -> str:
    return f"{count:,} {'entry' if count == 1 else 'entries'}"


def _oldest(status: index_status.Status) -> str:
    seconds = status.oldest_pending_seconds
    if seconds is None or seconds < 2:
        return ""
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size:
            count = int(seconds // size)
            return f"; the oldest for {count} {unit}{'s' if count > 1 else ''}"
    return ""


def _index_state(status: index_status.Status, *, stopped: bool) -> tuple[str, str]:
    """Return a colour and a word for the index; none where there is none to judge."""
    if status.failed:
        return "red", "Failed in part"
    if status.pending:
        return ("red", "Stopped") if stopped else ("yellow", "Draining")
    return ("green", "Complete") if status.embeddable else ("", "Nothing to index")


def _embedder(embedder_status: Status) -> EmbedderCard:
    embedder = engine.embedder()
    colour, word, note = _state(embedder_status, embedder.name)
    return EmbedderCard(
        name=embedder.name,
        model=embedder.model,
        dim=embedder.dim,
        colour=colour,
        word=word,
        note=note,
        last_ms=embedder_status.last_ms,
        checked_at=embedder_status.checked_at,
        recent=tuple(beat.ms for beat in embedder_status.recent),
    )


def _state(embedder_status: Status, name: str) -> tuple[str, str, str]:
    if name == NONE:
        return "", "Not configured", "set CREWSHIP_EMBEDDER to have one"
    if embedder_status.state is State.FAILING:
        reason = embedder_status.reason or Reason.UNEXPECTED
        return "red", "No answer", REASONS[reason]
    if embedder_status.state is State.NOT_CALLED:
        return "", "Not asked yet", "no call since this process started"
    if name == HASHING:
        return "yellow", "Answering", "a stand-in that knows words, not meaning"
    return "green", "Answering", "in this process"
