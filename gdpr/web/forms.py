"""The forms of the privacy pages: they parse input, the services apply the rules."""

from __future__ import annotations

import hashlib
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy

from gdpr.cases.queries import CaseQuery
from gdpr.cases.transitions import TEXT_CHARS
from gdpr.matching import common_words
from gdpr.models import (
    AliasKind,
    CaseKind,
    CaseState,
    Consent,
)
from gdpr.subjects.registry import NAME_CHARS, VALUE_CHARS, NewAlias
from memory.web import pages

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

    Words = str | _StrPromise

ANY: Final = ("", pgettext_lazy("filter", "Any"))
# Alias kinds offered while a case is opened; patterns only on the subject's page.
ALIAS_FIELDS: Final = ("email", "user_id", "phone", "handle")
STATES: Final = (
    ("open", pgettext_lazy("cases", "Open")),
    ("closed", pgettext_lazy("cases", "Closed")),
    *CaseState.choices,
)
DUES: Final = (
    ANY,
    ("overdue", gettext_lazy("Overdue")),
    ("today", gettext_lazy("Due today")),
    ("soon", gettext_lazy("Within a week, or today")),
)


def _text(label: Words, max_chars: int, *, need: bool = False, hint: Words = "") -> Any:
    return forms.CharField(
        label=label, max_length=max_chars, required=need, help_text=hint
    )


def _text_area(
    label: Words, *, need: bool = True, hint: Words = "", rows: int = 3
) -> Any:
    area = forms.Textarea(attrs={"rows": rows})
    return forms.CharField(
        label=label, max_length=TEXT_CHARS, required=need, help_text=hint, widget=area
    )


def _date(label: Words, *, need: bool = False, hint: Words = "") -> Any:
    picker = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    return forms.DateField(label=label, required=need, help_text=hint, widget=picker)


# ── People ───────────────────────────────────────────────────────────────────
class _CommonNameForm(forms.Form):
    """A form that asks to confirm a name that is an ordinary word."""

    sure = forms.BooleanField(
        label=gettext_lazy("Add it all the same"),
        required=False,
        help_text=gettext_lazy(
            "It is looked for in links and fields that say who, and in no text."
        ),
    )
    needs_confirmation = False

    def _confirm_if_common(self, name: str, kind: str) -> None:
        value = self.cleaned_data.get(name, "")
        if common_words.is_common(kind, value) and not self.cleaned_data.get("sure"):
            self.needs_confirmation = True
            message = gettext(
                "This is an ordinary word, or too short to mean one person."
            )
            self.add_error(name, message)


class PersonForm(_CommonNameForm):
    display_name = _text(
        gettext_lazy("Name"), NAME_CHARS, hint=gettext_lazy("As people write it.")
    )
    email = _text(gettext_lazy("E-mail"), VALUE_CHARS)
    user_id = _text(gettext_lazy("User id"), VALUE_CHARS)
    phone = _text(gettext_lazy("Phone"), VALUE_CHARS)
    handle = _text(gettext_lazy("Handle"), VALUE_CHARS)

    def clean(self) -> dict[str, Any]:
        """Ask to confirm a name that is an ordinary word."""
        data: dict[str, Any] = super().clean() or {}
        for name in ("display_name", *ALIAS_FIELDS):
            if data.get(name, "").strip():
                kind = "name" if name == "display_name" else name
                self._confirm_if_common(name, kind)
        return data

    def aliases(self) -> list[NewAlias]:
        """Return the aliases that were filled in, the display name among them."""
        data = self.cleaned_data
        aliases = [
            NewAlias(kind, data[kind]) for kind in ALIAS_FIELDS if data[kind].strip()
        ]
        name = data["display_name"].strip()
        return [NewAlias("name", name), *aliases] if name else aliases

    @property
    def people(self) -> list[forms.BoundField]:
        """The fields of names, and the confirmation when it is needed."""
        names = ["display_name", *ALIAS_FIELDS]
        if self.needs_confirmation:
            names.append("sure")
        return [self[name] for name in names]

    @property
    def names_somebody(self) -> bool:
        """Whether any name was filled in."""
        return any(str(self.data.get(field.html_name, "")) for field in self.people)


class AliasForm(_CommonNameForm):
    kind = forms.ChoiceField(label=gettext_lazy("Kind"), choices=AliasKind.choices)
    value = _text(gettext_lazy("What they are called"), VALUE_CHARS, need=True)

    def clean(self) -> dict[str, Any]:
        """Ask to confirm a name that is an ordinary word."""
        data: dict[str, Any] = super().clean() or {}
        if "kind" in data and "value" in data:
            self._confirm_if_common("value", data["kind"])
        return data


class ConsentForm(forms.Form):
    """A person's consent to being remembered."""

    consent = forms.ChoiceField(label=gettext_lazy("Consent"), choices=Consent.choices)
    opted_out = forms.BooleanField(
        label=gettext_lazy("Opted out"),
        required=False,
        help_text=gettext_lazy("Nothing that names them is written any more."),
    )
    note = _text(gettext_lazy("Note"), 400)


class MergeForm(forms.Form):
    """Into which subject another is merged."""

    into = _text(
        pgettext_lazy("merge", "Into"),
        VALUE_CHARS,
        need=True,
        hint=gettext_lazy("The id or an alias of the one who stays."),
    )


# ── Cases ────────────────────────────────────────────────────────────────────
class NewCaseForm(PersonForm):
    """A request as it was received, and the person it is about."""

    kind = forms.ChoiceField(
        label=gettext_lazy("What they ask for"),
        choices=CaseKind.choices,
        initial="erasure",
    )
    who = _text(
        gettext_lazy("About whom"),
        VALUE_CHARS,
        hint=gettext_lazy("An e-mail, a user id, a name, or a subject's id."),
    )
    reason = _text_area(
        gettext_lazy("Reason"),
        hint=gettext_lazy("The ground, such as: consent withdrawn, Article 17(1)(b)."),
        rows=2,
    )
    received_on = _date(
        gettext_lazy("Received on"),
        hint=gettext_lazy("The deadline counts from here. Empty is today."),
    )
    requester = _text(
        gettext_lazy("Who asked"),
        200,
        hint=gettext_lazy("The person, or somebody for them."),
    )
    ticket = _text(gettext_lazy("Ticket"), 120)
    identity_how = _text(
        gettext_lazy("How the identity was verified"),
        400,
        hint=gettext_lazy(
            "Such as: by order number and a code sent by mail. Empty if nobody did yet."
        ),
    )
    wrong = _text(
        pgettext_lazy("correction", "What is wrong"),
        2_000,
        hint=gettext_lazy("The words as they are remembered."),
    )
    right = _text(pgettext_lazy("correction", "What is right"), 2_000)

    FIRST: Final = ("kind", "who")
    CORRECTION: Final = ("wrong", "right")
    DETAILS: Final = ("received_on", "requester", "ticket")

    @property
    def correction_fields(self) -> list[forms.BoundField]:
        """The fields of a rectification only."""
        return [self[name] for name in self.CORRECTION]

    @property
    def details(self) -> list[forms.BoundField]:
        return [self[name] for name in self.DETAILS]

    def clean(self) -> dict[str, Any]:
        """Require a person, and both halves of a correction."""
        data: dict[str, Any] = super().clean() or {}
        if not data.get("who") and not self.names_somebody:
            fault = gettext("Say whom it is about, or register them below.")
            self.add_error("who", fault)
        if data.get("kind") == CaseKind.RECTIFICATION:
            for name in self.CORRECTION:
                if not data.get(name):
                    self.add_error(name, gettext("A rectification needs this."))
        return data

    def received(self, where: ZoneInfo) -> datetime | None:
        """Return noon of the day of receipt in the workspace's calendar."""
        day: date | None = self.cleaned_data["received_on"]
        if day is None or day == timezone.now().astimezone(where).date():
            return None
        return datetime.combine(day, time(12), where)

    def correction(self) -> dict[str, str]:
        """Return what is wrong and what is right, for a rectification."""
        if self.cleaned_data["kind"] != CaseKind.RECTIFICATION:
            return {}
        return {name: self.cleaned_data[name] for name in self.CORRECTION}


class CaseFilterForm(forms.Form):
    """The filters of the list of cases; an invalid filter is ignored."""

    state = forms.ChoiceField(
        label=gettext_lazy("State"), choices=STATES, required=False
    )
    kind = forms.ChoiceField(
        label=gettext_lazy("Kind"), choices=(ANY, *CaseKind.choices), required=False
    )
    due = forms.ChoiceField(
        label=gettext_lazy("Deadline"), choices=DUES, required=False
    )
    assignee = forms.ChoiceField(label=gettext_lazy("Assigned to"), required=False)

    def __init__(self, data: Any, *, people: list[str]) -> None:
        super().__init__(data, auto_id="f-%s")
        pages.offer(self, "assignee", [ANY, *((person, person) for person in people)])

    def filter_value(self, name: str, default: str = "") -> str:
        """Return the value of a filter, ``default`` when it is empty or invalid."""
        self.is_valid()
        return str(self.cleaned_data.get(name) or default)

    def query(self) -> CaseQuery:
        """Return the filters; without a state or a deadline, the open cases."""
        due = self.filter_value("due")
        return CaseQuery(
            state=self.filter_value("state", "" if due else "open"),
            kind=self.filter_value("kind"),
            due=due,
            assignee=self.filter_value("assignee"),
        )


class ReasonForm(forms.Form):
    reason = _text_area(gettext_lazy("Reason"), rows=2)


class ExtendForm(ReasonForm):
    """By how many months to extend a deadline, and why."""

    months = forms.TypedChoiceField(choices=(("1", "1"), ("2", "2")), coerce=int)


class AttachForm(forms.Form):
    """A document, of which only name, SHA-256 and size are stored."""

    file = forms.FileField(
        label=gettext_lazy("Document"),
        help_text=gettext_lazy("Its SHA-256 is kept. The file itself is not."),
    )

    def clean(self) -> dict[str, Any]:
        """Add the ``name``, the ``sha256`` and the ``size`` of the file."""
        data: dict[str, Any] = super().clean() or {}
        file: UploadedFile[Any] | None = data.get("file")
        if file:
            digest = hashlib.sha256()
            for chunk in file.chunks():
                digest.update(chunk)
            data["name"] = str(file.name)
            data["sha256"] = digest.hexdigest()
            data["size"] = int(file.size or 0)
        return data


# ── Holds, the audit log, settings ──────────────────────────────────────────────
class HoldForm(forms.Form):
    """A legal hold on a person's data."""

    reason = _text_area(gettext_lazy("Reason"), rows=2)
    review_on = _date(
        gettext_lazy("Review on"),
        need=True,
        hint=gettext_lazy("A hold without an end is no hold."),
    )
    scope = forms.ChoiceField(label=gettext_lazy("Covers"))
    ground = _text(gettext_lazy("Legal ground"), 200)

    def __init__(self, data: Any = None, *, places: list[tuple[str, str]]) -> None:
        super().__init__(data, auto_id="hold-%s")
        pages.offer(self, "scope", [("all", gettext("Everything")), *places])

    def review_at(self, where: ZoneInfo) -> datetime:
        """Return 09:00 of the day of review."""
        return datetime.combine(self.cleaned_data["review_on"], time(9), where)
