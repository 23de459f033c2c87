"""Addresses of the health page."""

from __future__ import annotations

from django.urls import path

from episodic.web import health_views

app_name = "health"
urlpatterns = [
    path("", health_views.page, name="page"),
    path("fix/<slug:kind>/", health_views.fix, name="fix"),
]
