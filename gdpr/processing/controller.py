"""Who answers for the processing: settings of the workspace (Article 30(1)(a))."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext_noop

from gdpr.cases import privacy_settings
from memory import workspace_settings
from memory.rules.permissions import Actor
from memory.workspace_settings import Kind, Setting

PAGE: Final = "privacy:processing"
CHARS: Final = 500


@dataclass(frozen=True, slots=True)
class Controller:
    """Name and contact of the controller, and what else an answer to a person needs."""

    controller: str
    controller_contact: str
    dpo_contact: str
    supervisory_authority: str = ""
    automated_decisions: str = ""
    third_countries: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether the controller is named and can be reached."""
        return bool(self.controller and self.controller_contact)

    @property
    def reply_to(self) -> list[str]:
        """Where answers to mails go: the contact where it is an e-mail address."""
        try:
            validate_email(self.controller_contact)
        except ValidationError:
            return []
        return [self.controller_contact]


def _setting(name: str, label: str, help_: str) -> Setting[str]:
    return Setting(
        name=name,
        group=privacy_settings.GROUP,
        label=label,
        help=help_,
        readers=gettext_noop("The record of processing, and answers to people."),
        kind=Kind.TEXT,
        default="",
        most=CHARS,
        may=privacy_settings.MAY,
        page=PAGE,
    )


SETTINGS: Final = (
    _setting(
        "controller",
        gettext_noop("Controller"),
        gettext_noop("The name of the organisation that decides on the processing."),
    ),
    _setting(
        "controller_contact",
        gettext_noop("Contact of the controller"),
        gettext_noop("Address, e-mail or telephone number."),
    ),
    _setting(
        "dpo_contact",
        gettext_noop("Data protection officer"),
        gettext_noop("Name and contact, where there is one."),
    ),
    _setting(
        "supervisory_authority",
        gettext_noop("Supervisory authority"),
        gettext_noop("Where people may complain: name and address."),
    ),
    _setting(
        "automated_decisions",
        gettext_noop("Decisions by programs alone"),
        gettext_noop(
            "Whether agents decide about people without a person, and by which logic"
            " (Article 22)."
        ),
    ),
    _setting(
        "third_countries",
        gettext_noop("Countries outside the European Economic Area"),
        gettext_noop("Whether data goes there, and what protects it (Article 46)."),
    ),
)


def declare() -> None:
    """Declare the settings at start-up, after those of the workspace's requests."""
    for setting in SETTINGS:
        workspace_settings.declare(setting)


def of(workspace_id: str) -> Controller:
    states = workspace_settings.states(workspace_id, SETTINGS)
    return Controller(**{name: str(state.value) for name, state in states.items()})


def change(values: dict[str, str], *, by: Actor) -> Controller:
    """Change who answers, "" for nobody; an admin's act, which the journal records."""
    by.require(privacy_settings.MAY)
    new_values = {name: value or None for name, value in values.items()}
    workspace_settings.change(new_values, by=by)
    return of(by.workspace_id)
