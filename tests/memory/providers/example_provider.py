"""A provider in a dictionary: all it takes to hold the contract."""

from __future__ import annotations

import threading

from django.utils import timezone

from memory import scanner
from memory.providers import base, ownership
from memory.providers.base import Bound, Forgotten, Hit, Pulse, Recalled, Retained
from memory.rules import errors, tiers, tokenizer


class Full(errors.HouseError):
    code, status, sentence = "tier_full", 409, "{label} is full."


class Held(errors.HouseError):
    code, status, sentence = "held", 409, "The text was held for review."


class Shelf:
    """What is kept, by owner and label."""

    def __init__(self) -> None:
        self.texts: dict[tuple[str, str], str] = {}
        self.held: set[tuple[str, str]] = set()
        self.lock = threading.RLock()


class InMemory:
    def __init__(self, bound: Bound | None, shelf: Shelf) -> None:
        self._bound, self._shelf = bound, shelf

    def _place(self, bound: Bound, place: tiers.Place) -> tuple[str, str]:
        ownership.writable(place, ownership.owner(bound), bound.by)
        owner = bound.crew_id if place.rule.shared else bound.agent_id
        return owner, place.label

    def retain(self, request: base.Retain) -> Retained:
        bound, shelf = base.guard(self._bound, request), self._shelf
        try:
            mode = ownership.mode(request.mode)
            place = tiers.place(request.tier, request.key or None)
            at = self._place(bound, place)
            if not request.content.strip():
                raise errors.Invalid("content must not be empty.")
            with shelf.lock:
                old = shelf.texts.get(at, "")
                gap = "\n" if old and not old.endswith("\n") else ""
                appends = mode == "append"
                new = old + gap + request.content if appends else request.content
                if len(new.encode()) > (place.rule.cap or tiers.HARD_CAP):
                    raise Full(label=place.label, current_entries=old)
                if scanner.scan(new).is_held:
                    shelf.held.add(at)
                    raise Held
                shelf.texts[at] = new
        except errors.HouseError as error:
            raise base.Refusal("retain", error) from error
        return Retained(place.label, len(new.encode()))

    def recall(self, request: base.Recall) -> Recalled:
        bound, shelf = base.guard(self._bound, request), self._shelf
        try:
            if not request.query.strip():
                raise errors.Invalid("q is required.")
            tier = ownership.tier(request.tier)
        except errors.HouseError as error:
            raise base.Refusal("recall", error) from error
        asked, hits, held = set(tokenizer.split(request.query)), [], []
        with shelf.lock:
            mine = [
                at
                for at in {*shelf.texts, *shelf.held}
                if at[0] in (bound.agent_id, bound.crew_id)
            ]
            for owner, label in mine:
                place, text = tiers.split(label), shelf.texts.get((owner, label), "")
                if place is None or tier not in (None, place.tier):
                    continue
                if (owner, label) in shelf.held or scanner.scan(text).is_held:
                    held.append(label)
                    continue
                share = len(asked & set(tokenizer.split(text))) / len(asked)
                if share:
                    hits.append(Hit(label, text[: base.SNIPPET_CHARS], 1, share))
        hits.sort(key=lambda hit: -(hit.score or 0))
        return Recalled(hits[: base.clamp(request.limit)], held)

    def forget(self, request: base.Forget) -> Forgotten:
        bound = base.guard(self._bound, request)
        if base.selector(request) != "id":
            raise base.UnsupportedSelector
        try:
            at = self._place(bound, ownership.place_of(request.id))
        except errors.HouseError as error:
            raise base.Refusal("forget", error) from error
        with self._shelf.lock:
            return Forgotten(int(self._shelf.texts.pop(at, None) is not None))

    def health(self, request: base.Health) -> Pulse:  # noqa: ARG002
        message = "" if self._bound else base.NotInitialized.sentence
        return Pulse(ok=not message, message=message, checked_at=timezone.now())
