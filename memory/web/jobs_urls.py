"""URLs of the jobs pages."""

from __future__ import annotations

from django.urls import path

from memory.web import jobs_views as views

app_name = "jobs"
urlpatterns = [
    path("", views.job_list, name="board"),
    path("<slug:name>/", views.history, name="history"),
    path("<slug:name>/run/", views.run, name="run"),
]
