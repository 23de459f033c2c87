"""Sentences that checks and deliveries left behind, in the reader's language."""

from __future__ import annotations

from django import template

from memory import webhooks
from memory.providers import words

register = template.Library()


@register.filter
def pulse_words(message: str) -> str:
    """Return what the health check of a provider said."""
    return words.pulse(message)


@register.filter
def check_text(text: str) -> str:
    """Return the rule that a check or a promise is about."""
    return words.check(text)


@register.filter
def check_note(text: str) -> str:
    """Return why a check failed or does not apply."""
    return words.note(text)


@register.filter
def delivery_fault(text: str) -> str:
    """Return why a message of a webhook did not arrive."""
    return webhooks.fault_words(text)
