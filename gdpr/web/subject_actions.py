"""What can be done to a person from their page: one row per action, run by one view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from django import forms
from django.utils.translation import gettext, gettext_noop

from gdpr.cases import legal_holds, privacy_settings
from gdpr.cases.legal_holds import NewHold
from gdpr.data_map import registry
from gdpr.export import make as export
from gdpr.models import Subject
from gdpr.subjects import consents, restriction, suggested_aliases
from gdpr.subjects import merge as subject_merge
from gdpr.subjects import registry as subjects
from gdpr.subjects.registry import NewAlias
from gdpr.web.forms import AliasForm, ConsentForm, HoldForm, MergeForm, ReasonForm
from memory.rules import errors
from memory.rules.permissions import Actor

# The forms of the page, by their names in its context.
FORMS: Final[dict[str, Callable[..., forms.Form]]] = {
    "alias": partial(AliasForm, auto_id="alias-%s"),
    "consent": partial(ConsentForm, auto_id="consent-%s"),
    "merge": partial(MergeForm, auto_id="merge-%s"),
    "hold": lambda *data: HoldForm(
        *data,
        places=[
            (place.name, gettext(place.title))
            for place in registry.ALL
            if not place.derived
        ],
    ),
    "lifting": ReasonForm,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectAction:
    """One action: called as ``service(subject, form, by=actor)``.

    ``form`` names a row of ``FORMS``, which is valid when the service is called. What
    ``path`` captures is passed on. A service that returns another person leads there.
    """

    path: str
    service: Callable[..., object]
    message: str
    form: str = ""


def _alias(form: forms.Form) -> NewAlias:
    return NewAlias(form.cleaned_data["kind"], form.cleaned_data["value"])


def _dismiss(subject: Subject, form: forms.Form, *, by: Actor) -> None:
    suggested_aliases.dismiss(subject.pk, _alias(form), by=by)


def _add_alias(subject: Subject, form: forms.Form, *, by: Actor) -> None:
    subjects.add_alias(subject.pk, _alias(form), by=by)


def _remove_alias(subject: Subject, _form: None, *, by: Actor, alias_id: int) -> None:
    subjects.remove_alias(subject.pk, alias_id, by=by)


def _merge(subject: Subject, form: forms.Form, *, by: Actor) -> Subject:
    try:
        stays = subjects.find(form.cleaned_data["into"].strip(), by=by)
        return subject_merge.merge(subject.pk, stays.pk, by=by)
    except errors.NotFound:
        detail = gettext("Nobody is registered by that id or alias.")
        raise errors.Invalid(detail) from None


def _consent(subject: Subject, form: forms.Form, *, by: Actor) -> None:
    data: dict[str, Any] = form.cleaned_data
    opted_out = data["opted_out"]
    consents.note(subject.pk, data["consent"], data["note"], opted_out=opted_out, by=by)


def _lift(subject: Subject, form: forms.Form, *, by: Actor) -> None:
    restriction.lift(subject, form.cleaned_data["reason"], by=by)


def _hold(subject: Subject, form: HoldForm, *, by: Actor) -> None:
    data = form.cleaned_data
    zone = privacy_settings.zone(privacy_settings.of(by.workspace_id))
    new_hold = NewHold(
        reason=data["reason"],
        review_at=form.review_at(zone),
        scope=data["scope"],
        ground=data["ground"],
    )
    places = frozenset(holder.name for holder in registry.ALL)
    legal_holds.place(subject, new_hold, by=by, places=places)


def _export(subject: Subject, _form: None, *, by: Actor) -> None:
    export.request(subject, by=by)


# The name of an action is its URL's name.
ACTIONS: Final = {
    "add_alias": SubjectAction(
        path="alias/",
        service=_add_alias,
        form="alias",
        message=gettext_noop(
            "Alias added. What is stored is searched for it within a minute."
        ),
    ),
    "remove_alias": SubjectAction(
        path="alias/<int:alias_id>/remove/",
        service=_remove_alias,
        message=gettext_noop("Alias removed; rows that were found by it stay linked"),
    ),
    "not_theirs": SubjectAction(
        path="not-theirs/",
        service=_dismiss,
        form="alias",
        message=gettext_noop("It is not theirs, and is not asked about again"),
    ),
    "merge": SubjectAction(
        path="merge/",
        service=_merge,
        form="merge",
        message=gettext_noop("{subject_id} is part of this person now"),
    ),
    "consent": SubjectAction(
        path="consent/",
        service=_consent,
        form="consent",
        message=gettext_noop("Kept as they said it"),
    ),
    "lift": SubjectAction(
        path="lift/",
        service=_lift,
        form="lifting",
        message=gettext_noop("The restriction is lifted; the data is in use again"),
    ),
    "hold": SubjectAction(
        path="hold/",
        service=_hold,
        form="hold",
        message=gettext_noop("The hold is in force now"),
    ),
    "export": SubjectAction(
        path="export/",
        service=_export,
        message=gettext_noop("The bundle is being made; it shows here within a minute"),
    ),
}
