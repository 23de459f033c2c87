"""Scanning stored text again: a replay that only counts, and a rescan that holds.

A replay counts the stored texts whose verdict would change, with samples; it changes
nothing. A rescan removes a file's text from disk when the current rules hold it: the
newest version that passes is restored and the removed text waits for review. Both are
bounded and report where they stopped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from memory.files import commit, paths, quarantine, versions
from memory.files.quarantine import Incoming, Judgement, Policy
from memory.models import (
    HeldFile,
    HeldState,
    JournalEntry,
    MemoryFile,
    MemoryVersion,
    Record,
    RecordStatus,
)
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.rules.tiers import Tier
from memory.rules.translation import gettext, gettext_noop
from memory.scanner.provenance import Writer
from memory.stored_files.store import RootLost

BUDGET_SECONDS: Final = 6.0
JOURNAL_LIMIT: Final = 400
RECORDS_LIMIT: Final = 400
HELD_LIMIT: Final = 200
SAMPLES_PER_KIND: Final = 5
BATCH: Final = 50


@dataclass(frozen=True, slots=True)
class Stored:
    """One stored text for a replay; ``kind`` is translated where it is shown."""

    kind: str
    name: str
    text: str
    source: str
    tier: str


@dataclass(frozen=True, slots=True)
class Sample:
    """A text whose verdict would change, and the reason."""

    kind: str
    name: str
    why: str
    excerpt: str


@dataclass(slots=True)
class Tally:
    """The counts of a replay for one kind of text."""

    kind: str
    seen: int = 0
    held_now: int = 0
    held_then: int = 0
    newly_held: int = 0
    newly_passed: int = 0
    samples: list[Sample] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Replay:
    """The effect of a change on stored texts; ``is_cut`` when time ran out."""

    tallies: list[Tally]
    is_cut: bool
    seconds: float

    @property
    def total_seen(self) -> int:
        """Texts scanned."""
        return sum(tally.seen for tally in self.tallies)

    @property
    def newly_held(self) -> int:
        """Texts that would wait for review."""
        return sum(tally.newly_held for tally in self.tallies)

    @property
    def newly_passed(self) -> int:
        """Texts that would no longer be held."""
        return sum(tally.newly_passed for tally in self.tallies)

    @property
    def samples(self) -> list[Sample]:
        """Examples from every kind."""
        return [sample for tally in self.tallies for sample in tally.samples]


# ── Stored texts ─────────────────────────────────────────────────────────────
def _current(file: MemoryFile) -> tuple[MemoryVersion, str] | None:
    version = versions.latest(file)
    if version is None or not version.sha256:
        return None
    try:
        return version, versions.read(version).decode("utf-8", "replace")
    except RootLost:
        raise
    except errors.AppError:
        return None


def _files(workspace_id: str) -> Iterator[Stored]:
    rows = MemoryFile.objects.filter(workspace_id=workspace_id).exclude(sha256="")
    for file in rows.order_by("path"):
        current = _current(file)
        if current:
            version, text = current
            yield Stored(
                gettext_noop("memory file"), file.path, text, version.source, file.tier
            )


def _journal(workspace_id: str) -> Iterator[Stored]:
    rows = JournalEntry.objects.filter(workspace_id=workspace_id)
    rows = rows.filter(agent_id__isnull=False, erased_at__isnull=True)
    for row in rows.order_by("-seq")[:JOURNAL_LIMIT]:
        kind = gettext_noop("journal summary")
        yield Stored(kind, row.id, row.summary, "prompt", "journal")


def _records(workspace_id: str) -> Iterator[Stored]:
    rows = Record.objects.filter(workspace_id=workspace_id)
    current = rows.filter(status=RecordStatus.CURRENT).order_by("-pk")
    for row in current[:RECORDS_LIMIT]:
        yield Stored(gettext_noop("record"), row.id, row.content, "tool", "record")


def _held_texts(workspace_id: str) -> Iterator[Stored]:
    rows = HeldFile.objects.filter(workspace_id=workspace_id, state=HeldState.HELD)
    for row in rows.order_by("-risk")[:HELD_LIMIT]:
        text = bytes(row.body).decode("utf-8", "replace")
        yield Stored(gettext_noop("waiting text"), row.id, text, row.source, row.tier)


# ── Replay ───────────────────────────────────────────────────────────────────
def replay(
    actor: Actor, modes: Mapping[str, str], *, budget: float = BUDGET_SECONDS
) -> Replay:
    """Scan stored texts with other rule modes; nothing is changed."""
    actor.require("scanner.read")
    now = quarantine.policy(actor.workspace_id)
    then = replace(now, modes=modes)
    tallies: dict[str, Tally] = {}
    started, is_cut = time.monotonic(), False
    kinds = (_held_texts, _files, _records, _journal)
    texts = (stored for read in kinds for stored in read(actor.workspace_id))
    for stored in texts:
        if time.monotonic() - started > budget:
            is_cut = True
            break
        tally = tallies.setdefault(stored.kind, Tally(stored.kind))
        _count(stored, tally, now, then)
    return Replay(list(tallies.values()), is_cut, round(time.monotonic() - started, 2))


def _count(stored: Stored, tally: Tally, now: Policy, then: Policy) -> None:
    before, after = (
        policy.scan(stored.text, source=stored.source, tier=stored.tier)
        for policy in (now, then)
    )
    tally.seen += 1
    tally.held_now += before.is_held
    tally.held_then += after.is_held
    if before.is_held == after.is_held:
        return
    tally.newly_held += after.is_held
    tally.newly_passed += before.is_held
    if len(tally.samples) < SAMPLES_PER_KIND:
        findings = (after if after.is_held else before).findings
        why = max(findings, key=lambda f: f.weight).why if findings else ""
        words = (
            gettext("would be held: {why}")
            if after.is_held
            else gettext("would pass: {why}")
        )
        line = " ".join(stored.text.split())[:160]
        tally.samples.append(
            Sample(stored.kind, stored.name, words.format(why=gettext(why)), line)
        )


# ── Rescan ───────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class Rescan:
    """One batch of a rescan; ``after`` is where to continue, None at the end."""

    seen: int
    total: int
    done: int
    held: list[HeldFile]
    failed: list[str]
    after: str | None
    failed_ids: list[str] = field(default_factory=list)


def rescan(actor: Actor, *, after: str = "", limit: int = BATCH) -> Rescan:
    """Scan the next memory files with the current rules and hold what fails.

    Journal entries are immutable; their summaries are scanned for each prompt.
    """
    actor.require("quarantine.decide")
    rows = MemoryFile.objects.filter(workspace_id=actor.workspace_id)
    rows = rows.exclude(sha256="").select_related("crew__workspace", "agent")
    batch = list(rows.filter(path__gt=after).order_by("path")[: limit + 1])
    total, held_files, failed = rows.count(), list[HeldFile](), list[MemoryFile]()
    for file in batch[:limit]:
        try:
            case = _rescan_file(file, actor)
        except RootLost:
            raise
        except errors.AppError:
            failed.append(file)
            continue
        if case:
            held_files.append(case)
    last = batch[limit - 1].path if len(batch) > limit else None
    done_count = rows.filter(path__lte=last).count() if last else total
    return Rescan(
        seen=len(batch[:limit]),
        total=total,
        done=done_count,
        held=held_files,
        failed=[file.label for file in failed],
        after=last,
        failed_ids=[file.id for file in failed],
    )


def _rescan_file(file: MemoryFile, by: Actor) -> HeldFile | None:
    owner, place = paths.owner_of(file), paths.place_of(file)
    with paths.file_store().locked(owner.path(place)):
        commit.recover(file)
        file.refresh_from_db(fields=["sha256", "bytes", "updated_at"])
        current = _current(file)
        if current is None:
            return None
        version, text = current
        incoming, judgement = _judge(file, version, text)
        if judgement.action == "allow":
            return None
        case = quarantine.hold(incoming, judgement, by=by)
        _restore_newest_clean(file, version, by)
        return case


def _judge(
    file: MemoryFile, version: MemoryVersion, text: str
) -> tuple[Incoming, Judgement]:
    """Scan a version, leaving out what a person released into its file."""
    before = version.parent
    incoming = Incoming(
        owner=paths.owner_of(file),
        place=paths.place_of(file),
        text=text,
        mode="replace",
        source=version.source,
        written_by=version.written_by,
        base_sha256=before.sha256 if before else "",
        writer=_writer(file, version),
    )
    released = HeldFile.objects.filter(
        workspace_id=file.workspace_id,
        crew_id=file.crew_id,
        agent_id=file.agent_id,
        label=file.label,
        state=HeldState.RELEASED,
    )
    for body in released.values_list("body", flat=True):
        text = text.replace(bytes(body).decode("utf-8", "replace"), "\n")
    return incoming, quarantine.judge(incoming, text)


def _writer(file: MemoryFile, version: MemoryVersion) -> str:
    """Return whose hand a version was, as far as its file and source say."""
    if file.tier == Tier.LEARNED or version.source == "restore":
        # People approve what is learned, and people put versions back.
        return Writer.OPERATOR.value
    if version.source == "disk":
        return Writer.UNKNOWN.value
    return Writer.OWN.value if file.agent_id else Writer.TEAMMATE.value


def _restore_newest_clean(file: MemoryFile, bad: MemoryVersion, by: Actor) -> None:
    """Restore the newest version that passes the scanner, else remove the file."""
    note = f"version {bad.number} held by a rescan"
    for old in versions.log(file):
        if not old.sha256 or old.sha256 == bad.sha256:
            continue
        data = versions.read(old)
        text = data.decode("utf-8", "replace")
        _, judgement = _judge(file, old, text)
        if judgement.action == "allow":
            good = versions.begin(file, data, by=by, source="rescan", note=note)
            commit.put(file, good, data)
            return
    removal = versions.begin(file, None, by=by, source="rescan", note=note)
    commit.put(file, removal, None)
