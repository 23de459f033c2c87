"""Forms of recipients: one added by hand, an address, the days of an answer."""

from __future__ import annotations

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy

from gdpr.recipients import actions, contacts


class ContactForm(forms.Form):
    """Where notices to a recipient go."""

    name = forms.CharField(
        label=gettext_lazy("Host or name of the recipient"),
        max_length=contacts.NAME_CHARS,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    email = forms.EmailField(
        label=gettext_lazy("E-mail for notices"),
        max_length=contacts.EMAIL_CHARS,
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language of the notice"),
        choices=settings.LANGUAGES,
        # Each is called as it calls itself.
        widget=forms.Select(attrs={"translate": "no"}),
    )


class RecipientForm(ContactForm):
    """A recipient whom the program cannot know."""

    field_order = ("name", "received", "email", "language")
    received = forms.CharField(
        label=gettext_lazy("What it received"),
        max_length=actions.RECEIVED_CHARS,
        required=False,
        help_text=gettext_lazy(
            "What identifies the data at their side, such as a customer number. It is"
            " in the notice, so name nobody."
        ),
    )

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["email"].required = False


class AnswerDaysForm(forms.Form):
    """How long an answer may take."""

    days = forms.IntegerField(
        label=gettext_lazy("Days in which a recipient answers a notice"),
        min_value=1,
        max_value=contacts.MAX_ANSWER_DAYS,
        help_text=gettext_lazy(
            "An answer that is still missing then is shown as overdue."
        ),
    )
