"""Template filters of the privacy pages, loaded with ``{% load privacy_ui %}``."""

from __future__ import annotations

from collections.abc import Iterator

from django import template

from gdpr.certificates import issue as certificates
from gdpr.models import Certificate
from gdpr.web import case_words, readings, recipient_lines

register = template.Library()


@register.filter
def reading(text: str) -> str:
    """Return what the program stored as an English sentence in the reader's language.

    For sentences of a plan, a report, a certificate; never for people's own words.
    """
    return readings.of(text)


@register.filter
def written(text: str) -> str:
    """Return what a person wrote in a case, or that it was erased."""
    return case_words.written(text)


@register.filter
def way_words(way: str) -> str:
    """Return what a button that sends a notice by a way says."""
    return recipient_lines.way_words(way)


@register.filter
def kept_by_rule(certificate: Certificate) -> Iterator[str]:
    """Yield why a certificate says that rows stay by a rule of the program."""
    return certificates.kept_by_rule(certificate)
