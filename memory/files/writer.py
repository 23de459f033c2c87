"""The only writer of memory files.

permit → cap → scan → lock → intention and blob → atomic rename → version, word index
and journal in one transaction. After a kill between any two steps, the next access to
the file finds the intention and completes it (the bytes are on disk) or deletes it
(they are not, and the write was not acknowledged). One that fails is taken back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from memory import scanner
from memory.files import (
    commit,
    paths,
    quarantine,
    reconcile,
    redaction,
    scan_context,
    versions,
    write_check,
)
from memory.files.paths import Owner
from memory.files.quarantine import HeldForReview, Incoming, WriteRefused
from memory.files.redaction import Neighbour, Standard
from memory.models import MemoryFile, MemoryVersion
from memory.ports import subject_linker
from memory.rules import entries, errors, tiers, validation
from memory.rules.permissions import Actor, AgentRole
from memory.rules.tiers import Place, Tier, WriteMode
from memory.rules.translation import gettext, gettext_noop
from memory.stored_files.store import digest


class TierFull(errors.AppError):
    """The file would exceed its cap.

    The error has the current body, so that an agent can consolidate it and write again
    in the same turn.
    """

    code, status, title = "tier_full", 409, gettext_noop("Over the cap")
    sentence = gettext_noop(
        "{label} may hold {cap_bytes} bytes and would hold {projected_size}. Nothing "
        "was written. Consolidate the current text and write it with mode replace."
    )


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The result of a write: the file's new state."""

    version: MemoryVersion
    label: str
    sha256: str
    size: int
    cap: int
    body: str

    @property
    def is_nearly_full(self) -> bool:
        """From 80 % of the cap a writer is warned."""
        return bool(self.cap) and self.size >= tiers.WARN_SHARE * self.cap

    @property
    def usage(self) -> str:
        """How full the file is, in words."""
        return tiers.usage(self.size, self.cap)


@dataclass(frozen=True, slots=True)
class Request:
    """What to write where; ``source`` is tool, operator, import or restore.

    ``subjects`` are the people the text is about, as the writer says.
    """

    owner: Owner
    place: Place
    text: str
    mode: WriteMode
    source: str
    note: str = ""
    subjects: tuple[str, ...] = ()


# ── Permission and size ──────────────────────────────────────────────────────
def _permit(request: Request, by: Actor) -> None:
    by.require("files.write", request.owner.workspace_id)
    if not by.is_agent:
        return
    if request.owner.crew.id != by.crew_id or request.owner.agent_id != by.id:
        raise errors.NotFound
    if not request.place.rule.by_tools:
        detail = f"{request.place.tier.value} is read-only for agents."
        raise errors.Forbidden(detail, code="read_only_tier")
    if request.place.tier is Tier.CREW and by.agent_role is not AgentRole.LEAD:
        detail = "CREW is written by the crew's lead only."
        raise errors.Forbidden(detail, code="lead_only")


def _check_text(request: Request) -> None:
    if not request.text.strip():
        raise errors.Invalid(
            gettext("content must not be empty."), code="empty_content"
        )
    if not entries.is_storable(request.text):
        detail = gettext("content holds a NUL or half a surrogate pair.")
        raise errors.Invalid(detail, code="bad_text")
    validation.check_subjects(request.subjects)
    place, subjects = request.place, tuple(request.subjects)
    if place.tier is Tier.PEERS:
        # A card says in its name whom it is about.
        subjects = (*subjects, place.key)
    texts = (request.text, place.key)
    subject_linker.refuse(request.owner.workspace_id, texts, subjects)


def resulting_text(current: str, request: Request) -> str:
    """Return a file's text after a write."""
    return joined_text(current, request.text, request.mode)


def joined_text(current: str, text: str, mode: WriteMode) -> str:
    """Return the text that replaces another, or goes below it on a line of its own."""
    if mode is WriteMode.REPLACE:
        return text
    gap = "\n" if current and not current.endswith("\n") else ""
    return f"{current}{gap}{text}"


def check_cap(
    place: Place, current: str, final: str, hard_cap: int = tiers.HARD_CAP
) -> None:
    """Raise TierFull when a text is over the cap of its place."""
    size, cap = len(final.encode()), place.rule.cap or hard_cap
    if size <= cap:
        return
    present = len(current.encode())
    raise TierFull(
        label=place.label,
        tier=place.tier.value,
        cap_bytes=cap,
        projected_size=size,
        current_size=present,
        current_entries=current,
        usage=tiers.usage(present, cap),
    )


# ── Scanning ─────────────────────────────────────────────────────────────────
def _gate(request: Request, current: str, final: str, by: Actor) -> str:
    """Return the final text, perhaps redacted, or raise Held or Refused."""
    incoming = Incoming(
        owner=request.owner,
        place=request.place,
        text=request.text,
        mode=request.mode.value,
        source=request.source,
        written_by=by.label,
        base_sha256=digest(current.encode()) if current else "",
        subjects=request.subjects,
        writer=scan_context.writer_of(by, request.owner.of(request.place).agent_id),
    )
    if quarantine.is_blocked(incoming):
        raise WriteRefused(
            why=gettext("this writer is blocked until an operator lifts it.")
        )
    judgement = write_check.judge_write(incoming, current, final)
    if judgement.action == "allow":
        return final
    if judgement.action == "block":
        raise WriteRefused(why=gettext(judgement.why))
    if judgement.action == "redact":
        remainder = redaction.of(
            request.text,
            scanner.spans(judgement.verdict.findings),
            Standard.of(incoming),
            neighbour=neighbour_of(request, current),
            is_reviewed=False,
        )
        rest = replace(incoming, text=remainder.text)
        final = resulting_text(current, replace(request, text=rest.text))
        if remainder.is_clean and _passes(rest, current, final):
            return final
    held_file = quarantine.hold(incoming, judgement, by=by)
    raise HeldForReview(held_id=held_file.id, why=gettext(judgement.why))


def _passes(rest: Incoming, current: str, final: str) -> bool:
    """Judge a rest with the files beside it, which what holds for itself was not."""
    return write_check.judge_write(rest, current, final).action == "allow"


def preceding_text(request: Request, current: str) -> str:
    """Return the text that a new one goes below."""
    return resulting_text(current, replace(request, text=""))


def neighbour_of(request: Request, current: str) -> Neighbour:
    """Return the text that a new one goes below, or that it takes the place of."""
    if request.mode is WriteMode.REPLACE:
        return Neighbour(replaced=current)
    return Neighbour(before=preceding_text(request, current))


# ── Writing ──────────────────────────────────────────────────────────────────
def current_text(owner: Owner, place: Place) -> str:
    """Return a file's text as it is on disk, empty when there is none."""
    stored = paths.file_store().read(owner.of(place).parts(place))
    return stored.data.decode("utf-8", "replace") if stored else ""


def write(request: Request, *, by: Actor) -> WriteResult:
    """Write a memory file; it is on the disk and in the journal when this returns.

    Raises Forbidden, Invalid, TierFull, Held, Refused, Unsafe or Busy; in each case the
    file is unchanged.
    """
    _permit(request, by)
    _check_text(request)
    # A change on disk by others is scanned and versioned as theirs first.
    reconcile.notice(request.owner, request.place)
    present = current_text(request.owner, request.place)
    final = _prepare(request, present, by)
    with reconcile.locked(request.owner, request.place) as file:
        present_now = current_text(request.owner, request.place)
        if present_now != present:
            final = _prepare(request, present_now, by)
        return _put(file, request, final, by)


def _require_text(present: str, expected: str | None) -> None:
    if expected not in (None, present):
        raise errors.Conflict(
            gettext("The file was written since."), code="written_since"
        )


def _prepare(request: Request, present: str, by: Actor) -> str:
    final = resulting_text(present, request)
    check_cap(request.place, present, final)
    allowed = _gate(request, present, final, by)
    check_cap(request.place, present, allowed)
    return allowed


def _put(file: MemoryFile, request: Request, final: str, by: Actor) -> WriteResult:
    data = final.encode()
    version = _store(
        file,
        data,
        by=by,
        source=request.source,
        note=request.note,
        subjects=request.subjects,
    )
    return WriteResult(
        version=version,
        label=file.label,
        sha256=version.sha256,
        size=len(data),
        cap=request.place.rule.cap,
        body=final,
    )


def _store(
    file: MemoryFile,
    data: bytes | None,
    *,
    by: Actor,
    source: str,
    note: str = "",
    subjects: tuple[str, ...] = (),
) -> MemoryVersion:
    """Make bytes the newest version of a file whose lock is held; None removes it."""
    version = versions.begin(
        file, data, by=by, source=source, note=note, subjects=subjects
    )
    commit.step("intention")
    commit.put(file, version, data)
    commit.step("settled")
    return version


def write_released(
    request: Request, *, by: Actor, expected: str | None = None
) -> WriteResult:
    """Write a text that a person judged: everything as in ``write``, but the scan.

    Where the file has another text than the ``expected``, nothing is written.
    """
    _permit(request, by)
    _check_text(request)
    with reconcile.locked(request.owner, request.place) as file:
        present = current_text(request.owner, request.place)
        _require_text(present, expected)
        final = resulting_text(present, request)
        check_cap(request.place, present, final)
        return _put(file, request, final, by)


def restore(file: MemoryFile, version: MemoryVersion, *, by: Actor) -> WriteResult:
    """Restore an old version as a new one, with every check of a write."""
    owner, place = paths.owner_of(file), paths.place_of(file)
    text = versions.read(version).decode("utf-8", "replace")
    note = f"version {version.number} restored"
    request = Request(owner, place, text, WriteMode.REPLACE, "restore", note)
    return write(request, by=by)


def take_back(owner: Owner, place: Place, version_id: str, *, by: Actor) -> None:
    """Undo one write, if it is still the newest, by restoring its parent."""
    with reconcile.locked(owner, place) as file:
        newest = versions.latest(file)
        if newest is None or newest.id != version_id:
            detail = gettext("The file was written since; restore a version by hand.")
            raise errors.Conflict(detail, code="written_since")
        before = newest.parent
        data = versions.read(before) if before and before.sha256 else None
        note = f"version {newest.number} taken back"
        _store(file, data, by=by, source="undo", note=note)


def remove(
    owner: Owner, place: Place, *, source: str, by: Actor, expected: str | None = None
) -> bool:
    """Remove a file, as a version of its own; return whether there was one."""
    _permit(Request(owner, place, "-", WriteMode.REPLACE, source), by)
    with reconcile.locked(owner, place) as file:
        if not file.sha256:
            return False
        _require_text(current_text(owner, place), expected)
        _store(file, None, by=by, source=source)
    return True
