"""Scanning stored text again: a replay that only counts, and a rescan that holds.

A replay counts the stored texts whose verdict would change, with samples; it changes
nothing. A rescan removes a file's text from disk when the current rules hold it, and
the removed text waits for review: the newest version that passes is restored, or, where
people wrote since, what they wrote stays with what is left of that version. Both judge
each line of a file as written by whoever brought it (``origins``), are bounded and
report where they stopped.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from memory.files import commit, paths, quarantine, scan_context, versions
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
from memory.review import origins
from memory.review.origins import Author, History
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.rules.translation import gettext, gettext_noop
from memory.scanner import Finding
from memory.stored_files.store import RootLost

BUDGET_SECONDS: Final = 6.0
JOURNAL_LIMIT: Final = 400
RECORDS_LIMIT: Final = 400
HELD_LIMIT: Final = 200
SAMPLES_PER_KIND: Final = 5
BATCH: Final = 50


@dataclass(frozen=True, slots=True)
class Stored:
    """One stored text for a replay; ``kind`` is translated where it is shown.

    ``held_by`` returns the findings that hold it, None when it passes.
    """

    kind: str
    name: str
    text: str
    held_by: Callable[[Policy], tuple[Finding, ...] | None]


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
    text = origins.text_of(version)
    return None if text is None else (version, text)


def _scan(
    text: str, source: str, tier: str, writer: str | None = None
) -> Callable[[Policy], tuple[Finding, ...] | None]:
    def held_by(policy: Policy) -> tuple[Finding, ...] | None:
        verdict = policy.scan(text, source=source, tier=tier, writer=writer)
        return verdict.findings if verdict.is_held else None

    return held_by


def _files(workspace_id: str) -> Iterator[Stored]:
    rows = MemoryFile.objects.filter(workspace_id=workspace_id).exclude(sha256="")
    for file in rows.order_by("path"):
        current = _current(file)
        if current:
            version, text = current
            held_by = partial(History.of(file).held_by, version, text)
            yield Stored(gettext_noop("memory file"), file.path, text, held_by)


def _journal(workspace_id: str) -> Iterator[Stored]:
    rows = JournalEntry.objects.filter(workspace_id=workspace_id)
    rows = rows.filter(agent_id__isnull=False, erased_at__isnull=True)
    for row in rows.order_by("-seq")[:JOURNAL_LIMIT]:
        kind = gettext_noop("journal summary")
        held_by = _scan(row.summary, "prompt", "journal")
        yield Stored(kind, row.id, row.summary, held_by)


def _records(workspace_id: str) -> Iterator[Stored]:
    rows = Record.objects.filter(workspace_id=workspace_id)
    current = rows.filter(status=RecordStatus.CURRENT).order_by("-pk")
    for row in current[:RECORDS_LIMIT]:
        held_by = _scan(row.content, "tool", "record")
        yield Stored(gettext_noop("record"), row.id, row.content, held_by)


def _held_texts(workspace_id: str) -> Iterator[Stored]:
    rows = HeldFile.objects.filter(workspace_id=workspace_id, state=HeldState.HELD)
    for row in rows.order_by("-risk")[:HELD_LIMIT]:
        text = bytes(row.body).decode("utf-8", "replace")
        writer = scan_context.context_of(row).writer
        held_by = _scan(text, row.source, row.tier, writer)
        yield Stored(gettext_noop("waiting text"), row.id, text, held_by)


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
    before, after = stored.held_by(now), stored.held_by(then)
    held_before, is_held = before is not None, after is not None
    tally.seen += 1
    tally.held_now += held_before
    tally.held_then += is_held
    if held_before == is_held:
        return
    tally.newly_held += is_held
    tally.newly_passed += held_before
    if len(tally.samples) < SAMPLES_PER_KIND:
        findings = after or before
        why = max(findings, key=lambda f: f.weight).why if findings else ""
        words = (
            gettext("would be held: {why}") if is_held else gettext("would pass: {why}")
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
        history = History.of(file)
        reason = _judge(history, version, text)
        if reason is None:
            return None
        incoming, judgement = reason
        case = quarantine.hold(incoming, judgement, by=by)
        _restore_clean(history, version, text, by)
        return case


def _judge(
    history: History, version: MemoryVersion, text: str
) -> tuple[Incoming, Judgement] | None:
    """Return what holds a text whose lines are a version's, None when it passes."""
    policy = quarantine.policy(history.file.workspace_id)
    judged_text = history.text_to_judge(text)
    for author, scan in history.scans(version, judged_text, policy):
        incoming = _incoming(history.file, version, text, author)
        judgement = quarantine.decision(incoming, judged_text, scan, policy)
        if judgement.action != "allow":
            return incoming, judgement
    return None


def _incoming(
    file: MemoryFile, version: MemoryVersion, text: str, author: Author
) -> Incoming:
    before = version.parent
    return Incoming(
        owner=paths.owner_of(file),
        place=paths.place_of(file),
        text=text,
        mode="replace",
        source=version.source if author == origins.UNTRACED else author.source,
        written_by=author.written_by,
        base_sha256=before.sha256 if before else "",
        writer=author.writer,
    )


def _restore_clean(history: History, bad: MemoryVersion, text: str, by: Actor) -> None:
    """Put the newest version that passes, with what people wrote since, in the place.

    Where none passes, what people wrote stays, or at least what operators are known to
    have written; without any the file is removed.
    """
    note = f"version {bad.number} held by a rescan"
    data = next(_clean_texts(history, bad, text), None)
    good = versions.begin(history.file, data, by=by, source="rescan", note=note)
    commit.put(history.file, good, data)


def _clean_texts(history: History, bad: MemoryVersion, text: str) -> Iterator[bytes]:
    by_author = history.lines(bad, history.text_to_judge(text))
    by_agents = Counter[str]()
    for author, lines in by_author.items():
        if author.is_of_agents:
            by_agents += lines
    for old in versions.log(history.file):
        earlier = history.text_of(old)
        if earlier is None or not old.sha256:
            continue
        rest = origins.with_people(text, by_agents, earlier)
        lines_of = old if rest == earlier else bad
        if rest != text and _judge(history, lines_of, rest) is None:
            yield rest.encode()
    untraced = by_author.get(origins.UNTRACED, Counter())
    for lines in (by_agents, by_agents + untraced):
        rest = "".join(origins.without(text, lines))
        if rest.strip() and _judge(history, bad, rest) is None:
            yield rest.encode()
