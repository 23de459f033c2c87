"""Masks names in texts and in JSON."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from gdpr.matching import name_fields, normalize
from gdpr.matching.name_fields import Key

_ROUNDS: Final = 8
# Used where the mark itself would name somebody: it contains no letter.
BLANK: Final = "[…]"


class Sign(IntEnum):
    """How surely a text is about somebody."""

    NONE = 0
    UNSURE = 1
    SURE = 2


@dataclass(frozen=True, slots=True)
class Name:
    """An alias: of which subject, of which kind, and its text."""

    subject_id: str
    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class Span:
    """Where a text names somebody: offsets in the original text, end exclusive.

    ``sure`` is False for what may mean somebody else as well. ``form`` is the code of
    how the name is written (``forms``).
    """

    start: int
    end: int
    subject_id: str
    kind: str
    sure: bool = True
    form: str = "as_registered"


def longest(spans: Iterable[Span]) -> list[Span]:
    """Return spans left to right, of one person only the longest at a place."""
    ordered_spans = sorted(
        set(spans),
        key=lambda s: (s.start, -s.end, s.subject_id, not s.sure, s.kind, s.form),
    )
    result: list[Span] = []
    ends: dict[str, int] = {}
    for span in ordered_spans:
        if span.end > ends.get(span.subject_id, -1):
            ends[span.subject_id] = span.end
            result.append(span)
    return result


class Masker(ABC):
    """Replaces the names in texts and JSON by a mark; subclasses find the names."""

    @abstractmethod
    def spans(self, text: str) -> list[Span]:
        """Return where a text names somebody."""

    @abstractmethod
    def may(self, text: str) -> bool:
        """Whether a text may name somebody; False is certain."""

    @abstractmethod
    def named_by(self, key: Key, value: str) -> Iterable[tuple[Name, bool]]:
        """Return the names that a whole value of a field means, and whether surely."""

    def mask(self, text: str, mark: str = "[erased]") -> str:
        """Return a text with every name replaced; nothing is found in it afterwards."""
        spans = self.spans(text)
        if not spans:
            return text
        if self.spans(mark):
            mark = BLANK
        for _ in range(_ROUNDS):
            text = _replaced(text, spans, mark)
            # A name that was part of a word may be a word of its own beside the mark.
            spans = self.spans(text)
            if not spans:
                return text
        return mark

    def mask_json(
        self, value: Any, mark: str = "[erased]", key: str = "", above: str = ""
    ) -> Any:
        """Return a JSON value with every name in any string or key replaced.

        A number is replaced only where its ``key``, below the key ``above``, holds a
        person.
        """
        if isinstance(value, dict):
            return self._mask_object(value, mark, key)
        if isinstance(value, (list, tuple)):
            return [self.mask_json(item, mark, key, above) for item in value]
        is_value = bool(key) and name_fields.is_value(value)
        field_key = name_fields.key_of(key, above) if is_value else None
        if field_key is not None and any(
            self.named_by(field_key, normalize.fold(str(value)))
        ):
            return mark
        if isinstance(value, str):
            return self._mask_inside(value, mark)
        return value

    def _mask_inside(self, text: str, mark: str) -> str:
        """Return a masked text; JSON in a string is masked field by field."""
        inner = name_fields.person_json(text)
        if inner is not None:
            masked = self.mask_json(inner, mark)
            text = text if masked == inner else json.dumps(masked, ensure_ascii=False)
        return self.mask(text, mark)

    def _mask_object(
        self, value: dict[Any, Any], mark: str, above: str
    ) -> dict[str, Any]:
        masked: dict[str, Any] = {}
        halves = self._halves(value)
        for key, item in value.items():
            base = name = self.mask(str(key), mark)
            number = 2
            while name in masked or (name != key and name in value):
                name, number = f"{base} {number}", number + 1
            content = mark if key in halves else item
            masked[name] = self.mask_json(content, mark, str(key), above)
        return masked

    def _halves(self, value: dict[Any, Any]) -> set[Any]:
        """Return the keys of fields that name somebody only together."""
        return {
            key
            for first, second in name_fields.pairs(value)
            if self.is_split(value[first], value[second])
            or self.is_split(value[second], value[first])
            for key in (first, second)
        }

    def is_split(self, first: str, second: str) -> bool:
        """Whether a name begins in one text and ends in the next."""
        text = f"{first} {second}"
        edge = len(first)
        return self.may(text) and any(
            span.start < edge < span.end for span in self.spans(text)
        )


def _replaced(text: str, spans: Sequence[Span], mark: str) -> str:
    """Return a text with spans replaced, those that overlap as one."""
    pieces: list[str] = []
    at = 0
    start, end = spans[0].start, spans[0].end
    for span in [*spans[1:], None]:
        if span is not None and span.start < end:
            end = max(end, span.end)
            continue
        pieces += [text[at:start], mark]
        at = end
        if span is not None:
            start, end = span.start, span.end
    pieces.append(text[at:])
    return "".join(pieces)
