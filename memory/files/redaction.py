"""Remove an attack from a text and check that the rest is clean.

One function for all callers: a reviewer's decision, bulk decisions, and a policy that
redacts automatically; for files and records. Whole sentences and lines are removed,
never single words, and the rest is scanned like a new text. Only a clean rest is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from memory import scanner
from memory.files import quarantine, scanner_words
from memory.files.quarantine import Incoming, Policy
from memory.rules import errors
from memory.rules.translation import gettext, gettext_noop
from memory.scanner import Finding, Level, Span, Verdict, changes
from memory.scanner.provenance import Writer
from memory.stored_files.store import digest

MAX_FINDINGS: Final = 20


class NotClean(errors.AppError):
    """The rest after a redaction is not clean; the case is unchanged."""

    code, status, title = "not_clean", 422, gettext_noop("Not clean")
    sentence = gettext_noop(
        "What would be left is still {level}: {why} Cut more of it, or discard it. "
        "Nothing was released."
    )


@dataclass(frozen=True, slots=True)
class Remainder:
    """The rest of a text after a redaction, with its verdict.

    ``parts`` are the removed passages of the original, ``beside`` the kept ones next to
    them; ``findings`` refer to the rest. ``why`` is empty for a clean rest.
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
        """The digest of the rest; a decision may name it."""
        return digest(self.text.encode())

    def require_clean(self) -> None:
        """Raise NotClean unless it may be released; the words are not repeated."""
        if self.is_clean:
            return
        findings = [finding_facts(finding) for finding in self.findings[:MAX_FINDINGS]]
        detail = gettext(NotClean.sentence).format(
            level=scanner_words.word(self.level), why=gettext(self.why)
        )
        raise NotClean(detail, level=self.level, why=self.why, findings=findings)


def finding_facts(finding: Finding) -> dict[str, Any]:
    """Return a finding without the matched words."""
    names = ("rule", "family", "severity", "weight", "start", "end", "why")
    return {name: getattr(finding, name) for name in names}


@dataclass(frozen=True, slots=True)
class Standard:
    """What a text is scanned with: source, tier, writer, and the workspace's policy."""

    source: str
    tier: str
    policy: Policy
    writer: str = Writer.OWN.value

    @classmethod
    def of(cls, incoming: Incoming, policy: Policy | None = None) -> Standard:
        """Return the standard for a text to be stored."""
        workspace_policy = policy or quarantine.policy(incoming.owner.workspace_id)
        tier = incoming.place.tier.value
        return cls(incoming.source, tier, workspace_policy, incoming.writer)

    def scan(self, text: str) -> Verdict:
        """Scan a text by rules alone."""
        return self.policy.scan(
            text, source=self.source, tier=self.tier, writer=self.writer
        )


class Neighbour(NamedTuple):
    """The text that a rest would be appended to, or the one that it would replace."""

    before: str = ""
    replaced: str = ""


NO_NEIGHBOUR: Final = Neighbour()


def of(
    text: str,
    spans: Sequence[Span],
    by: Standard,
    *,
    findings: Sequence[Span] = (),
    neighbour: Neighbour = NO_NEIGHBOUR,
    is_reviewed: bool = True,
) -> Remainder:
    """Remove the passages that spans touch from a text and scan the rest.

    ``findings`` are all of the text's findings, which say why a passage was removed.
    An attack across the rest and its ``neighbour`` is found as well; what stays of a
    text that it replaces is not judged again. Without a reviewer whole paragraphs are
    removed.
    """
    excerpt = scanner.redact_units(
        text, spans, findings=findings, by_sentence=is_reviewed
    )
    verdict = changes.judge(changes.between(neighbour.replaced, excerpt.text), by.scan)
    remainder = Remainder(
        text=excerpt.text,
        parts=excerpt.parts,
        beside=excerpt.neighbours,
        level=verdict.verdict,
        why=_strongest(verdict.findings) if verdict.verdict != Level.CLEAN else "",
        findings=verdict.findings,
    )
    if not remainder.is_clean:
        return remainder
    if by.policy.resembles_known(excerpt.text):
        reason = gettext_noop("it resembles an attack that a person confirmed.")
        return replace(remainder, level=Level.HELD.value, why=reason)
    return _together(remainder, by, neighbour.before)


def _strongest(findings: Sequence[Finding]) -> str:
    """Return what the strongest finding says."""
    return max(findings, key=lambda finding: finding.weight).why


def _together(remainder: Remainder, by: Standard, before: str) -> Remainder:
    """Judge a clean rest together with the text before it."""
    if not before:
        return remainder
    verdict = changes.judge(changes.between(before, before + remainder.text), by.scan)
    if not verdict.is_held:
        return remainder
    size = len(remainder.text)
    findings = tuple(
        changes.within(finding, len(before), size) for finding in verdict.findings
    )
    reason = _strongest(findings)
    return replace(remainder, level=verdict.verdict, why=reason, findings=findings)
