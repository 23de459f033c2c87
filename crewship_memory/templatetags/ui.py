"""Template filters and tags, built in for every template.

Words follow the visual language: times are UTC and say so, ages are short, what is
unknown is a word and never a zero.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from django import template
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import slugify
from django.utils.translation import gettext, ngettext, pgettext, pgettext_lazy

from crewship_memory.glossary import meanings
from memory.figures import decimal, formatted, grouped
from memory.rules import permissions
from memory.rules.permissions import Actor

register = template.Library()

MINUTE, HOUR, DAY = 60, 3_600, 86_400
SERIES: Final = ("", "two", "three", "four")
SEVERITIES: Final = {"warn": "yellow", "error": "red"}
PRIORITIES: Final = {"high": "accent", "pin": "accent", "permanent": "accent"}
BANDS: Final = frozenset({"green", "yellow", "red", "idle"})
ENTRY_ID: Final = re.compile(r"\b(j_[0-9a-f]{16})\b")
# In the letters of Django's date filter; a language may have another order.
STAMPS: Final = {
    "": pgettext_lazy("date and time", "j M Y, H:i"),
    "day": pgettext_lazy("date", "j M Y"),
    "clock": "H:i:s",
    "full": pgettext_lazy("date and time", "j M Y, H:i:s"),
}
IN_UTC: Final = ("", "full")


# ── Numbers and times ────────────────────────────────────────────────────────
@register.filter
def number(value: Any) -> str:
    """Return a number with thousands separated: 18,204; "no data" for None."""
    if value is None:
        return gettext("no data")
    if isinstance(value, float):
        return formatted(value, ",.1f")
    return grouped(int(value))


@register.filter
def ms(value: float | None) -> str:
    """Return milliseconds as text: 0.4 ms, 14 ms, 1,000 ms, 12.5 s."""
    if value is None:
        return gettext("no data")
    if value >= 10_000:
        return f"{formatted(value / 1000, ',.1f')} s"
    return f"{grouped(value) if value >= 10 else decimal(value, 1)} ms"


@register.filter
def duration(seconds: float | None) -> str:
    """Return a span in its two largest units: 42 s, 12 m, 5 h 12 m, 2 d 4 h, 33 d."""
    if seconds is None:
        return gettext("no data")
    remaining = max(0, int(seconds))
    minutes, hours = pgettext("minutes", "m"), pgettext("hours", "h")
    days = pgettext("days", "d")
    if remaining < MINUTE:
        return f"{remaining} s"
    if remaining < HOUR:
        return f"{remaining // MINUTE} {minutes}"
    if remaining < DAY:
        return _two(remaining // HOUR, hours, remaining % HOUR // MINUTE, minutes)
    if remaining < 7 * DAY:
        return _two(remaining // DAY, days, remaining % DAY // HOUR, hours)
    return f"{grouped(remaining // DAY)} {days}"


def _two(large: int, unit: str, small: int, part: str) -> str:
    return f"{large} {unit} {small} {part}" if small else f"{large} {unit}"


@register.filter
def ago(value: datetime | None) -> str:
    """Return how long ago a moment was, as text: 5 h 12 m; "never" for None."""
    if not value:
        return gettext("never")
    return duration((timezone.now() - value).total_seconds())


@register.filter
def age(value: datetime | None) -> str | SafeString:
    """Return how long ago a moment was, as a time element that carries the moment."""
    if not value:
        return gettext("never")
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        _iso(value),
        stamp(value, "full"),
        ago(value),
    )


@register.filter
def moment(value: datetime | None, form: str = "") -> str | SafeString:
    """Return a moment in UTC as a time element; form is day, clock, full or nothing."""
    if not value:
        return gettext("never")
    return format_html('<time datetime="{}">{}</time>', _iso(value), stamp(value, form))


def stamp(value: datetime, form: str = "") -> str:
    """Return a moment in UTC as the reader writes it; what has a date says UTC."""
    text = date_format(value.astimezone(UTC), str(STAMPS[form]))
    return f"{text} UTC" if form in IN_UTC else text


def _iso(value: datetime) -> str:
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@register.filter
def plural(value: int, words: str) -> str:
    """Return a count with its noun: ``3|plural:"entry,entries"`` is 3 entries.

    In the reader's language: `.ci/translations.py` collects the nouns from templates.
    """
    singular, _, plural_form = words.partition(",")
    text = ngettext(
        f"{{count}} {singular}", f"{{count}} {plural_form or singular + 's'}", value
    )
    return text.format(count=number(value))


# ── Judgements and names ─────────────────────────────────────────────────────
@register.simple_tag
def band(colour: str, word: object) -> SafeString:
    """Return a band as colour, shape and word; an unknown colour is no data."""
    css_class = colour if colour in BANDS else ""
    return format_html('<span class="{}">{}</span>', f"band {css_class}".strip(), word)


def _badge(colour: str, word: object) -> SafeString:
    return format_html('<span class="{}">{}</span>', f"badge {colour}".strip(), word)


@register.filter
def severity(value: str) -> SafeString:
    """Return a severity as a badge; warn and error are coloured."""
    return _badge(SEVERITIES.get(value, ""), severity_name(value))


@register.filter
def severity_name(value: str) -> str:
    """Return what the reader calls a severity."""
    names = {
        "info": pgettext("severity", "info"),
        "notice": pgettext("severity", "notice"),
        "warn": pgettext("severity", "warn"),
        "error": pgettext("severity", "error"),
    }
    return names.get(value, value)


@register.filter
def priority(value: str) -> SafeString:
    """Return a priority as a badge."""
    return _badge(PRIORITIES.get(value, ""), priority_name(value))


@register.filter
def priority_name(value: str) -> str:
    """Return what the reader calls a priority."""
    names = {
        "normal": pgettext("priority", "normal"),
        "high": pgettext("priority", "high"),
        "pin": pgettext("priority", "pin"),
        "permanent": pgettext("priority", "permanent"),
    }
    return names.get(value, value)


@register.filter
def role_name(value: str) -> str:
    """Return what the reader calls a role."""
    return permissions.role_name(value)


@register.filter
def mono(value: object) -> SafeString:
    """Return an id or a prefix in the fixed-width font."""
    return format_html('<span class="id">{}</span>', value)


@register.filter
def short_id(value: str) -> SafeString:
    """Return an id cut to its prefix and eight digits, with the whole as title."""
    head, _, digits = value.partition("_")
    short = value if len(digits) <= 8 else f"{head}_{digits[:8]}…"
    return format_html('<span class="id" title="{}">{}</span>', value, short)


@register.filter
def entry_links(text: str) -> SafeString:
    """Return a sentence with the ids of journal entries in it as links."""
    # Of the parts, every second one is an id.
    parts = ENTRY_ID.split(text)
    plain_parts = [format_html("{}", part) for part in parts[::2]]
    links = [
        format_html(
            '<a class="id" href="{}">{}</a>', reverse("memory:entry", args=[part]), part
        )
        for part in parts[1::2]
    ]
    pairs = zip(plain_parts, [*links, ""], strict=True)
    return format_html_join("", "{}{}", pairs)


@register.filter
def can(actor: Actor | None, action: str) -> bool:
    """Whether an actor may do something, to leave out controls that are refused."""
    return actor is not None and actor.can(action)


@register.filter(name="in")
def is_in(value: object, group: Collection[object]) -> bool:
    """Whether a value is in a group, as a value for ``include``."""
    return value in group


@register.simple_tag
def term(word: str, label: str = "") -> SafeString:
    """Return a word with its meaning, shown on hover, focus or tap.

    Once on a page for each word: the meaning has an id.
    """
    return format_html(
        '<span class="term-box"><button class="term" type="button" '
        'popovertarget="term-{}" aria-describedby="term-{}">{}</button>'
        '<span class="meaning" id="term-{}" role="note" popover>{}</span></span>',
        *(slugify(word), slugify(word), label or gettext(word), slugify(word)),
        meanings()[word],
    )


# ── Shapes ───────────────────────────────────────────────────────────────────
def _points(values: Sequence[float], width: int, height: int) -> list[str]:
    """Return values as SVG coordinates."""
    top = max(*values, 1e-9)
    step = width / (len(values) - 1)
    plot_height = height - 4
    return [
        f"{i * step:.1f} {height - 2 - value / top * plot_height:.1f}"
        for i, value in enumerate(values)
    ]


@register.simple_tag
def sparkline(values: Sequence[float], label: str = "") -> SafeString:
    """Return a sparkline, oldest value first; with a label it is an image with text."""
    if not values:
        return format_html('<span class="quiet">{}</span>', gettext("no data yet"))
    line = _points([*values] if len(values) > 1 else [values[0]] * 2, 120, 32)
    return format_html(
        '<svg class="spark" viewBox="0 0 120 32" preserveAspectRatio="none" {}>'
        '<path class="line" d="M{}"/><path class="dot" d="M{}h.01"/></svg>',
        _screen_reader_text(label),
        "L".join(line),
        line[-1],
    )


def _screen_reader_text(label: str) -> SafeString:
    if label:
        return format_html('role="img" aria-label="{}"', label)
    return format_html('aria-hidden="{}"', "true")


@register.simple_tag
def gauge(value: float | None, colour: str = "") -> SafeString:
    """Return a bar from 0 to 100 with notches at the limits of the bands."""
    width = 0 if value is None else min(100.0, max(0.0, value))
    css_class = colour if colour in BANDS else ""
    return format_html(
        '<svg class="{}" viewBox="0 0 100 10" preserveAspectRatio="none" '
        'aria-hidden="true"><rect class="track" y="2" width="100" height="6"/>'
        '<rect class="fill" y="2" width="{}" height="6"/>'
        '<path class="notch" d="M50 0v10M75 0v10"/></svg>',
        f"gauge {css_class}".strip(),
        f"{width:.1f}",
    )


@register.simple_tag
def share_bar(label: str, *values: float, failed: float = 0) -> SafeString:
    """Return the parts of a total side by side.

    ``failed`` is the last part and red; a whole of nothing is an empty track.
    """
    parts = [*zip(SERIES, values, strict=False), ("fill red", failed)]
    total = sum(value for _, value in parts)
    rects, at = [], 0.0
    for kind, value in parts:
        wide = 100 * value / total if total else 0.0
        if wide:
            rects.append((kind, f"{at:.2f}", f"{max(wide, 0.6):.2f}"))
        at += wide
    return format_html(
        '<svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" {}>'
        '<rect class="track" width="100" height="8"/>{}</svg>',
        _screen_reader_text(label),
        format_html_join("", '<rect class="{}" x="{}" width="{}" height="8"/>', rects),
    )
