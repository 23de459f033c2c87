"""Texts that the scanner held, and the policy that decides what is held.

A held text is never lost and never shown to a model: its bytes stay in the database
until a person decides. Texts that a person cleared are recognised by their fingerprint,
confirmed attacks by their signature.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, Final, Protocol

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from memory import scanner, workspace_settings
from memory.files import clearances, scan_context
from memory.files.paths import Owner
from memory.journal import append as journal
from memory.models import (
    BlockedSource,
    HeldFile,
    HeldState,
    KnownAttack,
)
from memory.ports import subject_linker
from memory.rules import errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor
from memory.rules.translation import gettext_noop
from memory.scanner import Verdict
from memory.scanner.provenance import Writer
from memory.scanner.similarity import SAME_FROM
from memory.stored_files.store import digest
from memory.workspace_settings import declarations

KNOWN_ATTACKS: Final = 2_000
# The risk of a held text without findings, such as one like a confirmed attack.
NO_FINDINGS_RISK: Final = 0.4
ACTIONS: Final = declarations.ACTIONS


class HeldForReview(errors.AppError):
    """The text is held until a person decides; ``held_id`` names the case."""

    code, status, title = "held", 409, gettext_noop("Held for review")
    sentence = gettext_noop(
        "The text was held for review as {held_id}: {why} No model sees it until a "
        "person decides."
    )


class WriteRefused(errors.AppError):
    """The writer is blocked, or the rule's mode is block; nothing was stored."""

    code, status, title = "refused", 403, gettext_noop("Refused")
    sentence = gettext_noop("The text was refused: {why}")


class Where(Protocol):
    """The destination of a text: a tier file's place, or a record."""

    @property
    def tier(self) -> StrEnum:
        """The policy's name for it."""
        ...

    @property
    def key(self) -> str:
        """Which one of the tier."""
        ...

    @property
    def label(self) -> str:
        """What people read."""
        ...


class Releaser(Protocol):
    """Stores a released text whose destination is not a tier file."""

    def release(
        self, held_file: HeldFile, text: str, *, reason: str, by: Actor
    ) -> dict[str, Any]:
        """Put the text in place; return what undoing needs."""
        ...

    def take_back(self, held_file: HeldFile, *, by: Actor) -> None: ...

    def current(self, held_file: HeldFile) -> str:
        """Return what is in the place now."""
        ...


# By tier; a tier without an entry here is a file, released by ``files.writer``.
RELEASERS: Final[dict[str, Releaser]] = {}


@dataclass(frozen=True, slots=True)
class Incoming:
    """A text to be stored: its destination, its writer and its source.

    ``writer`` is whose hand it was, seen from the memory it goes to.
    """

    owner: Owner
    place: Where
    text: str
    mode: str
    source: str
    written_by: str
    base_sha256: str = ""
    # The bytes as found, when they are not text.
    raw: bytes | None = None
    subjects: tuple[str, ...] = ()
    writer: str = Writer.OWN.value

    def scan(self, text: str, workspace_policy: Policy) -> Verdict:
        """Scan a text as one of this writer, from this source, for this place."""
        return workspace_policy.scan(
            text,
            source=self.source,
            tier=self.place.tier.value,
            writer=self.writer,
        )


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict of the scanner and what the workspace's policy makes of it.

    ``action`` is allow, redact, hold or block; ``why`` is a sentence for people.
    """

    action: str
    why: str
    verdict: Verdict


def rule_modes(workspace_id: str) -> dict[str, str]:
    """Return what the workspace set single rules to: off, observe, hold or block."""
    return workspace_settings.value(workspace_id, declarations.SCANNER_RULES)


@dataclass(frozen=True, slots=True)
class Policy:
    """A workspace's scanner settings and confirmed attacks, for many texts.

    ``modes`` and ``weights`` are those of single rules that differ from the shipped
    ones, ``actions`` those for tiers and sources.
    """

    modes: Mapping[str, str]
    actions: Mapping[str, str]
    attacks: tuple[str, ...]
    weights: Mapping[str, float] = field(default_factory=dict)

    def scan(
        self, text: str, *, source: str, tier: str, writer: str | None = None
    ) -> Verdict:
        """Return the verdict of the rules as they are set here."""
        return scanner.scan(
            text,
            source=source,
            tier=tier,
            writer=writer,
            modes=self.modes,
            weights=self.weights,
        )

    def action_for(self, tier: str, source: str) -> str:
        """Return what happens to a held verdict; a source's action beats the tier's."""
        by_source, by_tier = f"source:{source}", f"tier:{tier}"
        action = self.actions.get(by_source) or self.actions.get(by_tier) or "hold"
        return action if action in ACTIONS else "hold"

    def resembles_known(self, text: str) -> bool:
        """Whether a text is close to one that a person confirmed as an attack."""
        if not self.attacks:
            return False
        signature = scanner.signature(text)
        return any(
            scanner.similarity(signature, attack) >= SAME_FROM
            for attack in self.attacks
        )


def policy(workspace_id: str) -> Policy:
    """Return a workspace's policy as it is now."""
    attacks = KnownAttack.objects.filter(workspace_id=workspace_id)
    signatures = attacks.values_list("signature", flat=True)[:KNOWN_ATTACKS]
    rules, actions = declarations.SCANNER_RULES, declarations.SCANNER_POLICY
    lowered = declarations.SCANNER_WEIGHTS
    values = workspace_settings.values(workspace_id, (rules, lowered, actions))
    weights = {rule: float(text) for rule, text in values[lowered.name].items()}
    return Policy(values[rules.name], values[actions.name], tuple(signatures), weights)


def is_blocked(incoming: Incoming) -> bool:
    """Whether the writer of a text is blocked in this workspace."""
    return BlockedSource.objects.filter(
        workspace_id=incoming.owner.workspace_id,
        agent_id=incoming.owner.agent_id,
        source=incoming.source,
    ).exists()


def _strongest_reason(verdict: Verdict) -> str:
    if not verdict.findings:
        return gettext_noop("it resembles an attack that a person confirmed.")
    return max(verdict.findings, key=lambda finding: finding.weight).why


def judge_alone(
    incoming: Incoming, text: str, workspace_policy: Policy | None = None
) -> Judgement:
    """Scan a text for its place and source; policy decides what a hit means.

    For many texts read the policy once and pass it. A write to a text that is there
    already is judged by ``write_check``.
    """
    workspace_policy = workspace_policy or policy(incoming.owner.workspace_id)
    scan = partial(incoming.scan, workspace_policy=workspace_policy)
    return decision(incoming, text, scan, workspace_policy)


def decision(
    incoming: Incoming,
    text: str,
    scan: Callable[[str], Verdict],
    workspace_policy: Policy,
) -> Judgement:
    """Return what the workspace's policy makes of what a scan says of a text.

    An allowed text passes alone, not where it completes other text.
    """
    workspace_id, verdict = incoming.owner.workspace_id, scan(text)
    is_known = workspace_policy.resembles_known(text)
    is_alone = not any(finding.completes for finding in verdict.findings)
    if (
        not (verdict.is_held or is_known)
        or (is_alone and clearances.is_cleared(workspace_id, text))
        or (not is_known and clearances.passes_without(workspace_id, text, scan))
    ):
        return Judgement("allow", "", verdict)
    if verdict.is_blocked:
        return Judgement("block", _strongest_reason(verdict), verdict)
    action = workspace_policy.action_for(incoming.place.tier.value, incoming.source)
    return Judgement(action, _strongest_reason(verdict), verdict)


def _open_case(incoming: Incoming, fingerprint: str) -> HeldFile | None:
    """Return the open case of the same text for the same place."""
    return HeldFile.objects.filter(
        workspace_id=incoming.owner.workspace_id,
        fingerprint=fingerprint,
        crew=incoming.owner.crew,
        agent=incoming.owner.agent,
        label=incoming.place.label,
        state=HeldState.HELD,
    ).first()


def _case(incoming: Incoming, judgement: Judgement, fingerprint: str) -> HeldFile:
    verdict, data = judgement.verdict, incoming.raw or incoming.text.encode()
    strongest = max(verdict.findings, key=lambda f: f.weight, default=None)
    return HeldFile(
        workspace_id=incoming.owner.workspace_id,
        crew=incoming.owner.crew,
        agent=incoming.owner.agent,
        tier=incoming.place.tier.value,
        key=incoming.place.key,
        label=incoming.place.label,
        mode=incoming.mode,
        source=incoming.source,
        written_by=incoming.written_by,
        body=data,
        sha256=digest(data),
        bytes=len(data),
        base_sha256=incoming.base_sha256,
        fingerprint=fingerprint,
        signature=scanner.signature(incoming.text),
        findings=[asdict(finding) for finding in verdict.findings],
        family=strongest.family if strongest else "known",
        score=verdict.score,
        risk=verdict.risk if verdict.findings else NO_FINDINGS_RISK,
        rules_version=verdict.rules_version,
        outcome={scan_context.KEY: verdict.context.as_map()},
    )


def hold(incoming: Incoming, judgement: Judgement, *, by: Actor) -> HeldFile:
    """Hold a text for review; a repeat is counted on its open case."""
    fingerprint = scanner.fingerprint(incoming.text)
    with transaction.atomic():
        held_file = _open_case(incoming, fingerprint)
        if held_file is None:
            held_file = _case(incoming, judgement, fingerprint)
            held_file.save(force_insert=True)
            text_row = subject_linker.TextRow(
                held_file.pk, (incoming.text, incoming.place.key), incoming.subjects
            )
            subject_linker.note(held_file.workspace_id, "held", [text_row])
        else:
            HeldFile.objects.filter(pk=held_file.pk).update(
                times_seen=F("times_seen") + 1, last_seen_at=timezone.now()
            )
        record("memory.held", held_file, by, why=judgement.why)
    return held_file


def record(entry_type: str, held_file: HeldFile, by: Actor, **details: Any) -> None:
    """Append a journal entry about a held text, without its words."""
    verb = entry_type.rpartition(".")[2].replace("_", " ")
    new = NewEntry(
        entry_type=entry_type,
        severity=Severity.WARN if entry_type == "memory.held" else Severity.NOTICE,
        summary=f"{held_file.label}: {verb} ({held_file.id})",
        payload={
            "held_id": held_file.id,
            "tier": held_file.tier,
            "source": held_file.source,
            "families": sorted({finding["family"] for finding in held_file.findings}),
            "rules": sorted({finding["rule"] for finding in held_file.findings}),
            "risk": round(held_file.risk, 3),
            **details,
        },
        refs={"held_id": held_file.id},
        crew_id=held_file.crew_id,
        agent_id=held_file.agent_id,
    )
    journal.write([new], by=by)
