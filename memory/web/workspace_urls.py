"""URLs of the workspace pages."""

from __future__ import annotations

from django.urls import path

from memory.web import (
    gateway_views,
    member_views,
    settings_views,
    webhook_views,
    workspace_views,
)

app_name = "workspace"
urlpatterns = [
    path("agents/", workspace_views.agents, name="agents"),
    path("agents/crew/", workspace_views.crew, name="crew"),
    path("agents/<str:agent_id>/", workspace_views.agent, name="agent"),
    path("keys/", workspace_views.key_list, name="keys"),
    path("keys/person/", workspace_views.operator_key, name="operator_key"),
    path("keys/<str:key_id>/revoke/", workspace_views.revoke, name="revoke"),
    path("gateway/", gateway_views.gateway, name="gateway"),
    path("gateway/turns/", gateway_views.setup, name="gateway_setup"),
    path(
        "gateway/turns/<str:setup_id>/remove/",
        gateway_views.remove,
        name="gateway_remove",
    ),
    path("gateway/<str:key_id>/revoke/", gateway_views.revoke, name="gateway_revoke"),
    path("settings/", settings_views.settings_page, name="settings"),
    path(
        "settings/remote-provider/test/",
        settings_views.test_connection,
        name="test_remote",
    ),
    path("settings/<str:name>/", settings_views.change, name="change_setting"),
    path("settings/<str:name>/reset/", settings_views.reset, name="reset_setting"),
    path("members/", member_views.members, name="members"),
    path(
        "members/invited/<str:invitation_id>/link/",
        member_views.resend,
        name="invitation_resend",
    ),
    path(
        "members/invited/<str:invitation_id>/withdraw/",
        member_views.withdraw,
        name="invitation_withdraw",
    ),
    path("members/<str:member_id>/", member_views.member, name="member"),
    path("members/<str:member_id>/link/", member_views.link, name="member_link"),
    path("members/<str:member_id>/remove/", member_views.remove, name="remove"),
    path("webhooks/", webhook_views.webhook_list, name="webhooks"),
    path("webhooks/<str:webhook_id>/remove/", webhook_views.remove, name="unhook"),
    path("webhooks/<str:webhook_id>/switch/", webhook_views.switch, name="switch_hook"),
    path("webhooks/<str:webhook_id>/test/", webhook_views.test, name="test_hook"),
    path("webhooks/delivery/<str:delivery_id>/", webhook_views.replay, name="replay"),
]
