"""Addresses of the public request form."""

from __future__ import annotations

from django.urls import path

from gdpr.web import intake_views

app_name = "requests"
urlpatterns = [
    path("confirm/<str:token>/", intake_views.confirm, name="confirm"),
    path("<slug:workspace>/", intake_views.ask, name="ask"),
]
