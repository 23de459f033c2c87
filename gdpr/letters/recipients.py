"""Whom a person's data went to, and who was told of the request, for the letters."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from gdpr.cases import privacy_settings
from gdpr.letters import built_in
from gdpr.letters.built_in import RecipientWords
from gdpr.models import Case, Recipient, RecipientKind
from gdpr.recipients import listing
from gdpr.recipients.evidence import Disclosure
from memory.rules.permissions import Actor

# A letter with more lines is none; the list of the case has them all.
MAX_LINES: Final = 30
# Mails go to members and to the person; a download stays with a member, or is theirs.
_NOT_NAMED: Final = (RecipientKind.MAIL, RecipientKind.BUNDLES, RecipientKind.FILES)
# A service on the same machine is nobody else's.
_OWN_HOSTS: Final = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class _Line:
    """A recipient; ``notice`` is empty where none is due, ``at`` when it went out."""

    kind: str
    name: str
    is_certain: bool
    notice: str = ""
    ground: str = ""
    answer: str = ""
    at: datetime | None = None


def block(case: Case, language: str, *, by: Actor) -> str:
    """Return the recipients of a case, a line each below a heading; empty without any.

    Those that its run stored, with their notices; before it those of its plan. A
    request that is not passed on has what is known now.
    """
    words = built_in.words(language).recipients
    zone = privacy_settings.zone(privacy_settings.of(case.workspace_id))

    def day(moment: datetime | None) -> str:
        return built_in.day(moment.astimezone(zone), language) if moment else ""

    texts = [
        _text(line, words, day(line.at))
        for line in _lines(case, by)
        if line.kind not in _NOT_NAMED and line.name not in _OWN_HOSTS
    ]
    lines = list(dict.fromkeys(texts))
    if not lines:
        return ""
    hidden = len(lines) - MAX_LINES
    more = [words.more.format(count=hidden)] if hidden > 0 else []
    return "\n".join([words.heading, *lines[:MAX_LINES], *more])


def _lines(case: Case, by: Actor) -> list[_Line]:
    if case.kind not in listing.NOTIFIED_CASES:
        subject = case.subject
        return _disclosed(listing.disclosed_to(subject, by) if subject else [])
    rows = Recipient.objects.filter(workspace_id=case.workspace_id, case=case)
    stored = [_stored(row) for row in rows.defer("evidence", "sealed")]
    return [*stored, *_disclosed(listing.expected(case))]


def _disclosed(items: list[Disclosure]) -> list[_Line]:
    return [_Line(item.kind, item.name, item.is_certain) for item in items]


def _stored(row: Recipient) -> _Line:
    return _Line(
        kind=row.kind,
        name=row.name,
        # Whom an officer added is somebody the data was passed on to.
        is_certain=not row.doubt or row.kind == RecipientKind.OTHER,
        notice=row.state,
        ground=row.ground,
        answer=row.answer,
        at=row.notified_at,
    )


def _text(line: _Line, words: RecipientWords, day: str) -> str:
    kind = words.kinds.get(line.kind, "")
    name = f"{line.name} ({kind})" if line.name and kind else line.name or kind
    facts = [
        words.certain if line.is_certain else words.possible,
        words.grounds.get(line.ground) or words.notices.get(line.notice, ""),
        words.answers.get(line.answer, ""),
    ]
    return f"- {name}: {'; '.join(filter(None, facts)).format(day=day)}"
