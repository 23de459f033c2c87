"""Rectification: replaces wrong words about a person, with the steps of an erasure.

In every text about the person, every version and every index, the wrong words are
replaced by the right ones; the verification searches for the wrong words. A text that
says the same about somebody else is not changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.utils.translation import gettext

from gdpr.data_map.base import Person
from gdpr.matching import name_fields
from gdpr.matching.matcher import Matcher, Name, Sign, Span
from gdpr.matching.prefilter import ReadFields
from gdpr.models import Case
from memory.rules import errors

KIND: Final = "correction"
MAX_CHARS: Final = 2_000


class AnotherPerson(Matcher):
    """Finds another person in every text, so that rows are corrected, not deleted."""

    def __init__(self) -> None:
        super().__init__([])

    def names(self, text: str) -> frozenset[str]:  # noqa: ARG002
        """Return an id that is nobody's."""
        return frozenset({"everybody"})


class Corrector(Matcher):
    """Finds the wrong words in texts about the person, and replaces them.

    It has the interface of a matcher, so that every holder can rectify.
    """

    def __init__(self, base: Person, wrong: str, right: str) -> None:
        super().__init__([])
        self.names_known = (Name(base.subject_id, KIND, wrong),)
        self._base, self._right = base, right
        self._is_address = "@" in wrong
        words = map(re.escape, wrong.split())
        self._wrong = re.compile(r"(?<!\w)" + r"\s+".join(words) + r"(?!\w)", re.I)

    def _is_theirs(self, text: str) -> bool:
        return bool(self._base.matcher.names(text))

    def _all(self, text: str) -> Iterator[Span]:
        """Yield where the wrong words are in a text that names the person."""
        hits = list(self._wrong.finditer(text))
        sign = self._base.matcher.sign(text) if hits else Sign.NONE
        if sign is not Sign.NONE:
            subject_id, is_sure = self._base.subject_id, sign is Sign.SURE
            for hit in hits:
                yield Span(hit.start(), hit.end(), subject_id, KIND, is_sure)

    # A row without the wrong words needs no correction.
    former_name_sign = Sign.NONE

    def judge(self, text: str, *, linked: bool) -> Sign:
        """Return how surely a row with the wrong words is about the person."""
        if self._wrong.search(text) is None:
            return Sign.NONE
        return self._base.matcher.judge(text, linked=linked)

    def sign_of_value(self, value: object) -> Sign:
        """Return how surely a value with the wrong words means the person.

        Parts of an address are not corrected, only a whole address that is wrong.
        """
        is_other_address = "@" in str(value) and not self._is_address
        return Sign.NONE if is_other_address else self.sign(str(value))

    def only_sure(self) -> Matcher:
        """Return itself: it has no unsure names."""
        return self

    def may(self, text: str) -> bool:  # noqa: ARG002
        """Return True: the base's shortcuts do not apply to the wrong words."""
        return True

    def among(self, texts: Sequence[str], read_fields: ReadFields) -> Sequence[int]:  # noqa: ARG002
        """Return all indexes: the prefilter does not apply to the wrong words."""
        return range(len(texts))

    def mask(self, text: str, mark: str = "") -> str:  # noqa: ARG002
        """Return a text with the right words.

        The row was selected already; the name may be in another column. Where some
        lines with the wrong words name the person, only those are changed.
        """
        lines = text.splitlines(keepends=True)
        wrong = [line for line in lines if self._wrong.search(line)]
        own = [line for line in wrong if self._is_theirs(line)]
        others_matcher = self._base.others_matcher
        selected = set(
            own or [line for line in wrong if not others_matcher.names(line)]
        )
        return "".join(self._put(line) if line in selected else line for line in lines)

    def _put(self, line: str) -> str:
        return self._wrong.sub(lambda _: self._right, line)

    def mask_json(
        self,
        value: Any,
        mark: str = "",
        key: str = "",  # noqa: ARG002
        above: str = "",  # noqa: ARG002
    ) -> Any:
        """Return a JSON value with the right words; keys are not changed."""
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, dict):
            corrected = self._corrected_pairs(value)
            return {key: self.mask_json(item, mark) for key, item in corrected.items()}
        if isinstance(value, Sequence):
            return [self.mask_json(item, mark) for item in value]
        return value

    def _corrected_pairs(self, value: dict[Any, Any]) -> dict[Any, Any]:
        """Return an object with wrong words that span two fields replaced."""
        right = dict(value)
        for pair in name_fields.pairs(value):
            for first, second in (pair, pair[::-1]):
                text = f"{right[first]} {right[second]}"
                edge = len(right[first])
                hits = self._wrong.finditer(text)
                if any(hit.start() < edge < hit.end() for hit in hits):
                    right[first], right[second] = self._parted(text, right[second])
        return right

    def _parted(self, text: str, second: str) -> tuple[str, str]:
        """Return the right words split in two; the second part keeps its word count."""
        words = self._put(text).split()
        at = max(1, len(words) - len(second.split()))
        return " ".join(words[:at]), " ".join(words[at:])


def correction_of(case: Case) -> tuple[str, str]:
    """Return the wrong and the right words of a case; raise Invalid without them."""
    wrong = str(case.correction.get("wrong", "")).strip()
    right = str(case.correction.get("right", "")).strip()
    if not wrong or not right or max(len(wrong), len(right)) > MAX_CHARS:
        detail = gettext(
            "A correction says in wrong and right what to replace by what."
        )
        raise errors.Invalid(detail, code="bad_correction")
    corrected = re.compile(r"(?<!\w)" + re.escape(wrong) + r"(?!\w)", re.I)
    if corrected.search(right):
        detail = gettext(
            "The right words hold the wrong ones: it could never be proved."
        )
        raise errors.Invalid(detail, code="bad_correction")
    return wrong, right


def person(base: Person, wrong: str, right: str) -> Person:
    """Return the person with a matcher of the wrong words."""
    return Person(
        workspace_id=base.workspace_id,
        subject_id=base.subject_id,
        matcher=Corrector(base, wrong, right),
        others_matcher=AnotherPerson(),
        links=base.links,
        shared=base.shared,
        spared_rows=base.spared_rows,
        confirmed=base.confirmed,
    )
