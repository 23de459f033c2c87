"""What letting a held text in would make, worked out and not done.

A reviewer looks at it before a decision, and the decision goes the same way: what was
shown is what is written, byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory import scanner
from memory.files import quarantine, redaction, versions, writer
from memory.files.paths import Owner
from memory.files.storage import digest
from memory.files.writer import Request
from memory.models import HeldFile
from memory.ports import subject_linker
from memory.rules import errors, tiers
from memory.rules.tiers import Place, WriteMode


def text_of(held: HeldFile) -> str:
    """Return the original text of a case."""
    return bytes(held.body).decode("utf-8", "replace")


def owner_of(held: HeldFile) -> Owner:
    """Return where the text was meant to go."""
    if held.crew is None:
        raise errors.NotFound
    return Owner(held.crew, held.agent)


def is_file(held: HeldFile) -> bool:
    """Whether the text was meant for a tier file."""
    return held.tier not in quarantine.RELEASERS


def request(held: HeldFile, text: str, note: str = "") -> Request:
    """Return the write that letting a text in would be."""
    place = Place(tiers.Tier(held.tier), held.key)
    mode = WriteMode(held.mode)
    return Request(owner_of(held), place, text, mode, held.source, note)


# ── After a redaction ────────────────────────────────────────────────────────
def _check_spans(held: HeldFile, spans: Sequence[tuple[int, int]]) -> None:
    length = len(text_of(held))
    if not spans or any(not 0 <= start < end <= length for start, end in spans):
        detail = "redactions are spans of the held text: 0 ≤ start < end."
        raise errors.Invalid(detail, code="bad_redactions")


def _known(held: HeldFile) -> list[scanner.Span]:
    """Return the findings of a case that lie somewhere."""
    return [
        scanner.Span(one["start"], one["end"], str(one["family"]))
        for one in held.findings
        if one["start"] < one["end"]
    ]


def remainder(
    held: HeldFile, chosen: Sequence[tuple[int, int]] = ()
) -> redaction.Remainder:
    """Return what redacting would leave of a held text, judged; nothing is changed.

    Whole sentences and lines go, so the parts are wider than what was chosen.
    """
    known, ahead = _known(held), ""
    spans = [scanner.Span(*span, scanner.REVIEWED) for span in chosen] or known
    _check_spans(held, [(one.start, one.end) for one in spans])
    if is_file(held):
        asked = request(held, "")
        ahead = writer.before(asked, writer.current(asked.owner, asked.place))
    said = quarantine.policy(held.workspace_id)
    by = redaction.Standard(held.source, held.tier, said)
    return redaction.of(text_of(held), spans, by, known=known, before=ahead)


def edges(left: redaction.Remainder) -> list[tuple[int, int]]:
    """Return where the parts that went lay in the original, each once."""
    return sorted({(part.start, part.end) for part in left.parts})


# ── What an agent would read ─────────────────────────────────────────────────
def reads(held: HeldFile, text: str) -> str:
    """Return all that an agent would read in the place, were ``text`` let in.

    Names of people whose data may not be used are masked for agents here as there.
    """
    final = text
    if is_file(held):
        asked = request(held, text)
        final = writer.joined(writer.current(asked.owner, asked.place), asked)
    return subject_linker.mask(held.workspace_id, final)


@dataclass(frozen=True, slots=True)
class Preview:
    """What a decision would let in, and what an agent would read then.

    ``left`` is what a redaction leaves, judged; None for a release of the whole.
    """

    text: str
    reads: str
    left: redaction.Remainder | None = None

    @property
    def sha256(self) -> str:
        """The digest of what would be let in; a decision may name it."""
        return digest(self.text.encode())


def of_release(held: HeldFile) -> Preview:
    """Return what releasing the whole text would make."""
    text = text_of(held)
    return Preview(text, reads(held, text))


def of_redaction(held: HeldFile, chosen: Sequence[tuple[int, int]] = ()) -> Preview:
    """Return what redacting would make, also when it would be refused."""
    left = remainder(held, chosen)
    return Preview(left.text, reads(held, left.text), left)


def before_and_after(held: HeldFile) -> list[versions.DiffLine]:
    """Return the diff between what the file holds now and what a release would make."""
    releaser = quarantine.RELEASERS.get(held.tier)
    if releaser is not None:
        return versions.diff(releaser.current(held).encode(), bytes(held.body))
    asked = request(held, text_of(held))
    present = writer.current(asked.owner, asked.place)
    return versions.diff(present.encode(), writer.joined(present, asked).encode())
