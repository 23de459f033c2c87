"""Whether memory can be recalled by meaning now, as one sentence and its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils.translation import gettext, gettext_noop, ngettext

from episodic.embedders.base import Reason, State, Status
from episodic.index import engine
from episodic.index import status as index_status
from memory.figures import grouped
from memory.rules.permissions import Actor

NONE: Final = "none"
HASHING: Final = "hashing"

REASONS: Final[dict[Reason, str]] = {
    Reason.UNREACHABLE: gettext_noop("there is no answer at its address"),
    Reason.TIMEOUT: gettext_noop("it did not answer in time"),
    Reason.BAD_ANSWER: gettext_noop("its answer is not usable"),
    Reason.NOT_CONFIGURED: gettext_noop("a setting or a package is missing"),
    Reason.DAMAGED: gettext_noop("the files of the model are damaged"),
    Reason.UNEXPECTED: gettext_noop("it failed in an unexpected way"),
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
        return gettext("Recall is by words alone: no embedder is configured")
    if embedder_status.state is State.FAILING:
        return gettext("The embedder does not answer: recall is by words alone")
    if status.failed:
        return ngettext(
            "{count} entry cannot be recalled by meaning",
            "{count} entries cannot be recalled by meaning",
            status.failed,
        ).format(count=grouped(status.failed))
    if status.pending:
        return _waiting(status)
    if not status.embeddable:
        return gettext("No memory here can be recalled by meaning yet")
    if status.embeddable == 1:
        return gettext("The one memory here can be recalled by meaning")
    text = gettext("All {count} memories can be recalled by meaning")
    return text.format(count=grouped(status.embeddable))


def _waiting(status: index_status.Status) -> str:
    seconds, count = status.oldest_pending_seconds, grouped(status.pending)
    if seconds is None or seconds < 2:
        text = ngettext(
            "{count} entry waits for a vector",
            "{count} entries wait for a vector",
            status.pending,
        )
        return text.format(count=count)
    text = ngettext(
        "{count} entry waits for a vector; the oldest for {time}",
        "{count} entries wait for a vector; the oldest for {time}",
        status.pending,
    )
    return text.format(count=count, time=_time(int(seconds)))


def _time(seconds: int) -> str:
    """Return a span in its largest unit."""
    if count := seconds // 86_400:
        text = ngettext("{count} day", "{count} days", count)
    elif count := seconds // 3_600:
        text = ngettext("{count} hour", "{count} hours", count)
    elif count := seconds // 60:
        text = ngettext("{count} minute", "{count} minutes", count)
    else:
        count = seconds
        text = ngettext("{count} second", "{count} seconds", count)
    return text.format(count=count)


def _index_state(status: index_status.Status, *, stopped: bool) -> tuple[str, str]:
    """Return a colour and a word for the index; none where there is none to judge."""
    if status.failed:
        return "red", gettext("Failed in part")
    if status.pending:
        if stopped:
            return "red", gettext("Stopped")
        return "yellow", gettext("Draining")
    if status.embeddable:
        return "green", gettext("Complete")
    return "", gettext("Nothing to index")


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
        note = gettext("set CREWSHIP_EMBEDDER to have one")
        return "", gettext("Not configured"), note
    if embedder_status.state is State.FAILING:
        reason = embedder_status.reason or Reason.UNEXPECTED
        return "red", gettext("No answer"), gettext(REASONS[reason])
    if embedder_status.state is State.NOT_CALLED:
        note = gettext("no call since this process started")
        return "", gettext("Not asked yet"), note
    if name == HASHING:
        note = gettext("a stand-in that knows words, not meaning")
        return "yellow", gettext("Answering"), note
    return "green", gettext("Answering"), gettext("in this process")
