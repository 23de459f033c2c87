"""URLs of the records' pages."""

from __future__ import annotations

from django.urls import path

from memory.web import records_views

app_name = "records"
urlpatterns = [
    path("", records_views.listing, name="list"),
    path("<str:record_id>/", records_views.detail, name="detail"),
    path("<str:record_id>/edit/", records_views.edit, name="edit"),
    path("<str:record_id>/supersede/", records_views.supersede, name="supersede"),
    path("<str:record_id>/forget/", records_views.forget, name="forget"),
]
