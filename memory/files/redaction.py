"""Taking an attack out of a text, and proving that what is left is none.

One function for every way there is: a reviewer's decision, many at once, and a policy
that redacts by itself; for files and for records. Whole sentences and lines go, never
words, and what is left is judged as a new text would be. Only a clean rest goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from memory import scanner
from memory.files import quarantine
from memory.files.quarantine import Incoming, Policy
from memory.files.storage import digest
from memory.rules import errors
from memory.scanner import Finding, Level, Span, Verdict

SHOWN: Final = 20


class NotClean(errors.HouseError):
    """What a redaction would leave is not clean; the case is as it was."""

    code, status, title = "not_clean", 422, "Not clean"
    sentence = (
        "What would be left is still {level}: {why} Cut more of it, or discard it. "
        "Nothing was released."
    )


@dataclass(frozen=True, slots=True)
class Remainder:
    """What a redaction leaves of a text, judged.

    ``parts`` are the passages of the original that go, ``beside`` those that stay next
    to one; ``findings`` lie in what is left. ``why`` is empty for a clean rest.
    """

    text: str
    parts: tuple[Span, ...]
    beside: tuple[tuple[int, int], ...]
    level: str
    why: str
    findings: tuple[Finding, ...]

    @property
    def is_clean(self) -> bool:
        """Whether it may be released."""
        return self.level == Level.CLEAN

    @property
    def sha256(self) -> str:
        """The digest of what is left; a decision may name it."""
        return digest(self.text.encode())

    def require_clean(self) -> None:
        """Raise NotClean unless it may be released; the words are not repeated."""
        if self.is_clean:
            return
        told = [found_in(one) for one in self.findings[:SHOWN]]
        raise NotClean(level=self.level, why=self.why, findings=told)


def found_in(found: Finding) -> dict[str, Any]:
    """Return a finding without the words it was made of."""
    names = ("rule", "family", "severity", "weight", "start", "end", "why")
    return {name: getattr(found, name) for name in names}


@dataclass(frozen=True, slots=True)
class Standard:
    """What a text is judged by: who sent it, where it goes, what the workspace says."""

    source: str
    tier: str
    said: Policy

    @classmethod
    def of(cls, incoming: Incoming, said: Policy | None = None) -> Standard:
        """Return the standard for a text on its way in."""
        found = said or quarantine.policy(incoming.owner.workspace_id)
        return cls(incoming.source, incoming.place.tier.value, found)

    def scan(self, text: str) -> Verdict:
        """Judge a text by rules alone."""
        modes = self.said.settings.get("rules", {})
        return scanner.scan(text, source=self.source, tier=self.tier, modes=modes)


def of(
    text: str,
    spans: Sequence[Span],
    by: Standard,
    *,
    known: Sequence[Span] = (),
    before: str = "",
    is_reviewed: bool = True,
) -> Remainder:
    """Take the parts that spans touch out of a text and judge what is left.

    ``known`` are all the findings, which say why a part went.
    ``before`` is what the rest would be appended to: an attack that only shows when
    both stand together is found as well. Where nobody looks at the rest, more goes.
    """
    cut = scanner.take_out(text, spans, known=known, by_sentence=is_reviewed)
    alone = by.scan(cut.text)
    left = Remainder(
        text=cut.text,
        parts=cut.parts,
        beside=cut.beside,
        level=alone.verdict,
        why=_why(alone),
        findings=alone.findings,
    )
    if not left.is_clean:
        return left
    if by.said.resembles_known(cut.text):
        why = "it resembles an attack that a person confirmed."
        return replace(left, level=Level.HELD.value, why=why)
    return _together(left, by, before)


def _why(verdict: Verdict) -> str:
    if verdict.verdict == Level.CLEAN:
        return ""
    return max(verdict.findings, key=lambda found: found.weight).why


def _together(left: Remainder, by: Standard, before: str) -> Remainder:
    """Judge a clean rest together with what stands before it."""
    if not before:
        return left
    both, size = by.scan(before + left.text), len(before)
    here = tuple(
        replace(found, start=max(found.start - size, 0), end=found.end - size)
        for found in both.findings
        if found.end > size
    )
    if not both.is_held or not here:
        return left
    why = max(here, key=lambda found: found.weight).why
    return replace(left, level=both.verdict, why=why, findings=here)
