"""Files changed on disk that name a person who was erased or opted out.

A write through a tool or the API is refused. What is on the disk already cannot be: it
is held for review, and what the file said before is served. Only what was added counts,
because a line that was there may stay by a person's decision.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from memory import scanner
from memory.files import quarantine
from memory.files.quarantine import Incoming, Judgement
from memory.ports import subject_linker
from memory.ports.subject_linker import Gate
from memory.rules import errors
from memory.rules.tiers import Place, Tier
from memory.rules.translation import gettext_noop
from memory.scanner import Finding

RULE: Final = "suppressed_person"
FAMILY: Final = "suppressed"
# The key of a card whose own one is a name that may not be stored.
WITHHELD: Final = "name-withheld"
WHY: Final = gettext_noop("it names a person who was erased or opted out.")


def _is_refused(gate: Gate, texts: tuple[str, ...], subjects: tuple[str, ...]) -> bool:
    try:
        gate(texts, subjects)
    except errors.Conflict:
        return True
    return False


def _added(text: str, before: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that a text has more than another, with where they begin."""
    earlier, start = set(before.splitlines()), 0
    for line in text.splitlines(keepends=True):
        if line.splitlines()[0] not in earlier:
            yield start, line
        start += len(line)


def _finding(start: int, end: int) -> Finding:
    return Finding(RULE, FAMILY, "high", 1.0, start, end, None, WHY)


def judge(incoming: Incoming, text: str, before: str) -> Judgement | None:
    """Return the judgement that holds a text, None when nobody suppressed is in it."""
    gate = subject_linker.gate(incoming.owner.workspace_id)
    if gate is None:
        return None
    lines = list(_added(text, before))
    fresh = "".join(line for _, line in lines)
    if not _is_refused(gate, (fresh,), ()) and not names_file(incoming):
        return None
    spans = [
        (start, start + len(line.rstrip()))
        for start, line in lines
        if _is_refused(gate, (line,), ())
    ]
    # A name over two lines, or in the name of the file: all of it.
    spans = spans or [(0, len(text))]
    verdict = incoming.scan(text, quarantine.policy(incoming.owner.workspace_id))
    findings = (*(_finding(*span) for span in spans), *verdict.findings)
    return Judgement("hold", WHY, _held(verdict, findings))


def names_file(incoming: Incoming) -> bool:
    """Whether the name of the file is a suppressed person's."""
    key = incoming.place.key
    gate = subject_linker.gate(incoming.owner.workspace_id) if key else None
    subjects = (key,) if incoming.place.tier == Tier.PEERS else ()
    return gate is not None and _is_refused(gate, (key,), subjects)


def without_name(incoming: Incoming) -> Incoming:
    """Return a text for a card that is named after nobody."""
    key = f"{WITHHELD}-{secrets.token_hex(4)}"
    return replace(incoming, place=Place(Tier.PEERS, key))


def _held(verdict: scanner.Verdict, findings: tuple[Finding, ...]) -> scanner.Verdict:
    return replace(
        verdict,
        verdict="held",
        score=max(verdict.score, 1.0),
        risk=max(verdict.risk, 1.0),
        findings=findings,
    )
