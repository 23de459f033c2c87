"""Previews of what releasing or redacting a held text would write.

A decision uses the same functions, so that what the reviewer was shown is what is
written, byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory import scanner
from memory.files import quarantine, redaction, scan_context, versions, writer
from memory.files.paths import Owner
from memory.files.writer import Request
from memory.models import HeldFile
from memory.ports import subject_linker
from memory.rules import errors, tiers
from memory.rules.tiers import Place, WriteMode
from memory.rules.translation import gettext
from memory.stored_files.store import digest


def text_of(case: HeldFile) -> str:
    return bytes(case.body).decode("utf-8", "replace")


def owner_of(case: HeldFile) -> Owner:
    """Return the owner of the file that the text was meant for."""
    if case.crew is None:
        raise errors.NotFound
    return Owner(case.crew, case.agent)


def is_file(case: HeldFile) -> bool:
    """Whether the text was meant for a tier file."""
    return case.tier not in quarantine.RELEASERS


def request(case: HeldFile, text: str, note: str = "") -> Request:
    """Return the write that releasing a text would be."""
    place = Place(tiers.Tier(case.tier), case.key)
    mode = WriteMode(case.mode)
    return Request(owner_of(case), place, text, mode, case.source, note)


# ── After a redaction ────────────────────────────────────────────────────────
def remainder(
    case: HeldFile, choice: Sequence[tuple[int, int]] = ()
) -> redaction.Remainder:
    """Return what redacting would leave of a held text, scanned; nothing is changed.

    Whole sentences and lines are taken out, so the parts are wider than ``choice``.
    """
    text = text_of(case)
    finding_spans = [
        scanner.Span(finding["start"], finding["end"], str(finding["family"]))
        for finding in case.findings
        if finding["start"] < finding["end"]
    ]
    spans = [scanner.Span(*span, scanner.REVIEWED) for span in choice] or finding_spans
    is_inside = all(0 <= span.start < span.end <= len(text) for span in spans)
    if not spans or not is_inside:
        detail = gettext("redactions are spans of the held text: 0 ≤ start < end.")
        raise errors.Invalid(detail, code="bad_redactions")
    policy = quarantine.policy(case.workspace_id)
    writer_kind = scan_context.context_of(case).writer
    by = redaction.Standard(case.source, case.tier, policy, writer_kind)
    return redaction.of(
        text, spans, by, findings=finding_spans, neighbour=_neighbour_of(case)
    )


def _neighbour_of(case: HeldFile) -> redaction.Neighbour:
    releaser = quarantine.RELEASERS.get(case.tier)
    if releaser is not None:
        return redaction.Neighbour(replaced=releaser.current(case))
    write_request = request(case, "")
    current = writer.current_text(write_request.owner, write_request.place)
    return writer.neighbour_of(write_request, current)


def edges(remainder: redaction.Remainder) -> list[tuple[int, int]]:
    """Return the spans of the original that are taken out, each once."""
    return sorted({(part.start, part.end) for part in remainder.parts})


# ── What an agent would read ─────────────────────────────────────────────────
def reads(case: HeldFile, text: str) -> str:
    """Return all that an agent would read in the file if ``text`` were released.

    Names of people whose data may not be used are masked, as they are for agents.
    """
    final = _file_before_and_after(case, text)[1] if is_file(case) else text
    return subject_linker.mask(case.workspace_id, final)


def _file_before_and_after(case: HeldFile, text: str) -> tuple[str, str]:
    write_request = request(case, text)
    before = writer.current_text(write_request.owner, write_request.place)
    return before, writer.resulting_text(before, write_request)


@dataclass(frozen=True, slots=True)
class Preview:
    """What a decision would release, and what an agent would then read.

    ``remainder`` is what a redaction leaves, scanned; None for a full release.
    """

    text: str
    reads: str
    remainder: redaction.Remainder | None = None

    @property
    def sha256(self) -> str:
        """The digest of what would be released; a decision may name it."""
        return digest(self.text.encode())


def of_release(case: HeldFile) -> Preview:
    """Return the preview of releasing the whole text."""
    text = text_of(case)
    return Preview(text, reads(case, text))


def of_redaction(case: HeldFile, spans: Sequence[tuple[int, int]] = ()) -> Preview:
    """Return the preview of redacting, also when it would be refused."""
    rest = remainder(case, spans)
    return Preview(rest.text, reads(case, rest.text), rest)


def before_and_after(case: HeldFile) -> list[versions.DiffLine]:
    """Return the diff from the present file to the file after a release."""
    releaser = quarantine.RELEASERS.get(case.tier)
    if releaser is not None:
        return versions.diff(releaser.current(case).encode(), bytes(case.body))
    before, after = _file_before_and_after(case, text_of(case))
    return versions.diff(before.encode(), after.encode())
