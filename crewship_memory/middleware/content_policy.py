"""The Content-Security-Policy header, built once for answers to programs."""

from __future__ import annotations

from functools import cache
from typing import Final

from csp.constants import HEADER
from csp.middleware import CSPMiddleware
from csp.utils import build_policy
from django.http import HttpRequest
from django.http.response import HttpResponseBase

JSON: Final = "application/json"


@cache
def _plain_policy() -> str:
    """Return the policy of the settings, which no view has changed."""
    return str(build_policy())


class ContentPolicyMiddleware(CSPMiddleware):
    """The library's header; JSON, which no view gives a policy of its own, is quick."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        if response.headers.get("Content-Type", "").startswith(JSON):
            response.headers.setdefault(HEADER, _plain_policy())
            return response
        answer: HttpResponseBase = super().process_response(request, response)
        return answer
