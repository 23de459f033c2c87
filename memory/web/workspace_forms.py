"""The forms of the workspace pages; the services validate the rules."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, time
from typing import Any, Final

from django import forms
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy

from memory.models import Agent, Crew, Membership
from memory.models.tenancy import SLUG
from memory.rules import end_users
from memory.rules.permissions import PERSON_ROLES, AgentRole, KeyScope, Role
from memory.web import pages
from memory.web.agent_field import AgentField, offer_agents

SLUG_HINT: Final = gettext_lazy("Lower-case letters, digits and dashes.")
AGENT_ROLES: Final = (
    (AgentRole.AGENT.value, gettext_lazy("Agent")),
    (AgentRole.LEAD.value, gettext_lazy("Lead, recalls for the crew")),
)
NEIGHBOUR_CHOICES: Final = (
    ("0", gettext_lazy("Off")),
    ("1", gettext_lazy("Also entries related to a hit")),
)
SCOPES: Final = (
    (KeyScope.READ.value, pgettext_lazy("key", "Read")),
    (KeyScope.WRITE.value, pgettext_lazy("key", "Write")),
)
ROLE_NAMES: Final = {
    Role.VIEWER: gettext_lazy("Viewer"),
    Role.OPERATOR: gettext_lazy("Operator"),
    Role.COMPLIANCE: gettext_lazy("Compliance"),
    Role.ADMIN: gettext_lazy("Admin"),
}
ROLES: Final = tuple((role.value, ROLE_NAMES[role]) for role in PERSON_ROLES)


def agent_choices(agents: Sequence[Agent]) -> list[tuple[str, str]]:
    return [(agent.id, f"{agent.slug} · {agent.crew.slug}") for agent in agents]


class CrewForm(forms.Form):
    slug = forms.CharField(
        label=gettext_lazy("Crew"),
        max_length=64,
        validators=[SLUG],
        help_text=SLUG_HINT,
    )
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=120,
        required=False,
        help_text=gettext_lazy("For people. Optional."),
    )


class AgentForm(forms.Form):
    """A new agent in one of the workspace's crews."""

    crew = forms.ChoiceField(label=gettext_lazy("Crew"))
    slug = forms.CharField(
        label=gettext_lazy("Agent"),
        max_length=64,
        validators=[SLUG],
        help_text=SLUG_HINT,
    )
    role = forms.ChoiceField(label=gettext_lazy("Role"), choices=AGENT_ROLES)
    walk_depth = forms.TypedChoiceField(
        label=gettext_lazy("Neighbours"), choices=NEIGHBOUR_CHOICES, coerce=int
    )

    def __init__(self, *args: Any, crews: Sequence[Crew], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        pages.offer(self, "crew", [(crew.id, crew.slug) for crew in crews])


class AgentChange(forms.Form):
    """Another role or depth of neighbours for an agent."""

    role = forms.ChoiceField(choices=AGENT_ROLES)
    walk_depth = forms.TypedChoiceField(choices=NEIGHBOUR_CHOICES, coerce=int)


class KeyForm(forms.Form):
    """The fields of both kinds of key: name, scopes, expiry."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=120,
        required=False,
        help_text=gettext_lazy("Where the key is used. Optional."),
    )
    scopes = forms.MultipleChoiceField(
        label=pgettext_lazy("key", "May"),
        choices=SCOPES,
        initial=[KeyScope.READ.value, KeyScope.WRITE.value],
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("Within what the role allows."),
    )
    expires_on = forms.DateField(
        label=gettext_lazy("Expires on"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text=gettext_lazy(
            "Works until the end of that day, UTC. Empty: until revoked."
        ),
    )

    def clean_expires_on(self) -> datetime | None:
        """Return the last second of the day, in UTC."""
        day = self.cleaned_data["expires_on"]
        if day is None:
            return None
        moment = datetime.combine(day, time(23, 59, 59), tzinfo=UTC)
        if moment <= timezone.now():
            raise forms.ValidationError(gettext("That day is over."))
        return moment

    @property
    def chosen_scopes(self) -> tuple[KeyScope, ...]:
        """Return the scopes for the service; all of them selected means no limit."""
        scopes = tuple(KeyScope(value) for value in self.cleaned_data["scopes"])
        return () if len(scopes) == len(SCOPES) else scopes


class AgentKeyForm(KeyForm):
    agent = AgentField(
        label=gettext_lazy("Agent"), empty=gettext_lazy("Type a name"), required=True
    )
    end_user = forms.CharField(
        label=gettext_lazy("For one end user"),
        max_length=end_users.CHARS,
        required=False,
        help_text=gettext_lazy(
            "Their id at the agent. Such a key opens the memory tools for that "
            "user and nothing else. Empty: the whole agent."
        ),
    )
    field_order = ("agent", "end_user", "name", "scopes", "expires_on")

    def __init__(self, *args: Any, agents: Sequence[Agent], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_agents(self, agents)


class OperatorKeyForm(KeyForm):
    """A key for a program that acts as a person."""

    member = forms.ChoiceField(label=gettext_lazy("Person"))
    role = forms.ChoiceField(
        label=gettext_lazy("Role"),
        choices=ROLES,
        initial=Role.OPERATOR.value,
        help_text=gettext_lazy("Never more than the person has on the day it is used."),
    )
    field_order = ("member", "role", "name", "scopes", "expires_on")

    def __init__(
        self, *args: Any, members: Sequence[Membership], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        choices = [(member.id, member.user.email) for member in members]
        pages.offer(self, "member", choices)


class InviteForm(forms.Form):
    email = forms.EmailField(
        label=gettext_lazy("E-mail"),
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    role = forms.ChoiceField(
        label=gettext_lazy("Role"), choices=ROLES, initial=Role.VIEWER.value
    )


class RoleForm(forms.Form):
    """Another role for a member."""

    role = forms.ChoiceField(choices=ROLES)
