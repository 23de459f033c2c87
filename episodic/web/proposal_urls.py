"""Addresses of the proposal pages."""

from __future__ import annotations

from django.urls import path

from episodic.web import proposal_views as views

app_name = "proposals"
urlpatterns = [
    path("", views.listing, name="list"),
    path("run/", views.run, name="run"),
    path("<slug:proposal_id>/", views.detail, name="detail"),
    path("<slug:proposal_id>/approve/", views.approve, name="approve"),
    path("<slug:proposal_id>/reject/", views.reject, name="reject"),
]
