"""Template filters of the pages of an access bundle."""

from __future__ import annotations

from datetime import date, datetime

from django import template
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import pgettext

from gdpr.export.readable import values

register = template.Library()


@register.filter
def local_day(moment: datetime | date | None) -> str | SafeString:
    """Return the day of a moment in its own time zone: 3 March 2026."""
    if moment is None:
        return ""
    return format_html(
        '<time datetime="{}">{}</time>', f"{moment:%Y-%m-%d}", day_name(moment)
    )


@register.filter
def day_name(moment: datetime | date) -> str:
    """Return a day as a text without markup."""
    return values.day(moment)


@register.filter
def clock(moment: datetime | None) -> str:
    """Return the time of a moment in its own time zone: 14:02."""
    return date_format(moment, pgettext("time", "H:i")) if moment else ""


@register.filter
def month_name(day: date) -> str:
    """Return the month of a day: March 2026."""
    return date_format(day, pgettext("month", "F Y"))
