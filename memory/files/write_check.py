"""What the scanner makes of a write, in view of what is kept already.

A write is judged with the end of the file that it touches, and where agents start with
the file, with the edges of the files that they read beside it: an instruction in two
writes, in two files or by two agents is found when its second half arrives, as far as
its halves are near each other. Two that are written at the same moment into two files
do not see each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from memory.files import paths, quarantine
from memory.files.quarantine import Incoming, Judgement, Policy
from memory.models import MemoryFile
from memory.rules.tiers import Tier
from memory.scanner import Verdict, changes
from memory.scanner.changes import Change
from memory.scanner.provenance import START_TIERS

# The files that an agent reads together when it starts.
TOGETHER: Final = (*START_TIERS, Tier.AGENT.value)
# A file of a crew is read beside those of all its agents; each costs about 3 ms. Of
# more files, those that were written last.
MAX_NEIGHBOURS: Final = 120


def judge_write(
    incoming: Incoming, present: str, final: str, policy: Policy | None = None
) -> Judgement:
    """Judge a write that makes one text of another; places are in the new text."""
    policy = policy or quarantine.policy(incoming.owner.workspace_id)
    before = final[: len(final) - len(incoming.text)]

    def scan(text: str) -> Verdict:
        verdict = _verdict(incoming, present, before + text, policy)
        return _fitted(verdict, len(before), len(text))

    return quarantine.decision(incoming, incoming.text, scan, policy)


def _verdict(incoming: Incoming, present: str, final: str, policy: Policy) -> Verdict:
    """Return the verdict on a write, with its places in the whole text."""
    scan = partial(incoming.scan, workspace_policy=policy)
    change = changes.between(present, final)
    verdict = changes.judge(change, scan, incoming.place.label)
    if verdict.is_held or incoming.place.tier not in TOGETHER:
        return verdict
    return _with_neighbours(incoming, change, final, scan) or verdict


def judge_after(
    incoming: Incoming, earlier: str, name: str, policy: Policy
) -> Judgement:
    """Judge a new text that is read right after another one, which is called ``name``.

    It is not held for what it says alone.
    """
    scan_alone = partial(incoming.scan, workspace_policy=policy)

    def scan(text: str) -> Verdict:
        return verdict_after(text, earlier, name, scan_alone)

    return quarantine.decision(incoming, incoming.text, scan, policy)


def verdict_after(text: str, earlier: str, name: str, scan: changes.Scan) -> Verdict:
    """Return the verdict on a text after another, held where both make an attack."""
    pair, boundary = next(changes.pairs(changes.between("", text), text, earlier))
    verdict = changes.judge(pair, scan, name)
    if verdict.is_held and changes.is_joint(pair, verdict, boundary, scan):
        return _fitted(verdict, 0, len(text))
    return changes.clean(verdict)


def _with_neighbours(
    incoming: Incoming, change: Change, final: str, scan: changes.Scan
) -> Verdict | None:
    """Return the verdict that holds a write for what another file says, or None."""
    verdicts = (
        _across(change, final, text, name, scan) for name, text in _neighbours(incoming)
    )
    return next((verdict for verdict in verdicts if verdict is not None), None)


def _across(
    change: Change, final: str, neighbour: str, name: str, scan: changes.Scan
) -> Verdict | None:
    """Return the verdict on an attack that lies in both texts, None without one."""
    for pair, boundary in changes.pairs(change, final, neighbour):
        verdict = changes.judge(pair, scan, name)
        if verdict.is_held and changes.is_joint(pair, verdict, boundary, scan):
            return verdict
    return None


def _neighbours(incoming: Incoming) -> Iterator[tuple[str, str]]:
    """Yield name and text of files that some agent reads together with the written."""
    owner = incoming.owner
    rows = MemoryFile.objects.filter(
        workspace_id=owner.workspace_id, crew=owner.crew, tier__in=TOGETHER
    )
    if incoming.place.tier is not Tier.CREW:
        rows = rows.filter(agent_id=owner.agent_id) | rows.filter(agent_id=None)
    rows = rows.exclude(sha256="").exclude(
        tier=incoming.place.tier.value,
        agent_id=None if incoming.place.tier is Tier.CREW else owner.agent_id,
    )
    store = paths.file_store()
    for row in rows.order_by("-updated_at")[:MAX_NEIGHBOURS]:
        stored_file = store.read(paths.parts_of(row))
        if stored_file is not None:
            name = row.path.partition("/")[2]
            yield name, stored_file.data.decode("utf-8", "replace")


def _fitted(verdict: Verdict, before: int, size: int) -> Verdict:
    """Move the places of findings from the whole text to the one that a case stores.

    Of an append the case stores only the new part, and every span must fit it.
    """
    places = (changes.within(finding, before, size) for finding in verdict.findings)
    return replace(verdict, findings=tuple(places))
