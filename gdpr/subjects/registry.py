"""The register of people and their aliases.

Journal entries about a change hold ids and kinds; names are only in their own table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext, gettext_noop

from gdpr import linking, pagination, suppression
from gdpr.matching import patterns, phones
from gdpr.models import (
    Alias,
    AliasKind,
    CaseState,
    Subject,
    UnknownName,
    Via,
)
from gdpr.pagination import PageQuery
from memory.journal import append as journal
from memory.models import SubjectMention
from memory.rules import entries, errors, tokenizer
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor

MOST_ALIASES: Final = 50
_RUNNING_STATES: Final = (CaseState.RUNNING, CaseState.VERIFYING)
NAME_CHARS: Final = 200
NOTE_CHARS: Final = 400
VALUE_CHARS: Final = 320
_MIN_CHARS: Final = {"pattern": 3, "name": 2, "handle": 2}
_NOT_FOUND_BY: Final = {
    AliasKind.USER_ID: gettext_noop("This is no user id that could be found."),
    AliasKind.EMAIL: gettext_noop("This is no e-mail that could be found."),
    AliasKind.PHONE: gettext_noop("This is no phone that could be found."),
    AliasKind.HANDLE: gettext_noop("This is no handle that could be found."),
    AliasKind.NAME: gettext_noop("This is no name that could be found."),
    AliasKind.PATTERN: gettext_noop("This is no free pattern that could be found."),
}


@dataclass(frozen=True, slots=True)
class NewAlias:
    kind: str
    value: str


def record(verb: str, subject: Subject, by: Actor, **payload: Any) -> None:
    """Write a journal entry about a subject; ids and kinds, never a name."""
    new = NewEntry(
        entry_type=f"gdpr.subject_{verb}",
        severity=Severity.NOTICE,
        summary=f"Subject {subject.pk}: {verb.replace('_', ' ')}",
        payload={"subject_id": subject.pk, **payload},
    )
    journal.write([new], by=by)


# ── Validation ───────────────────────────────────────────────────────────────
def field_error(message: str, code: str, field: str) -> errors.Invalid:
    field_errors = [{"field": field, "code": code, "message": message}]
    return errors.Invalid(message, code=code, errors=field_errors)


def clean_text(value: str, max_chars: int, field: str) -> str:
    """Return a text with single spaces; raise Invalid when too long or not storable."""
    result = " ".join(value.split())
    if len(result) > max_chars or not entries.is_storable(result):
        detail = gettext("{field} is at most {count} characters.").format(
            field=field, count=max_chars
        )
        raise field_error(detail, "bad_text", field)
    return result


def _checked(new: NewAlias) -> NewAlias:
    """Return an alias that can be found in a text, or raise Invalid."""
    if new.kind not in AliasKind.values:
        kinds = ", ".join(AliasKind.values)
        raise field_error(f"kind is one of {kinds}.", "bad_kind", "kind")
    value = clean_text(new.value, VALUE_CHARS, "value")
    folded = patterns.folded(new.kind, value)
    letters = sum(character.isalnum() for character in folded)
    good = letters >= _MIN_CHARS.get(new.kind, 1)
    if new.kind == AliasKind.PHONE:
        good = phones.MIN_DIGITS <= len(folded) <= phones.MAX_DIGITS
    elif good:
        good = patterns.shape(new.kind, value) is not None
    if new.kind == AliasKind.EMAIL:
        good = good and "@" in folded.strip("@")
    if not good:
        detail = gettext(_NOT_FOUND_BY[AliasKind(new.kind)])
        raise field_error(detail, "bad_alias", "value")
    return NewAlias(new.kind, value)


def locked_subject(workspace_id: str, subject_id: str) -> Subject:
    """Return a locked subject; raise when it is erased, merged or in a running case."""
    rows = Subject.objects.select_for_update()
    subject = rows.filter(pk=subject_id, workspace_id=workspace_id).first()
    if subject is None:
        raise errors.NotFound
    if subject.erased_at is not None:
        raise errors.Conflict(gettext("This person was erased."), code="subject_erased")
    if subject.merged_into_id is not None:
        detail = gettext("It was merged into {subject}.").format(
            subject=subject.merged_into_id
        )
        raise errors.Conflict(detail, code="subject_merged")
    if subject.cases.filter(state__in=_RUNNING_STATES).exists():
        # The run has sealed its search terms: a change now would be missed.
        detail = gettext("A case about this person is running; wait for its end.")
        raise errors.Conflict(detail, code="case_running")
    return subject


# ── Search ───────────────────────────────────────────────────────────────────
def get(actor: Actor, subject_id: str) -> Subject:
    """Return a subject of the workspace, or raise NotFound."""
    actor.require("gdpr.read")
    rows = Subject.objects.filter(workspace_id=actor.workspace_id)
    subject = rows.prefetch_related("aliases").filter(pk=subject_id).first()
    if subject is None:
        raise errors.NotFound
    return subject


def with_alias(workspace_id: str, text: str) -> list[Subject]:
    """Return the subjects that have a text as an alias, of any kind."""
    query = Q(pk__in=[])
    for kind in AliasKind.values:
        folded = patterns.folded(kind, text)
        if folded:
            query |= Q(aliases__kind=kind, aliases__folded=folded)
    rows = Subject.objects.filter(query, workspace_id=workspace_id)
    return list(rows.filter(merged_into=None).distinct().order_by("pk"))


def find(text: str, *, by: Actor) -> Subject:
    """Return the subject with this id or alias.

    Raises NotFound for none, Conflict ``ambiguous_subject`` (with ids) for several.
    """
    by.require("gdpr.read")
    rows = Subject.objects.filter(workspace_id=by.workspace_id, pk=text)
    matches = list(rows) or with_alias(by.workspace_id, text)
    if not matches:
        raise errors.NotFound
    if len(matches) > 1:
        ids = [subject.pk for subject in matches[:20]]
        detail = gettext("Several people are called that; name one by its id.")
        raise errors.Conflict(detail, code="ambiguous_subject", subjects=ids)
    return matches[0]


def list_subjects(
    actor: Actor, *, q: str = "", limit: int = 50, cursor: str | None = None
) -> tuple[list[Subject], str | None]:
    """Return a page of subjects, newest first, and the next cursor."""
    actor.require("gdpr.read")
    rows = Subject.objects.filter(workspace_id=actor.workspace_id, merged_into=None)
    if q.strip():
        folded = tokenizer.fold(q)
        matches = Q(aliases__folded__contains=folded) | Q(display_name__icontains=q)
        rows = rows.filter(matches | Q(pk=q.strip())).distinct()
    page = pagination.newest(
        rows.prefetch_related("aliases"),
        "created_at",
        PageQuery(limit=limit, cursor=cursor),
        ["subjects", q],
        actor.workspace_id,
    )
    return page.items, page.next_cursor


# ── Changes ──────────────────────────────────────────────────────────────────
def create(
    display_name: str = "", aliases: Sequence[NewAlias] = (), *, by: Actor
) -> Subject:
    """Register a subject; rows that name it are linked now or by the next sweep.

    Raises Conflict ``alias_taken`` (with ids) for a name somebody else has by the same
    kind, unless it is a plain name, which two people may share.
    """
    by.require("gdpr.manage")
    name = clean_text(display_name, NAME_CHARS, "display_name")
    if not name and not aliases:
        raise field_error(gettext("Give a name or an alias."), "no_name", "aliases")
    if len(aliases) > MOST_ALIASES:
        raise _too_many_aliases()
    # Without an alias nothing is searched for, and nothing would ever be found.
    names = aliases or [NewAlias(AliasKind.NAME, name)]
    checked = [_checked(alias) for alias in names]
    with transaction.atomic():
        subject = Subject.objects.create(
            workspace_id=by.workspace_id, display_name=name, created_by=by.label
        )
        for alias in checked:
            _add(subject, alias, by)
        record("created", subject, by, aliases=len(checked))
    return subject


def _too_many_aliases() -> errors.Invalid:
    detail = gettext("A person has at most {count} aliases.").format(count=MOST_ALIASES)
    return field_error(detail, "too_many", "aliases")


def _add(subject: Subject, new: NewAlias, by: Actor) -> Alias:
    folded = patterns.folded(new.kind, new.value)
    owners = Alias.objects.filter(
        workspace_id=subject.workspace_id, kind=new.kind, folded=folded
    )
    existing = owners.filter(subject=subject).first()
    if existing is not None:
        return existing
    if new.kind not in (AliasKind.NAME, AliasKind.PATTERN) and owners.exists():
        ids = sorted(set(owners.values_list("subject_id", flat=True)))
        detail = gettext(
            "Somebody else has this alias; merge the two if they are one person."
        )
        raise errors.Conflict(detail, code="alias_taken", subjects=ids)
    alias = Alias.objects.create(
        workspace_id=subject.workspace_id,
        subject=subject,
        kind=new.kind,
        value=new.value,
        folded=folded,
        added_by=by.label,
    )
    _link_named(subject, new.value)
    return alias


def _unknown_names(workspace_id: str, value: str) -> QuerySet[UnknownName]:
    digest = suppression.unknown_name_digest(workspace_id, value)
    return UnknownName.objects.filter(workspace_id=workspace_id, digest=digest)


def _mentions(workspace_id: str, value: str) -> QuerySet[SubjectMention]:
    folded = {tokenizer.fold(value), tokenizer.fold(f"@{value}")}
    return SubjectMention.objects.filter(workspace_id=workspace_id, folded__in=folded)


def is_named(workspace_id: str, value: str) -> bool:
    """Whether a writer gave this name for a person who is not registered yet."""
    waits = _unknown_names(workspace_id, value).exists()
    return waits or _mentions(workspace_id, value).exists()


def _link_named(subject: Subject, value: str) -> None:
    """Link the rows whose writers gave this name before the alias was registered."""
    workspace_id = subject.workspace_id
    unknown_names = _unknown_names(workspace_id, value)
    rows = list(unknown_names.values_list("place", "row_id"))
    mentions = _mentions(workspace_id, value).values_list("entry_id", flat=True)
    rows += [(linking.JOURNAL, entry_id) for entry_id in mentions]
    linking.link(workspace_id, ((subject.pk, *row, Via.NAMED) for row in rows))
    unknown_names.delete()


def add_alias(subject_id: str, new: NewAlias, *, by: Actor) -> Alias:
    """Add an alias; stored rows are searched for it in the background."""
    by.require("gdpr.manage")
    checked = _checked(new)
    with transaction.atomic():
        subject = locked_subject(by.workspace_id, subject_id)
        if subject.aliases.count() >= MOST_ALIASES:
            raise _too_many_aliases()
        alias = _add(subject, checked, by)
        if subject.opted_out_at is not None:
            suppression.suppress(subject)
        record("alias_added", subject, by, kind=checked.kind)
    return alias


def remove_alias(subject_id: str, alias_id: int, *, by: Actor) -> None:
    """Remove an alias; rows that were linked by it stay linked."""
    by.require("gdpr.manage")
    with transaction.atomic():
        subject = locked_subject(by.workspace_id, subject_id)
        alias = subject.aliases.filter(pk=alias_id).first()
        if alias is None:
            raise errors.NotFound
        kind = alias.kind
        alias.delete()
        record("alias_removed", subject, by, kind=kind)
