"""Sentences of accounts, keys and what members set up."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_noop

from gdpr.export.readable.kinds import Kind

KINDS: Final[dict[str, Kind]] = {
    "logins": Kind(
        messages=(
            gettext_noop("Since {when} you have an account here, with {email}."),
        ),
        at="date_joined",
    ),
    "logins:membership": Kind(
        messages=(
            gettext_noop(
                "Since {when} your account is a member of this workspace, with the"
                " role {role_word}."
            ),
        ),
        at="created_at",
    ),
    "logins:invitation": Kind(
        messages=(
            gettext_noop("On {when} {invited_by} invited {email} to this workspace."),
        ),
        at="created_at",
    ),
    "logins:emailaddress": Kind(
        messages=(gettext_noop("Your account has the e-mail address {email}."),),
    ),
    "sessions": Kind(
        messages=(
            gettext_noop(
                "A browser session names you or your account; it is valid until"
                " {expires_at} at most."
            ),
        ),
    ),
    "keys": Kind(
        messages=(
            gettext_noop(
                "On {when} {created_by} made the key {name}, with which a program acts"
                " for the agent {agent}."
            ),
            gettext_noop("On {when} {created_by} made the key {name} for an agent."),
        ),
        at="created_at",
    ),
    "keys:operatorkey": Kind(
        messages=(
            gettext_noop(
                "On {when} {created_by} made the key {name}, with which a program acts"
                " for a member."
            ),
        ),
        at="created_at",
    ),
    "gateway": Kind(
        messages=(
            gettext_noop(
                "On {when} {created_by} made a key of the memory gateway for the user"
                " {user_id}."
            ),
        ),
        at="created_at",
    ),
    "gateway:gatewaysetup": Kind(
        messages=(
            gettext_noop(
                "On {when} {updated_by} set up a connection to another memory service."
            ),
        ),
        at="updated_at",
    ),
    "webhooks": Kind(
        messages=(
            gettext_noop(
                "On {when} {created_by} set up that events are sent to {url}."
            ),
        ),
        at="created_at",
    ),
    "filters": Kind(
        messages=(gettext_noop("On {when} a member saved the view {name}."),),
        at="made_at",
    ),
    "tenancy": Kind(
        messages=(gettext_noop("The workspace, set up on {when}, is called {name}."),),
        at="created_at",
    ),
    "tenancy:workspacesetting": Kind(
        messages=(
            gettext_noop("On {when} {changed_by} changed a setting of the workspace."),
        ),
        at="changed_at",
        machine=frozenset({"name"}),
    ),
    "tenancy:crew": Kind(
        messages=(gettext_noop("A crew, set up on {when}, is called {name}."),),
        at="created_at",
    ),
    "tenancy:agent": Kind(
        messages=(gettext_noop("An agent, set up on {when}, is called {name}."),),
        at="created_at",
    ),
    "jobs": Kind(
        messages=(
            gettext_noop("On {when} {asked_by} had a task of the program run."),
            gettext_noop("On {when} a task of the program ran."),
        ),
        at="started_at",
        machine=frozenset({"counts", "items", "name"}),
    ),
    "providers": Kind(
        messages=(
            gettext_noop("On {when} {started_by} had a memory service tested."),
            gettext_noop("On {when} a memory service was tested."),
        ),
        at="started_at",
    ),
    "providers:providerpulse": Kind(
        messages=(
            gettext_noop(
                "On {when} the program looked whether a memory service answers."
            ),
        ),
        at="checked_at",
    ),
    "admin_log": Kind(
        messages=(
            gettext_noop(
                "On {when} an administrator changed a row of the database by hand:"
            ),
        ),
        at="action_time",
        quotes=("object_repr",),
    ),
}
