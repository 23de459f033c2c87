"""The forms of the memory gateway's page; the services validate the rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django import forms

from memory.integrations.gateway import config
from memory.integrations.gateway import settings as gateway_settings
from memory.integrations.gateway.config import ConfigError, Mode, Scope
from memory.models import Agent, GatewaySetup
from memory.web import pages
from memory.web.workspace_forms import KeyForm, agent_choices

MODES: Final = (
    (Mode.CURATED.value, "Curated: the agent's files alone"),
    (Mode.MEMORY_GATEWAY.value, "Memory gateway: search before, add after"),
    (Mode.HYBRID.value, "Hybrid: the files, and a gateway"),
)
SCOPES: Final = (
    (Scope.CURRENT_CHAT.value, "The current chat"),
    (Scope.RESOURCES.value, "Resources"),
    (Scope.ALL_USER_MEMORY.value, "All memory of the user"),
)
ALL_AGENTS: Final = ("", "Every agent without its own")


class UserKeyForm(KeyForm):
    """A key for one user of one agent's memory."""

    agent = forms.ChoiceField(label="Agent", help_text="Whose memory it opens.")
    user_id = forms.CharField(
        label="User", max_length=128, help_text="Letters, digits and . _ @ + -"
    )
    app_id = forms.CharField(
        label="App", max_length=128, required=False, help_text="Empty: any app."
    )
    project_id = forms.CharField(
        label="Project", max_length=128, required=False, help_text="Empty: any project."
    )
    field_order = (
        "agent", "user_id", "app_id", "project_id", "name", "scopes", "expires_on",
    )  # fmt: skip

    def __init__(self, *args: Any, agents: Sequence[Agent], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        pages.offer(self, "agent", agent_choices(agents))


class SetupForm(forms.Form):
    """The source of memory for turns."""

    agent = forms.ChoiceField(label="For", required=False)
    mode = forms.ChoiceField(label="Memory", choices=MODES)
    base_url = forms.CharField(
        label="Gateway's address",
        max_length=config.URL_CHARS,
        required=False,
        widget=forms.URLInput(attrs={"placeholder": "https://memory.example.com"}),
    )
    user_id = forms.CharField(label="User", max_length=128, required=False)
    user_key = forms.CharField(
        label="User key",
        max_length=config.URL_CHARS,
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="Stored sealed, never shown. Empty: keep it, at the same address.",
    )
    app_id = forms.CharField(label="App", max_length=128, initial="default")
    project_id = forms.CharField(label="Project", max_length=128, initial="default")
    scope = forms.MultipleChoiceField(
        label="Searches",
        choices=SCOPES,
        required=False,
        initial=[scope.value for scope in config.FIRST_SCOPES],
        widget=forms.CheckboxSelectMultiple,
    )
    top_k = forms.IntegerField(
        label="At most", min_value=1, max_value=config.MAX_TOP_K, initial=8,
        help_text="Memories for one turn.",
    )  # fmt: skip
    timeout_seconds = forms.FloatField(
        label="Waits", min_value=0.1, initial=10,
        max_value=gateway_settings.MAX_SECONDS,
        help_text="Seconds for one call.",
    )  # fmt: skip

    def __init__(self, *args: Any, agents: Sequence[Agent], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        pages.offer(self, "agent", [ALL_AGENTS, *agent_choices(agents)])

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
        self.add_error(self.SETTINGS.get(name), f"This {fault['message']}.")


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
