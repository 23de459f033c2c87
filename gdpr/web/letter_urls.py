"""Addresses of the pages of letters, within those of the privacy pages."""

from __future__ import annotations

from typing import Final

from django.urls import path

from gdpr.web import letter_text_views, letter_views

_LETTER: Final = "cases/<str:case_id>/letters/<str:letter_id>"
PATHS: Final = (
    path(
        "cases/<str:case_id>/correspondence/",
        letter_views.change_address,
        name="correspondence",
    ),
    path("cases/<str:case_id>/letters/new/", letter_views.new, name="new_letter"),
    path(f"{_LETTER}/", letter_views.detail, name="letter"),
    path(f"{_LETTER}.txt", letter_views.text_file, name="letter_file"),
    path(f"{_LETTER}/send/", letter_views.send, name="send_letter"),
    path(f"{_LETTER}/posted/", letter_views.posted, name="letter_posted"),
    path(f"{_LETTER}/remove/", letter_views.remove, name="remove_letter"),
    path("settings/letters/", letter_text_views.index, name="letter_texts"),
    path("settings/letters/text/", letter_text_views.edit, name="letter_text"),
)
