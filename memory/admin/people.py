"""Tenants, people, agents and their keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.http import HttpRequest

from memory.accounts import api_keys, login_links
from memory.admin import rows
from memory.models import (
    Agent,
    AgentKey,
    Crew,
    Invitation,
    Membership,
    OperatorKey,
    User,
    Workspace,
    WorkspaceSetting,
)

admin.site.site_header = "Crewship Memory · raw rows"
admin.site.site_title = "Crewship Memory"
admin.site.index_title = "Tables"
admin.site.unregister(Group)

if TYPE_CHECKING:
    Accounts = UserAdmin[User]
else:
    Accounts = UserAdmin


# ── Tenancy ──────────────────────────────────────────────────────────────────
@admin.register(User)
class UserRows(Accounts):
    """People: names, flags and passwords; memberships are given on the pages."""

    ordering = ("email",)
    list_display = ("email", "name", "is_active", "is_staff", "last_login")
    list_filter = ("is_active", "is_staff")
    search_fields = ("email", "name", "id")
    readonly_fields = ("last_login", "date_joined")
    filter_horizontal = ()
    show_full_result_count = False
    fieldsets = (
        (None, {"fields": ("email", "password", "name")}),
        ("May", {"fields": ("is_active", "is_staff", "is_superuser")}),
        ("When", {"fields": ("last_login", "date_joined")}),
    )

    def save_model(
        self,
        request: HttpRequest,
        obj: User,
        form: Any,
        change: Any,
    ) -> None:
        """Save; a changed address or status ends sessions and links."""
        if "email" in form.changed_data:
            obj.email = obj.email.strip().lower()
        super().save_model(request, obj, form, change)
        if "email" in form.changed_data:
            # The new address is not proven yet, and the old one no longer counts.
            login_links.mark_unproven(obj)
        if {"email", "is_active", "is_staff"} & set(form.changed_data):
            login_links.end_sessions(obj)

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        """People are invited under Members, or made by a command."""
        return False

    def has_delete_permission(
        self,
        request: HttpRequest,  # noqa: ARG002
        obj: Any = None,  # noqa: ARG002
    ) -> bool:
        """An account is deactivated instead: the journal still names its owner."""
        return False


@admin.register(Workspace)
class WorkspaceRows(rows.ReadOnly):
    list_display = ("slug", "name", "id", "number", "created_at")
    list_select_related = False
    search_fields = ("slug", "name", "id")


@admin.register(WorkspaceSetting)
class WorkspaceSettingRows(rows.ReadOnly):
    """Settings that admins changed; the settings page changes them."""

    list_display = ("name", "workspace", "is_set", "changed_at", "changed_by")
    list_filter = ("workspace",)
    search_fields = ("name",)
    exclude = ("sealed",)


@admin.register(Crew)
class CrewRows(rows.ReadOnly):
    list_display = ("slug", "name", "workspace", "id", "created_at")
    list_filter = ("workspace",)
    search_fields = ("slug", "name", "id")


@admin.register(Agent)
class AgentRows(rows.ReadOnly):
    list_display = ("slug", "role", "memory_walk_depth", "crew_link", "workspace", "id")
    list_filter = ("role", "workspace")
    list_select_related = ("workspace", "crew")
    search_fields = ("slug", "name", "id")
    crew_link = rows.linked("crew", "slug")


@admin.register(Membership)
class MembershipRows(rows.ReadOnly):
    """Roles of people in workspaces."""

    list_display = ("id", "user_link", "role", "workspace", "created_at")
    list_filter = ("role", "workspace")
    list_select_related = ("workspace", "user")
    search_fields = ("user__email", "id")
    user_link = rows.linked("user", "email", "person")


@admin.register(Invitation)
class InvitationRows(rows.ReadOnly):
    """Memberships that wait to be accepted."""

    list_display = ("email", "role", "workspace", "invited_by", "created_at", "id")
    list_filter = ("role", "workspace")
    search_fields = ("email", "id")
    exclude = ("digest",)


# ── Keys ─────────────────────────────────────────────────────────────────────
class KeyRows(rows.ReadOnly):
    """Keys of either kind; digests are shortened."""

    actions = ("revoke",)
    list_filter = ("workspace",)
    search_fields = ("prefix", "name", "id")
    exclude = ("digest",)
    readonly_fields = ("digest_head",)
    digest_head = rows.shortened("digest", "digest")

    @admin.display(description="state")
    def state_word(self, row: AgentKey | OperatorKey) -> str:
        return row.state

    def name_of(self, row: AgentKey | OperatorKey) -> str:
        return str(row)

    @admin.action(description="Revoke the chosen keys")
    def revoke(self, request: HttpRequest, selection: QuerySet[Any]) -> None:
        """Revoke through the service, key by key."""
        self.act_on_each(
            request, selection, lambda key, by: api_keys.revoke(key, by=by), "revoked"
        )


@admin.register(AgentKey)
class AgentKeyRows(KeyRows):
    list_display = ("prefix", "name", "agent_link", "state_word", "workspace", "id")
    list_select_related = ("workspace", "agent")
    agent_link = rows.linked("agent", "slug")


@admin.register(OperatorKey)
class OperatorKeyRows(KeyRows):
    """Keys that act as a person."""

    list_display = (
        "prefix", "name", "user_link", "role", "state_word", "workspace", "id",
    )  # fmt: skip
    list_select_related = ("workspace", "user")
    user_link = rows.linked("user", "email", "person")
