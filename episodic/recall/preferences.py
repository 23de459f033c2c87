"""What a question prefers: entries of a time, and entries of somebody it names.

A preference is soft: it adds to the score of candidates and leaves none out. ``since``
and ``until`` of a request are hard and come first; preferences rank what they leave.
Each value lies in 0..1:

time   1 inside the span that the question names, and e^(-d / w) outside, where ``d`` is
       the distance to the nearer end and ``w`` the width of the named period, an hour
       at least. "Last Friday" gives a day later or earlier 0.37, three days 0.05. Of a
       span with one open end ("since March") ``w`` is the width of March. With several
       spans the best counts; open ends limit each other ("since March … before June").
       "Recently" counts half.
name   1 for an entry of the agent, crew or actor that the question names, otherwise 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, Protocol

from django.utils.translation import gettext

from episodic.recall import question_names, question_time
from episodic.recall.question_names import NameMention
from episodic.recall.question_time import TimeMention
from episodic.recall.times.spans import Kind
from episodic.scopes import Reach

RECENT_SHARE: Final = 0.5
_MIN_WIDTH: Final = timedelta(hours=1)


class Candidate(Protocol):
    """What is read of an entry; a journal entry has it."""

    @property
    def ts(self) -> datetime: ...
    @property
    def agent_id(self) -> str | None: ...
    @property
    def crew_id(self) -> str | None: ...
    @property
    def actor_id(self) -> str: ...


class Values(NamedTuple):
    """How well one entry meets each preference; 0 where the question has none."""

    time: float = 0.0
    name: float = 0.0

    @property
    def total(self) -> float:
        """Both together, 0..2."""
        return self.time + self.name


@dataclass(frozen=True, slots=True)
class Preferences:
    """The preferences of one question; false when it has none."""

    times: tuple[TimeMention, ...] = ()
    names: tuple[NameMention, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.times or self.names)

    def values(self, rows: Iterable[Candidate]) -> list[Values]:
        """Return the values of entries, in their order."""
        agent_ids, crew_ids, actor_ids = (
            frozenset[str]().union(*(getattr(m.name, ids) for m in self.names))
            for ids in ("agent_ids", "crew_ids", "actor_ids")
        )
        spans = [_Scale.of(mention) for mention in self.times]
        closed = [span for span in spans if not span.is_open]
        open_ended = [span for span in spans if span.is_open]
        return [
            Values(
                time=_closeness(closed, open_ended, row.ts) if spans else 0.0,
                name=float(
                    row.agent_id in agent_ids
                    or row.crew_id in crew_ids
                    or row.actor_id in actor_ids
                ),
            )
            for row in rows
        ]

    @property
    def relative_times(self) -> list[TimeMention]:
        """The times that are seen from now, whose words are not searched."""
        return [mention for mention in self.times if mention.is_relative]

    @property
    def unsearched_places(self) -> list[tuple[int, int]]:
        """Where in the question those times stand, from and to, in order."""
        return sorted(
            place
            for mention in self.relative_times
            for place in ((mention.start, mention.end), *mention.repeats)
        )

    def share(self, total: float) -> float:
        """Return how much of what is preferred a total of values is, 0..1."""
        best = 1.0 if self.names else 0.0
        if self.times:
            is_vague = all(mention.kind is Kind.RECENT for mention in self.times)
            best += RECENT_SHARE if is_vague else 1.0
        return total / best if best else 0.0

    def sentences(self) -> list[str]:
        """Return a sentence for each preference, for people."""
        times = []
        for mention in self.times:
            words = " ".join(mention.text.split())
            times.append(
                _time_sentence(mention).format(time=mention.meaning, words=words)
            )
        labels = dict.fromkeys(mention.name.label for mention in self.names)
        sentence = gettext("Prefers entries of {name}.")
        return times + [sentence.format(name=label) for label in labels]

    def as_dict(self) -> dict[str, Any]:
        """Return the preferences as JSON."""
        return {
            "times": [
                {
                    "text": mention.text,
                    "start": mention.start,
                    "end": mention.end,
                    "since": mention.since and mention.since.isoformat(),
                    "until": mention.until and mention.until.isoformat(),
                    "meaning": mention.meaning,
                }
                for mention in self.times
            ],
            "names": [
                {
                    "text": mention.text,
                    "start": mention.start,
                    "end": mention.end,
                    "name": mention.name.label,
                    "agent_ids": sorted(mention.name.agent_ids),
                    "crew_ids": sorted(mention.name.crew_ids),
                    "actor_ids": sorted(mention.name.actor_ids),
                }
                for mention in self.names
            ],
            "sentences": self.sentences(),
        }


def read(question: str, reach: Reach, now: datetime) -> Preferences:
    """Return what a question prefers.

    ``now`` is the moment it is asked at: ``as_of`` for a recall of the past. A word
    that is part of a time ("in April") is no name.
    """
    times = tuple(question_time.mentions(question, now))
    names = tuple(
        mention
        for mention in question_names.mentions(question, reach)
        if not any(mention.start < t.end and t.start < mention.end for t in times)
    )
    return Preferences(times, names)


@dataclass(frozen=True, slots=True)
class _Scale:
    """A span in seconds since 1970; an open end lies at infinity."""

    since: float
    until: float
    width: float
    share: float

    @classmethod
    def of(cls, mention: TimeMention) -> _Scale:
        return cls(
            since=mention.since.timestamp() if mention.since else -math.inf,
            until=mention.until.timestamp() if mention.until else math.inf,
            width=max(mention.width, _MIN_WIDTH).total_seconds(),
            share=RECENT_SHARE if mention.kind is Kind.RECENT else 1.0,
        )

    @property
    def is_open(self) -> bool:
        return math.isinf(self.since) or math.isinf(self.until)

    def value(self, seconds: float) -> float:
        distance = max(self.since - seconds, seconds - self.until, 0.0)
        return self.share * math.exp(-distance / self.width)


def _closeness(closed: list[_Scale], open_ended: list[_Scale], ts: datetime) -> float:
    seconds = ts.timestamp()
    best = max((span.value(seconds) for span in closed), default=0.0)
    if not open_ended:
        return best
    return max(best, min(span.value(seconds) for span in open_ended))


def _time_sentence(mention: TimeMention) -> str:
    if mention.since is None or mention.until is None:
        return gettext("Prefers entries {time} (from “{words}”).")
    return gettext("Prefers entries of {time} (from “{words}”).")
