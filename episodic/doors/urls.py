"""Addresses of the recall explorer and the index page."""

from __future__ import annotations

from django.urls import path

from episodic.doors import entry_views, views

app_name = "episodic"
urlpatterns = [
    path("", views.recall, name="recall"),
    path("index/", views.index, name="index"),
    path("index/run/", views.index_run, name="index_run"),
    path("entries/<slug:entry_id>/", entry_views.weight, name="entry_weight"),
    path("entries/<slug:entry_id>/index/", views.index_entry, name="index_entry"),
]
