"""The forms of the memory gateway's page; the services validate the rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django import forms
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy

from memory.integrations.gateway import config
from memory.integrations.gateway import settings as gateway_settings
from memory.integrations.gateway.config import ConfigError, Mode, Scope
from memory.models import Agent, GatewaySetup
from memory.web.agent_field import AgentField, offer_agents
from memory.web.workspace_forms import KeyForm

MODES: Final = (
    (Mode.CURATED.value, gettext_lazy("Curated: the agent's files alone")),
    (
        Mode.MEMORY_GATEWAY.value,
        gettext_lazy("Memory gateway: search before, add after"),
    ),
    (Mode.HYBRID.value, gettext_lazy("Hybrid: the files, and a gateway")),
)
SCOPES: Final = (
    (Scope.CURRENT_CHAT.value, gettext_lazy("The current chat")),
    (Scope.RESOURCES.value, gettext_lazy("Resources")),
    (Scope.ALL_USER_MEMORY.value, gettext_lazy("All memory of the user")),
)
ALL_AGENTS: Final = gettext_lazy("Every agent without its own")


class UserKeyForm(KeyForm):
    """A key for one user of one agent's memory."""

    agent = AgentField(
        label=gettext_lazy("Agent"),
        empty=gettext_lazy("Type a name"),
        required=True,
        help_text=gettext_lazy("Whose memory it opens."),
    )
    user_id = forms.CharField(
        label=gettext_lazy("User"),
        max_length=128,
        help_text=gettext_lazy("Letters, digits and . _ @ + -"),
    )
    app_id = forms.CharField(
        label=gettext_lazy("App"),
        max_length=128,
        required=False,
        help_text=gettext_lazy("Empty: any app."),
    )
    project_id = forms.CharField(
        label=gettext_lazy("Project"),
        max_length=128,
        required=False,
        help_text=gettext_lazy("Empty: any project."),
    )
    field_order = (
        "agent", "user_id", "app_id", "project_id", "name", "scopes", "expires_on",
    )  # fmt: skip

    def __init__(self, *args: Any, agents: Sequence[Agent], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_agents(self, agents)


class SetupForm(forms.Form):
    """The source of memory for turns."""

    agent = AgentField(label=pgettext_lazy("memory gateway", "For"), empty=ALL_AGENTS)
    mode = forms.ChoiceField(label=gettext_lazy("Memory"), choices=MODES)
    base_url = forms.CharField(
        label=gettext_lazy("Gateway's address"),
        max_length=config.URL_CHARS,
        required=False,
        widget=forms.URLInput(
            attrs={"placeholder": gettext_lazy("https://memory.example.com")}
        ),
    )
    user_id = forms.CharField(
        label=gettext_lazy("User"), max_length=128, required=False
    )
    user_key = forms.CharField(
        label=gettext_lazy("User key"),
        max_length=config.URL_CHARS,
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy(
            "Stored sealed, never shown. Empty: keep it, at the same address."
        ),
    )
    app_id = forms.CharField(
        label=gettext_lazy("App"), max_length=128, initial="default"
    )
    project_id = forms.CharField(
        label=gettext_lazy("Project"), max_length=128, initial="default"
    )
    scope = forms.MultipleChoiceField(
        label=pgettext_lazy("memory gateway", "Searches"),
        choices=SCOPES,
        required=False,
        initial=[scope.value for scope in config.FIRST_SCOPES],
        widget=forms.CheckboxSelectMultiple,
    )
    top_k = forms.IntegerField(
        label=pgettext_lazy("memory gateway", "At most"),
        min_value=1, max_value=config.MAX_TOP_K, initial=8,
        help_text=gettext_lazy("Memories for one turn."),
    )  # fmt: skip
    timeout_seconds = forms.FloatField(
        label=pgettext_lazy("memory gateway", "Waits"), min_value=0.1, initial=10,
        max_value=gateway_settings.MAX_SECONDS,
        help_text=gettext_lazy("Seconds for one call."),
    )  # fmt: skip

    def __init__(self, *args: Any, agents: Sequence[Agent], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_agents(self, agents)

    # Names in a configuration file, each with its field.
    SETTINGS = {
        "baseUrl": "base_url",
        "userId": "user_id",
        "userKey": "user_key",
        "appId": "app_id",
        "projectId": "project_id",
        "scope": "scope",
        "topK": "top_k",
        "timeoutSeconds": "timeout_seconds",
    }

    @property
    def section(self) -> dict[str, Any]:
        """The input as a section of a configuration file."""
        fields = self.cleaned_data
        gateway = {name: fields[field] for name, field in self.SETTINGS.items()}
        if not gateway["userKey"]:
            del gateway["userKey"]
        return {"mode": fields["mode"], "gateway": gateway}

    def show_error(self, error: ConfigError) -> None:
        """Show the error of a setting next to its field."""
        fault = error.fields["errors"][0]  # type: ignore[index]
        name = fault["field"].rpartition(".")[2]
        self.add_error(
            self.SETTINGS.get(name),
            gettext("This {fault}.").format(fault=fault["message"]),
        )


def initial_of(row: GatewaySetup) -> dict[str, Any]:
    """Return a set-up as the form's initial values, without its key."""
    fields = {
        name: getattr(row, name)
        for name in ("mode", "base_url", "user_id", "top_k", "timeout_seconds")
    }
    tenancy = {
        name: getattr(row, name) or "default" for name in ("app_id", "project_id")
    }
    scope = row.scope or [default_scope.value for default_scope in config.FIRST_SCOPES]
    return {**fields, **tenancy, "scope": scope, "agent": row.agent_id or ""}
