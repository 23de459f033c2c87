"""A form for each setting, built from its declaration; the service validates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django import forms
from django.utils.translation import gettext, gettext_lazy, ngettext

from memory import figures
from memory.rules.settings import TEXT_CHARS
from memory.workspace_settings import Kind, Setting, State

ON_OFF: Final = (("on", gettext_lazy("on")), ("off", gettext_lazy("off")))


def _integer(setting: Setting[Any]) -> forms.Field:
    minimum, maximum = setting.least, setting.most
    return forms.IntegerField(
        min_value=None if minimum is None else int(minimum),
        max_value=None if maximum is None else int(maximum),
    )


def _text(setting: Setting[Any], widget: forms.Widget | None = None) -> forms.Field:
    return forms.CharField(max_length=int(setting.most or TEXT_CHARS), widget=widget)


FIELDS: Final[dict[Kind, Callable[[Setting[Any]], forms.Field]]] = {
    Kind.SWITCH: lambda _: forms.TypedChoiceField(
        choices=ON_OFF, coerce=lambda text: text == "on"
    ),
    Kind.CHOICE: lambda setting: forms.ChoiceField(
        choices=[(key, gettext(text)) for key, text in setting.choices().items()]
    ),
    Kind.INTEGER: _integer,
    Kind.NUMBER: lambda setting: forms.FloatField(
        min_value=setting.least,
        max_value=setting.most,
        widget=forms.NumberInput({"step": "any"}),
    ),
    Kind.TEXT: _text,
    Kind.ADDRESS: lambda setting: _text(
        setting, forms.URLInput({"placeholder": gettext("https://memory.example.com")})
    ),
    Kind.SECRET: lambda _: forms.CharField(
        max_length=TEXT_CHARS,
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
    ),
}


def display_value(setting: Setting[Any], value: Any) -> str:
    """Return a value as people read it."""
    if setting.kind is Kind.SWITCH:
        return gettext("on") if value else gettext("off")
    if setting.kind is Kind.CHOICE:
        return gettext(setting.choices().get(value, value))
    if setting.kind is Kind.TABLE:
        lines = ", ".join(f"{name}: {text}" for name, text in value.items())
        return lines or gettext("none")
    if value in ("", None):
        return gettext("none")
    return _with_unit(value, setting.unit)


def _with_unit(value: Any, unit: str) -> str:
    is_float = isinstance(value, float)
    text = figures.formatted(value, ",.15g") if is_float else str(value)
    number = 1 if value == 1 else 2
    if unit == "days":
        return ngettext("{count} day", "{count} days", number).format(count=text)
    if unit == "US dollars":
        words = ngettext("{count} US dollar", "{count} US dollars", number)
        return words.format(count=text)
    return f"{text} {unit}".strip()


class SettingForm(forms.Form):
    """One setting's value, and the version of the settings that the page showed."""

    version = forms.IntegerField(widget=forms.HiddenInput, min_value=0)

    def __init__(self, state: State, version: int, data: Any = None) -> None:
        setting = state.setting
        start = None if setting.is_secret else state.value
        if setting.kind is Kind.SWITCH:
            start = "on" if state.value else "off"
        super().__init__(
            data,
            auto_id=f"{setting.name}-%s",
            initial={"value": start, "version": version},
        )
        field = FIELDS[setting.kind](setting)
        field.label = gettext(setting.label)
        self.fields["value"] = field
