"""Sentences and lines of otherwise different texts that reviewers released.

Each is judged with every held text that has it, those that were released most often
first, until MAX_PASSAGES would let enough pass or MAX_JUDGED texts were judged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from memory import scanner
from memory.files import clearances
from memory.files.quarantine import Policy
from memory.models import HeldState, Label, ReviewLabel
from memory.review import preview
from memory.review.proposal_effect import Text
from memory.rules import tokenizer
from memory.scanner import Unit

MAX_PASSAGES: Final = 50
# Takes a minute or two of a night.
MAX_JUDGED: Final = 25_000
LEAST_WORDS: Final = 4
CHUNK: Final = 50


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage, the released cases that have it, and the texts that it holds back.

    ``passing`` are the held texts that would pass were it allowed.
    """

    text: str
    cases: tuple[str, ...]
    passing: list[Text]


def released(
    workspace_id: str, policy: Policy, texts: Sequence[Text], least: int
) -> list[Passage]:
    """Return the passages of at least so many different released texts.

    One that stands in a text that was ever confirmed as an attack is none.
    """
    holders: dict[str, dict[str, str]] = defaultdict(dict)
    words: dict[str, str] = {}
    for row in texts:
        for name, passage in _with_findings(row):
            holders[name].setdefault(row.fingerprint, row.held_id)
            words.setdefault(name, passage)
    allowed = clearances.passages(workspace_id)
    names = {
        name
        for name, cases in holders.items()
        if len(cases) >= least and name not in allowed and _is_proposable(words[name])
    }
    names -= _confirmed(workspace_id, names)
    frequent = sorted(names, key=lambda n: (-len(holders[n]), n))
    passing = _passing(frequent, policy, texts, least)
    return [
        Passage(words[name], tuple(holders[name].values()), passing[name])
        for name in sorted(passing)
    ]


def _with_findings(row: Text) -> list[tuple[str, str]]:
    """Return the passages of a released text in which a rule matched, by name."""
    if row.state != HeldState.RELEASED:
        return []
    return [
        (name, row.text[unit.start : unit.end])
        for name, unit in clearances.fingerprints(row.text)
        if any(_overlaps(unit, finding) for finding in row.findings)
    ]


def _overlaps(unit: Unit, finding: Mapping[str, Any]) -> bool:
    is_before: bool = finding["end"] <= unit.start
    return not is_before and finding["start"] < unit.end


def _is_proposable(passage: str) -> bool:
    is_long = len(tokenizer.split(passage)) >= LEAST_WORDS
    return is_long and not scanner.has_unseen(passage)


def _names(text: str) -> set[str]:
    return {name for name, _ in clearances.fingerprints(text)}


def _confirmed(workspace_id: str, names: set[str]) -> set[str]:
    """Return which of the passages stand in a text that was confirmed, however old."""
    confirmed: set[str] = set()
    if not names:
        return confirmed
    labels = ReviewLabel.objects.filter(workspace_id=workspace_id, label=Label.ATTACK)
    rows = labels.select_related("held").order_by("-decided_at", "-pk")
    for row in rows.iterator(chunk_size=CHUNK):
        confirmed |= names & _names(preview.text_of(row.held))
        if confirmed == names:
            break
    return confirmed


def _passing(
    names: Sequence[str], policy: Policy, texts: Sequence[Text], least: int
) -> dict[str, list[Text]]:
    """Return by passage the held texts that would pass without it.

    Passages without which fewer than ``least`` released texts would pass are left out.
    """
    candidates, holders = set(names), defaultdict[str, list[Text]](list)
    for row in texts if names else ():
        if row.is_held:
            for name in _names(row.text) & candidates:
                holders[name].append(row)
    passing: dict[str, list[Text]] = {}
    judged_count = 0
    for name in names:
        judged_count += len(holders[name])
        if len(passing) == MAX_PASSAGES or judged_count > MAX_JUDGED:
            break
        rows = [row for row in holders[name] if not row.is_held_without(name, policy)]
        if sum(row.state == HeldState.RELEASED for row in rows) >= least:
            passing[name] = rows
    return passing
