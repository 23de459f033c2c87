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

MAX_FINDINGS: Final = 20


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
        findings = [found_in(finding) for finding in self.findings[:MAX_FINDINGS]]
        raise NotClean(level=self.level, why=self.why, findings=findings)


def found_in(finding: Finding) -> dict[str, Any]:
    """Return a finding without the words it was made of."""
    names = ("rule", "family", "severity", "weight", "start", "end", "why")
    return {name: getattr(finding, name) for name in names}


@dataclass(frozen=True, slots=True)
class Standard:
    """What a text is judged by: who sent it, where it goes, what the workspace says."""

    source: str
    tier: str
    policy: Policy

    @classmethod
    def of(cls, incoming: Incoming, policy: Policy | None = None) -> Standard:
        """Return the standard for a text on its way in."""
        workspace_policy = policy or quarantine.policy(incoming.owner.workspace_id)
        return cls(incoming.source, incoming.place.tier.value, workspace_policy)

    def scan(self, text: str) -> Verdict:
        """Judge a text by rules alone."""
        modes = self.policy.settings.get("rules", {})
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
    excerpt = scanner.take_out(text, spans, known=known, by_sentence=is_reviewed)
    verdict = by.scan(excerpt.text)
    remainder = Remainder(
        text=excerpt.text,
        parts=excerpt.parts,
        beside=excerpt.beside,
        level=verdict.verdict,
        why=_reason(verdict),
        findings=verdict.findings,
    )
    if not remainder.is_clean:
        return remainder
    if by.policy.resembles_known(excerpt.text):
        reason = "it resembles an attack that a person confirmed."
        return replace(remainder, level=Level.HELD.value, why=reason)
    return _together(remainder, by, before)


def _reason(verdict: Verdict) -> str:
    if verdict.verdict == Level.CLEAN:
        return ""
    return max(verdict.findings, key=lambda finding: finding.weight).why


def _together(remainder: Remainder, by: Standard, before: str) -> Remainder:
    """Judge a clean rest together with what stands before it."""
    if not before:
        return remainder
    verdict, size = by.scan(before + remainder.text), len(before)
    findings = tuple(
        replace(finding, start=max(finding.start - size, 0), end=finding.end - size)
        for finding in verdict.findings
        if finding.end > size
    )
    if not verdict.is_held or not findings:
        return remainder
    reason = max(findings, key=lambda finding: finding.weight).why
    return replace(remainder, level=verdict.verdict, why=reason, findings=findings)
