"""The forms of the audit log and of the workspace's privacy settings."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy

from gdpr.cases import deadlines
from gdpr.cases.transitions import TEXT_CHARS
from gdpr.models import ActionKind, ActionStatus
from gdpr.web.forms import ANY
from memory.accounts import mail


class AuditLogForm(forms.Form):
    subject_id = forms.CharField(
        label=gettext_lazy("Subject"), max_length=32, required=False
    )
    case_id = forms.CharField(label=gettext_lazy("Case"), max_length=32, required=False)
    action = forms.ChoiceField(
        label=gettext_lazy("Act"), choices=(ANY, *ActionKind.choices), required=False
    )
    status = forms.ChoiceField(
        label=gettext_lazy("Ended"),
        choices=(ANY, *ActionStatus.choices),
        required=False,
    )


class SettingsForm(forms.Form):
    """How the workspace handles requests."""

    two_person = forms.BooleanField(
        label=gettext_lazy("A second person approves every plan"),
        required=False,
        help_text=gettext_lazy("Whoever opened or planned a case cannot approve it."),
    )
    allow_break_glass = forms.BooleanField(
        label=gettext_lazy("Allow to go on without the second person, with a reason"),
        required=False,
        help_text=gettext_lazy(
            "Raises an alarm in the journal, and the certificate says so."
        ),
    )
    require_identity = forms.BooleanField(
        label=gettext_lazy("Verify the person's identity before a plan is made"),
        required=False,
        help_text=gettext_lazy(
            "An erasure may go on without, on a ground that the certificate names."
        ),
    )
    reason = forms.CharField(
        label=gettext_lazy("Why a safeguard is switched off"),
        required=False,
        max_length=TEXT_CHARS,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=gettext_lazy(
            "Needed to switch off the second person or the identity check. It goes into"
            " the audit log and the journal."
        ),
    )
    digest = forms.BooleanField(
        label=gettext_lazy("Mail a digest of pressing cases once a day"),
        required=False,
        help_text=gettext_lazy(
            "To compliance officers and admins. It names no person."
        ),
    )
    intake = forms.BooleanField(
        label=gettext_lazy("People may send requests by a form"),
        required=False,
        help_text=gettext_lazy(
            "A public page of this workspace. A request becomes a case once its sender"
            " opened a mailed link. Needs a mail server."
        ),
    )
    time_zone = forms.CharField(
        label=gettext_lazy("Time zone"),
        max_length=64,
        help_text=gettext_lazy("Deadlines follow its calendar."),
    )
    export_days = forms.IntegerField(
        label=gettext_lazy("Days an export is kept"), min_value=1, max_value=90
    )
    backup_days = forms.IntegerField(
        label=gettext_lazy("Days until the last backup expires"),
        min_value=1,
        max_value=3_650,
        help_text=gettext_lazy("Certificates name the day on which it does."),
    )
    letter_days = forms.IntegerField(
        label=gettext_lazy("Days a letter is kept after it was sent"),
        min_value=1,
        max_value=3_650,
        help_text=gettext_lazy(
            "As proof that a request was answered. Holds for letters sent from now on."
        ),
    )

    def clean_time_zone(self) -> str:
        """Refuse a name that is no time zone."""
        name: str = self.cleaned_data["time_zone"]
        if deadlines.zone(name) is None:
            detail = gettext(
                "There is no such time zone; use a name like Europe/Berlin."
            )
            raise forms.ValidationError(detail)
        return name

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not mail.server_set():
            note = gettext(
                "No mail server is set (CREWSHIP_EMAIL_URL), so none is sent now."
            )
            hint = self.fields["digest"].help_text
            self.fields["digest"].help_text = f"{hint} {note}"
