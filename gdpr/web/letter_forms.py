"""The forms of letters: address, draft, texts to start from."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy, pgettext_lazy

from gdpr.cases import correspondence
from gdpr.cases.correspondence import Address
from gdpr.letters import templates
from gdpr.models import LetterOccasion
from gdpr.web import letter_words
from memory.web import pages


def _body(label: Any, rows: int) -> forms.CharField:
    area = forms.Textarea(
        attrs={"rows": rows, "class": "letter-body", "translate": "no"}
    )
    return forms.CharField(label=label, max_length=templates.BODY_CHARS, widget=area)


class AddressForm(forms.Form):
    """Whom to answer, where, and in which language."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=correspondence.NAME_CHARS,
        required=False,
        help_text=gettext_lazy("As the letter addresses the person."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    email = forms.CharField(
        label=gettext_lazy("E-mail"),
        max_length=254,
        required=False,
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    post = forms.CharField(
        label=gettext_lazy("Postal address"),
        max_length=correspondence.POST_CHARS,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    language = forms.CharField(
        label=gettext_lazy("Language of the answer"),
        max_length=correspondence.LANGUAGE_CHARS,
        required=False,
        help_text=gettext_lazy("A code such as en, de or pt-BR."),
        widget=forms.TextInput(attrs={"list": "letter-languages"}),
    )

    def address(self) -> Address:
        return Address(**self.cleaned_data)


class LetterForm(forms.Form):
    """A letter as the officer words it."""

    subject = forms.CharField(
        label=pgettext_lazy("letter", "Subject"), max_length=templates.SUBJECT_CHARS
    )
    body = _body(pgettext_lazy("letter", "Text"), 22)
    repeat = forms.BooleanField(
        label=gettext_lazy("Keep it although one for this occasion was sent"),
        required=False,
    )


class LetterTextForm(forms.Form):
    """A text of the workspace's own, with placeholders."""

    subject = forms.CharField(
        label=pgettext_lazy("letter", "Subject"), max_length=templates.SUBJECT_CHARS
    )
    body = _body(pgettext_lazy("letter", "Text"), 22)


class LetterTextFilter(forms.Form):
    """The language whose texts are shown."""

    language = forms.CharField(
        label=gettext_lazy("Language"),
        max_length=correspondence.LANGUAGE_CHARS,
        required=False,
        help_text=gettext_lazy(
            "A code such as en, de or pt-BR. Another one can be added."
        ),
        widget=forms.TextInput(
            attrs={"list": "letter-languages", "autocomplete": "off"}
        ),
    )


class DraftChoice(forms.Form):
    """Which letter to draft."""

    occasion = forms.ChoiceField(label=gettext_lazy("What it tells"))
    language = forms.ChoiceField(label=gettext_lazy("Language"), required=False)

    def __init__(
        self,
        data: object = None,
        *,
        occasions: list[LetterOccasion],
        languages: list[str],
        initial: dict[str, str] | None = None,
    ) -> None:
        super().__init__(data, auto_id="draft-%s", initial=initial)  # type: ignore[arg-type]
        pages.offer(self, "occasion", [(row.value, row.label) for row in occasions])
        pages.offer(self, "language", letter_words.language_choices(languages))
