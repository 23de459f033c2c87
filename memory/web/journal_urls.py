"""URLs of the journal's pages."""

from __future__ import annotations

from django.urls import path

from memory.web import journal_views as views

app_name = "memory"
urlpatterns = [
    path("", views.entries, name="journal"),
    path("verify/", views.verify, name="verify"),
    path("<slug:entry_id>/", views.entry, name="entry"),
    path("<slug:entry_id>/priority/", views.priority, name="priority"),
]
