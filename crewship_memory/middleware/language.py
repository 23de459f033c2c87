"""The language of a page: what the person chose, else what the browser asks for.

Programs get English, whatever they ask for: an answer of the API is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers

from crewship_memory import error_responses
from memory.accounts import languages


class LanguageMiddleware:
    """Activates a language for the request; stands before whatever may refuse one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer in the language of the cookie or the browser, until a person shows."""
        if error_responses.is_for_programs(request.path):
            with translation.override(settings.LANGUAGE_CODE):
                return self.get_response(request)
        with translation.override(translation.get_language_from_request(request)):
            response = self.get_response(request)
            response.headers.setdefault("Content-Language", translation.get_language())
        patch_vary_headers(response, ["Accept-Language"])
        return response

    def process_view(self, request: HttpRequest, *_: Any) -> None:
        """Go over to the language of the signed-in person, if they chose one."""
        if error_responses.is_for_programs(request.path):
            return
        languages.activate_for(getattr(request, "user", None))
