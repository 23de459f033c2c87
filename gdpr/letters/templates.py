"""The texts that letters start from: built in, or edited by a workspace.

For an occasion, a kind of request and a language the most particular text counts: the
workspace's for this kind, the built-in one for this kind, the workspace's for every
kind, the built-in one for every kind. A region falls back to its language, a language
without any text to English.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from gdpr.cases.correspondence import clean_language, has_control
from gdpr.cases.transitions import clean_text
from gdpr.letters import built_in, placeholders
from gdpr.models import CaseKind, LetterOccasion, LetterTemplate
from memory.journal import append as journal
from memory.models import Workspace
from memory.rules import errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor

MAY: Final = "gdpr.manage"
SUBJECT_CHARS: Final = 200
BODY_CHARS: Final = 20_000
# A workspace has a few languages; more texts than this are no texts of letters.
MAX_TEXTS: Final = 500
EVERY_KIND: Final = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which text: for an occasion, a kind of request or every one, in a language."""

    occasion: str
    kind: str
    language: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text in force; ``version`` is 0 for a built-in one, ``own`` None likewise."""

    place: Place
    subject: str
    body: str
    version: int = 0
    own: LetterTemplate | None = None


# ── Reading ──────────────────────────────────────────────────────────────────
def _rows(workspace_id: str) -> QuerySet[LetterTemplate]:
    return LetterTemplate.objects.filter(workspace_id=workspace_id)


def place(occasion: str, kind: str, language: str) -> Place:
    """Return a checked place, or raise Invalid."""
    if occasion not in LetterOccasion.values:
        raise errors.unknown_value("occasion", LetterOccasion.values)
    if kind not in (EVERY_KIND, *CaseKind.values):
        raise errors.unknown_value("kind", [*CaseKind.values, '""'])
    if occasion == LetterOccasion.DONE and kind == EVERY_KIND:
        detail = gettext("What was carried out has a text for each kind of request.")
        raise errors.Invalid(detail, code="kind_required")
    return Place(occasion=occasion, kind=kind, language=clean_language(language))


OwnTexts = dict[tuple[str, str, str], LetterTemplate]


def _own_texts(workspace_id: str) -> OwnTexts:
    return {(row.occasion, row.kind, row.language): row for row in _rows(workspace_id)}


def in_force(workspace_id: str, where: Place) -> Text:
    """Return the text that a letter starts from; its place says which one it is."""
    return _best(_own_texts(workspace_id), where)


def _best(own_texts: OwnTexts, where: Place) -> Text:
    codes = (where.language, built_in.base(where.language), built_in.FALLBACK)
    for language in dict.fromkeys(codes):
        for kind in dict.fromkeys((where.kind, EVERY_KIND)):
            row = own_texts.get((where.occasion, kind, language))
            if row is not None:
                return _own(row)
            text = _built_in(where.occasion, kind, language)
            if text is not None:
                return text
    raise errors.NotFound


def overview(actor: Actor, language: str) -> list[tuple[Place, Text]]:
    """Return the places of a language, each with the text in force there."""
    actor.require("gdpr.read")
    own_texts = _own_texts(actor.workspace_id)
    own_keys = [key[:2] for key in own_texts if key[2] == language]
    keys = dict.fromkeys([*built_in.LANGUAGES[built_in.FALLBACK].texts, *own_keys])
    places = [
        Place(occasion=str(occasion), kind=str(kind), language=language)
        for occasion, kind in keys
    ]
    return [(where, _best(own_texts, where)) for where in places]


def _own(row: LetterTemplate) -> Text:
    where = Place(occasion=row.occasion, kind=row.kind, language=row.language)
    return Text(
        place=where, subject=row.subject, body=row.body, version=row.version, own=row
    )


def _built_in(occasion: str, kind: str, language: str) -> Text | None:
    words = built_in.LANGUAGES.get(language)
    pair = words.texts.get((occasion, kind)) if words else None
    if pair is None:
        return None
    where = Place(occasion=occasion, kind=kind, language=language)
    return Text(place=where, subject=pair[0], body=pair[1])


def text_at(actor: Actor, where: Place) -> Text:
    """Return the text to edit at a place: its own one, or what is in force there."""
    actor.require("gdpr.read")
    row = _rows(actor.workspace_id).filter(**_key(where)).first()
    return _own(row) if row else in_force(actor.workspace_id, where)


def languages(workspace_id: str) -> list[str]:
    """Return the languages that have a text here, the built-in ones first."""
    codes = _rows(workspace_id).values_list("language", flat=True).distinct()
    return list(dict.fromkeys([*built_in.LANGUAGES, *sorted(codes)]))


def texts(actor: Actor, language: str = "") -> list[Text]:
    """Return the texts in force: the built-in places, and the workspace's own ones.

    Without a language those of every language.
    """
    actor.require("gdpr.read")
    codes = [clean_language(language)] if language else languages(actor.workspace_id)
    own_texts = _own_texts(actor.workspace_id)
    result = []
    for code in codes:
        for key in dict.fromkeys([*_built_in_keys(code), *own_texts]):
            if key[2] == code:
                row = own_texts.get(key)
                text = _own(row) if row else _built_in(*key)
                result += [text] if text else []
    return result


def _built_in_keys(language: str) -> Iterator[tuple[str, str, str]]:
    words = built_in.LANGUAGES.get(language)
    for occasion, kind in words.texts if words else ():
        yield occasion, kind, language


# ── Editing ──────────────────────────────────────────────────────────────────
def clean_subject(value: str) -> str:
    """Return the subject of a letter as a single line, or raise Invalid."""
    text = clean_text(value, "subject", SUBJECT_CHARS)
    if has_control(text):
        # A line break would begin another header of the mail.
        detail = gettext("The subject is a single line.")
        raise errors.Invalid(detail, code="bad_subject")
    return text


def clean_body(value: str) -> str:
    text = clean_text(value.replace("\r\n", "\n"), "body", BODY_CHARS)
    if has_control(text, "\n\t"):
        detail = gettext("The text has signs that cannot be written in a letter.")
        raise errors.Invalid(detail, code="bad_body")
    return text


def checked(where: Place, subject: str, body: str) -> Text:
    """Return a text that may be saved, or raise what is wrong with it."""
    text = Text(place=where, subject=clean_subject(subject), body=clean_body(body))
    placeholders.require_known(text.subject, "subject")
    placeholders.require_known(text.body, "body")
    return text


def _key(where: Place) -> dict[str, str]:
    return {
        "occasion": where.occasion,
        "kind": where.kind,
        "language": where.language,
    }


def _require_version(row: LetterTemplate | None, version: int) -> None:
    if (row.version if row else 0) != version:
        detail = gettext("Somebody changed this text since you read it.")
        raise errors.Conflict(detail, code="stale_version")


def _require_room(workspace_id: str) -> None:
    if _rows(workspace_id).count() >= MAX_TEXTS:
        detail = gettext("A workspace has at most {limit} texts of its own.").format(
            limit=MAX_TEXTS
        )
        raise errors.Conflict(detail, code="too_many_texts")


def save(where: Place, subject: str, body: str, version: int, *, by: Actor) -> Text:
    """Save a text of the workspace's own; ``version`` is the one that was read."""
    by.require(MAY)
    text = checked(where, subject, body)
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(pk=by.workspace_id)
        row = _rows(by.workspace_id).filter(**_key(where)).first()
        _require_version(row, version)
        if row is None:
            _require_room(by.workspace_id)
            row = LetterTemplate(workspace_id=by.workspace_id, version=0, **_key(where))
        row.subject, row.body = text.subject, text.body
        row.version += 1
        row.changed_by, row.changed_at = by.label, timezone.now()
        row.save()
        _record("changed", where, by, version=row.version)
    return _own(row)


def reset(where: Place, version: int, *, by: Actor) -> None:
    """Delete a text of the workspace's own: the built-in one is in force again."""
    by.require(MAY)
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(pk=by.workspace_id)
        row = _rows(by.workspace_id).filter(**_key(where)).first()
        if row is None:
            raise errors.NotFound
        _require_version(row, version)
        row.delete()
        _record("reset", where, by)


def _record(action: str, where: Place, by: Actor, **details: int) -> None:
    new = NewEntry(
        entry_type=f"gdpr.letter_text_{action}",
        severity=Severity.NOTICE,
        summary=f"Text of letters {action}: {where.occasion}",
        payload={**_key(where), **details},
    )
    journal.write([new], by=by)
