"""The scanner's vocabulary: families, severities, findings, verdicts, rules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory.scanner.provenance import Context


class Family(StrEnum):
    """What an attacker wants; the review queue groups held texts by it."""

    OVERRIDE = "override"
    EXFILTRATION = "exfiltration"
    PERSISTENCE = "persistence"
    TOOL_ABUSE = "tool_abuse"
    ROLE_PLAY = "role_play"
    HIDDEN_TEXT = "hidden_text"
    SECRETS = "secrets"
    POLICY = "policy"


class Severity(StrEnum):
    """How serious a true finding is."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Level(StrEnum):
    """What happens to the text."""

    CLEAN = "clean"
    SUSPICIOUS = "suspicious"
    HELD = "held"


class Mode(StrEnum):
    """What a workspace lets a rule do."""

    OFF = "off"
    OBSERVE = "observe"
    HOLD = "hold"
    BLOCK = "block"


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that fired, with its place in the original text.

    `completes` names the kept text without which it would not hold; see changes.py.
    With `is_mention` its context reduced its weight.
    """

    rule: str
    family: str
    severity: str
    weight: float
    start: int
    end: int
    decoded: str | None
    why: str
    mode: str = Mode.HOLD.value
    completes: str = ""
    is_mention: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """The scanner's answer about one text.

    `score` comes from rules alone and decides; `risk` orders the review queue and
    may include the learned head. `context` is what the text was judged as.
    """

    verdict: str
    score: float
    risk: float
    findings: tuple[Finding, ...]
    rules_version: str
    context: Context

    @property
    def is_held(self) -> bool:
        """Whether the text waits for review."""
        return self.verdict == Level.HELD

    @property
    def is_blocked(self) -> bool:
        """Whether a rule that the workspace set to *block* fired."""
        return self.is_held and any(
            finding.mode == Mode.BLOCK for finding in self.findings
        )


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with its explanation, a text on which it fires and one on which not.

    `combinations` are concepts that stand together, in any language, see
    combinations.py; `phrases` are patterns over the concepts of lexicon.txt.
    `expressions` are regular expressions over the folded text. A rule with none of
    these is decided by code.
    """

    id: str
    family: Family
    severity: Severity
    weight: float
    why: str
    fires: str
    quiet: str
    combinations: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    expressions: tuple[str, ...] = ()
    negatable: bool = True
    quotable: bool = True


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule that matched a view of the text, before context and weights."""

    rule: Rule
    start: int
    end: int
    factor: float = 1.0
    decoded: str | None = None

    def scaled(self, factor: float) -> Hit:
        """The same hit, counting more or less."""
        return replace(self, factor=self.factor * factor)
