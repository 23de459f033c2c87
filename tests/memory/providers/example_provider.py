"""A provider in a dictionary: the least that satisfies the contract."""

from __future__ import annotations

import threading

from django.utils import timezone

from memory import scanner
from memory.providers import base, ownership
from memory.providers.base import (
    Binding,
    Forgotten,
    HealthStatus,
    Hit,
    Recalled,
    Retained,
)
from memory.rules import errors, tiers, tokenizer


class TierFull(errors.AppError):
    code, status, sentence = "tier_full", 409, "{label} is full."


class HeldForReview(errors.AppError):
    code, status, sentence = "held", 409, "The text was held for review."


class Store:
    """The texts by owner and label."""

    def __init__(self) -> None:
        self.texts: dict[tuple[str, str], str] = {}
        self.quarantined: set[tuple[str, str]] = set()
        self.lock = threading.RLock()


class InMemory:
    def __init__(self, binding: Binding | None, store: Store) -> None:
        self._binding, self._store = binding, store

    def _place(self, binding: Binding, place: tiers.Place) -> tuple[str, str]:
        ownership.writable(place, ownership.owner(binding), binding.by)
        owner = binding.crew_id if place.rule.shared else binding.agent_id
        return owner, place.label

    def retain(self, request: base.Retain) -> Retained:
        binding, store = base.guard(self._binding, request), self._store
        try:
            mode = ownership.mode(request.mode)
            place = tiers.place(request.tier, request.key or None)
            at = self._place(binding, place)
            if not request.content.strip():
                raise errors.Invalid("content must not be empty.")
            with store.lock:
                old = store.texts.get(at, "")
                gap = "\n" if old and not old.endswith("\n") else ""
                appends = mode == "append"
                new = old + gap + request.content if appends else request.content
                if len(new.encode()) > (place.rule.cap or tiers.HARD_CAP):
                    raise TierFull(label=place.label, current_entries=old)
                if scanner.scan(new).is_held:
                    store.quarantined.add(at)
                    raise HeldForReview
                store.texts[at] = new
        except errors.AppError as error:
            raise base.Refusal("retain", error) from error
        return Retained(place.label, len(new.encode()))

    def recall(self, request: base.Recall) -> Recalled:
        binding, store = base.guard(self._binding, request), self._store
        try:
            if not request.query.strip():
                raise errors.Invalid("q is required.")
            tier = ownership.tier(request.tier)
        except errors.AppError as error:
            raise base.Refusal("recall", error) from error
        words, hits, quarantined = set(tokenizer.split(request.query)), [], []
        with store.lock:
            items = [
                at
                for at in {*store.texts, *store.quarantined}
                if at[0] in (binding.agent_id, binding.crew_id)
            ]
            for owner, label in items:
                place, text = tiers.split(label), store.texts.get((owner, label), "")
                if place is None or tier not in (None, place.tier):
                    continue
                if (owner, label) in store.quarantined or scanner.scan(text).is_held:
                    quarantined.append(label)
                    continue
                share = len(words & set(tokenizer.split(text))) / len(words)
                if share:
                    hits.append(Hit(label, text[: base.SNIPPET_CHARS], 1, share))
        hits.sort(key=lambda hit: -(hit.score or 0))
        return Recalled(hits[: base.clamp(request.limit)], quarantined)

    def forget(self, request: base.Forget) -> Forgotten:
        binding = base.guard(self._binding, request)
        if base.selector(request) != "id":
            raise base.UnsupportedSelector
        try:
            at = self._place(binding, ownership.place_of(request.id))
        except errors.AppError as error:
            raise base.Refusal("forget", error) from error
        with self._store.lock:
            return Forgotten(int(self._store.texts.pop(at, None) is not None))

    def health(self, request: base.Health) -> HealthStatus:  # noqa: ARG002
        message = "" if self._binding else base.NotInitialized.sentence
        return HealthStatus(ok=not message, message=message, checked_at=timezone.now())
