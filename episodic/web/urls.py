"""Addresses of the recall explorer and the index page."""

from __future__ import annotations

from django.urls import path

from episodic.web import check_views, entry_views, index_views, recall_views

app_name = "episodic"
urlpatterns = [
    path("", recall_views.recall, name="recall"),
    path("checks/", check_views.checks, name="checks"),
    path("checks/save/", check_views.save, name="check_save"),
    path("checks/<slug:check_id>/run/", check_views.run, name="check_run"),
    path("checks/<slug:check_id>/delete/", check_views.drop, name="check_drop"),
    path("index/", index_views.index, name="index"),
    path("index/run/", index_views.index_run, name="index_run"),
    path("entries/<slug:entry_id>/", entry_views.weight, name="entry_weight"),
    path("entries/<slug:entry_id>/index/", index_views.index_entry, name="index_entry"),
]
