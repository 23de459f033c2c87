"""The URL configuration."""

from __future__ import annotations

from allauth.account.decorators import secure_admin_login
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path, re_path

from crewship_memory import (
    find_views,
    first_run_views,
    glossary,
    healthz,
    home,
    integrations,
    invitation_views,
    language_views,
    login,
    mcp,
    password_reset,
)
from crewship_memory.api import api, open_to_programs
from crewship_memory.metrics import scrape
from episodic.web import urls as episodic_urls
from gdpr.web import certificate_views
from memory.web import urls as memory_urls

admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
# allauth registers these itself, editable: second factors are no support table.
admin.site.unregister([EmailAddress, Authenticator])

handler400 = "crewship_memory.error_responses.bad_request"
handler403 = "crewship_memory.error_responses.forbidden"
handler404 = "crewship_memory.error_responses.not_found"
handler500 = "crewship_memory.error_responses.failed"

urlpatterns: list[URLPattern | URLResolver] = [
    # First: every pattern before it is tried for each call of a program.
    path("api/v1/", open_to_programs(api.urls)),
    path("", home.home, name="home"),
    path("first/agent/", first_run_views.add_agent, name="first_agent"),
    path("first/key/", first_run_views.issue_key, name="first_key"),
    path("find/", find_views.find, name="find"),
    path("language/", language_views.choose, name="language"),
    path("glossary/", glossary.glossary, name="glossary"),
    path("find/<slug:row_id>/", find_views.open_row, name="find_open"),
    path("workspace/choose/", home.choose_workspace, name="choose_workspace"),
    path(
        "workspace/",
        include(([*memory_urls.WORKSPACE, *episodic_urls.WORKSPACE], "workspace")),
    ),
    path("", include("memory.web.urls")),
    path("", include("episodic.web.urls")),
    path("certificates/check/", certificate_views.check, name="certificate_check"),
    path("requests/", include("gdpr.web.intake_urls")),
    path("privacy/", include("gdpr.web.urls")),
    path("invitations/", invitation_views.own_invitations, name="invitations"),
    path(
        "invitations/<str:invitation_id>/accept/",
        invitation_views.accept,
        name="invitation_accept",
    ),
    path(
        "invitations/<str:invitation_id>/decline/",
        invitation_views.decline,
        name="invitation_decline",
    ),
    path(
        "login/invitation/<str:token>/",
        invitation_views.by_link,
        name="invitation_link",
    ),
    path("login/<str:purpose>/<str:token>/", login.link, name="login_link"),
    path(
        "accounts/password/reset/", password_reset.password_reset, name="password_reset"
    ),
    # Nobody changes their own address, and links of ours replace allauth's: its pages
    # trust an address before it is confirmed.
    re_path(
        "^accounts/(?:email|confirm-email|password/reset|login/code)/.*$",
        login.no_such_page,
    ),
    path("accounts/", include("allauth.urls")),
    path("admin/", admin.site.urls),
    *integrations.url_patterns(),
    *mcp.url_patterns(),
    path("livez", healthz.livez, name="livez"),
    path("readyz", healthz.readyz, name="readyz"),
    path("metrics", scrape.metrics, name="metrics"),
]
