"""Who brought each line of a memory file, as its versions say.

A stored text is judged as the writes that made it were: an operator's line as an
operator's, an agent's as an agent's. A version of a rescan or an undo brings nothing of
its own, it takes text away or has the bytes of an earlier one. Of lines from before the
oldest version that is kept nobody can say who brought them: they count as kept text,
which is asked for attacks and not for policy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from memory.files import commit, scan_context, versions
from memory.files.quarantine import Policy
from memory.models import HeldFile, HeldState, MemoryFile, MemoryVersion
from memory.rules import errors
from memory.rules.tiers import Tier
from memory.scanner import Finding, Verdict, changes
from memory.scanner.provenance import Origin, Writer
from memory.stored_files.store import RootLost

# Sources of versions that bring nothing of their own.
_TAKEN_BACK: Final = ("rescan", "undo")
Scan = Callable[[str], Verdict]


class Author(NamedTuple):
    """Who brought lines, and how they came in; ``written_by`` is a name for people."""

    source: str
    writer: str
    written_by: str = ""

    @property
    def is_of_agents(self) -> bool:
        """Whether no operator answers for the lines, as far as versions say."""
        return self != UNTRACED and self.writer != Writer.OPERATOR


UNTRACED: Final = Author(Origin.PROMPT.value, Writer.OWN.value)
# A text that is not held as this one's is not held as anybody's.
STRICTEST: Final = Author(Origin.WEB.value, Writer.UNKNOWN.value)


def text_of(version: MemoryVersion) -> str | None:
    """Return a version's text, None where its bytes are gone or were changed."""
    try:
        return versions.read(version).decode("utf-8", "replace")
    except RootLost:
        raise
    except errors.AppError:
        return None


@dataclass
class History:
    """The versions of a file, and what people released into it."""

    file: MemoryFile
    released: list[str]
    _versions: dict[str, MemoryVersion] = field(default_factory=dict)
    _texts: dict[str, str | None] = field(default_factory=dict)

    @classmethod
    def of(cls, file: MemoryFile) -> History:
        """Return a file's history; its versions are read when they are needed."""
        cases = HeldFile.objects.filter(
            workspace_id=file.workspace_id,
            crew_id=file.crew_id,
            label=file.label,
            state=HeldState.RELEASED,
        )
        if file.agent_id:
            # The case of a file that a crew shares names the agent that wrote into it.
            cases = cases.filter(agent_id=file.agent_id)
        bodies = cases.values_list("body", flat=True)
        texts = {bytes(body).decode("utf-8", "replace") for body in bodies}
        # A longer one may contain a shorter one.
        return cls(file, sorted(texts - {""}, key=lambda text: (-len(text), text)))

    def text_to_judge(self, text: str) -> str:
        """Return a text with empty lines in place of what a person released.

        Only where it is all of their lines: in the middle of one it may say another
        thing.
        """
        for body in self.released:
            text = _without_lines(text, body)
        return text

    def text_of(self, version: MemoryVersion) -> str | None:
        """Return a version's text as ``origins.text_of`` does; it is read once."""
        if version.pk not in self._texts:
            self._texts[version.pk] = text_of(version)
        return self._texts[version.pk]

    def lines(self, newest: MemoryVersion, text: str) -> dict[Author, Counter[str]]:
        """Return the lines of a version's text, by who brought them."""
        if not self._versions:
            rows = self.file.versions.filter(committed=True).order_by("-number")
            self._versions = {row.pk: row for row in rows}
        by_author: dict[Author, Counter[str]] = {}
        rest, version = Counter(text.splitlines()), self._origin_version(newest)
        while rest:
            parent = self._versions.get(version.parent_id or "")
            earlier = self._text_before(version, parent)
            common = rest & Counter((earlier or "").splitlines())
            if lines := rest - common:
                author = UNTRACED if earlier is None else self._author(version)
                by_author.setdefault(author, Counter()).update(lines)
            if parent is None:
                break
            rest, version = common, self._origin_version(parent)
        return by_author

    def scans(
        self, newest: MemoryVersion, text: str, policy: Policy
    ) -> Iterator[tuple[Author, Scan]]:
        """Yield each author with a scan that judges their lines, beside all others.

        Nothing where the text is not held whoever brought it.
        """
        strictest = self._scan(STRICTEST, policy)
        if not (strictest(text).is_held or policy.resembles_known(text)):
            return
        for author, own in self.lines(newest, text).items():
            yield author, partial(_judge, own, self._scan(author, policy))

    def held_by(
        self, newest: MemoryVersion, text: str, policy: Policy
    ) -> tuple[Finding, ...] | None:
        """Return the findings that hold a version's text, None when it passes."""
        text_read = self.text_to_judge(text)
        verdicts = (
            scan(text_read) for _, scan in self.scans(newest, text_read, policy)
        )
        return next((verdict.findings for verdict in verdicts if verdict.is_held), None)

    def _scan(self, author: Author, policy: Policy) -> Scan:
        return partial(
            policy.scan, source=author.source, tier=self.file.tier, writer=author.writer
        )

    def _origin_version(self, version: MemoryVersion) -> MemoryVersion:
        """Return the version whose bytes a rescan or an undo put back, else itself."""
        if version.source not in _TAKEN_BACK:
            return version
        copies = (
            row
            for row in self._versions.values()
            if row.sha256 == version.sha256 and row.source not in _TAKEN_BACK
        )
        return next((row for row in copies if row.number < version.number), version)

    def _text_before(
        self, version: MemoryVersion, parent: MemoryVersion | None
    ) -> str | None:
        """Return what a version was written over, None where nothing can say it."""
        if parent is not None:
            text = self.text_of(parent)
            return None if text is None else self.text_to_judge(text)
        return "" if version.number == 1 else None

    def _author(self, version: MemoryVersion) -> Author:
        if version.source in _TAKEN_BACK or not version.author:
            return UNTRACED
        if self.file.tier == Tier.LEARNED:
            # People approve what is learned.
            writer = Writer.OPERATOR.value
        else:
            by = commit.author_of(version)
            writer = scan_context.writer_of(by, self.file.agent_id)
        return Author(version.source, writer, version.written_by)


def _judge(own: Counter[str], scan: Scan, text: str) -> Verdict:
    rest = "".join(without(text, own))
    return changes.judge(changes.between(rest, text), scan)


# ── Lines ────────────────────────────────────────────────────────────────────
def _without_lines(text: str, lines: str) -> str:
    """Return a text with empty lines in place of some; all places stay.

    The case that may come of the rest stores the whole text.
    """
    start = text.find(lines)
    while start >= 0:
        end, next_start = start + len(lines), start + 1
        if _is_edge(text, start) and _is_edge(text, end):
            text = text[:start] + "\n" * len(lines) + text[end:]
            next_start = end
        start = text.find(lines, next_start)
    return text


def _is_edge(text: str, at: int) -> bool:
    """Whether a line begins or ends at a place."""
    rest = text[at : at + 2]
    return at == 0 or text[at - 1] == "\n" or rest[:1] in ("", "\n") or rest == "\r\n"


def without(text: str, own_lines: Counter[str]) -> Iterator[str]:
    """Yield the lines of a text without some, each as often as it is counted."""
    counts = Counter(own_lines)
    bodies = text.splitlines()
    for line, body in zip(text.splitlines(keepends=True), bodies, strict=True):
        if counts[body] > 0:
            counts[body] -= 1
        else:
            yield line


def with_people(text: str, by_agents: Counter[str], earlier: str) -> str:
    """Return an earlier text; where people wrote since, the present one without agents.

    Of the lines ``by_agents`` those of the earlier text stay then. What the present
    text lacks of the earlier one does not come back.
    """
    earlier_lines = Counter(earlier.splitlines())
    if not Counter(text.splitlines()) - by_agents - earlier_lines:
        return earlier
    return "".join(without(text, by_agents - earlier_lines))
