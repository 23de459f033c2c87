"""Every address on one page."""

from __future__ import annotations

from django.contrib import admin
from django.urls import URLPattern, URLResolver, path

from crewship_memory.api import api

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", api.urls),
    path("admin/", admin.site.urls),
]
