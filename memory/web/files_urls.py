"""URLs of the memory files' pages: owner, then file, then view."""

from __future__ import annotations

from django.urls import path

from memory.web import files_views

app_name = "files"
urlpatterns = [
    path("", files_views.browse_files, name="browse"),
    path("open/", files_views.open_file, name="open"),
    path("<str:owner_id>/<path:label>/versions/", files_views.history, name="versions"),
    path("<str:owner_id>/<path:label>/restore/", files_views.restore, name="restore"),
    path("<str:owner_id>/<path:label>/", files_views.file, name="file"),
]
