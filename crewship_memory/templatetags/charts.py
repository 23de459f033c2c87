"""SVG line charts from 0 to 100 over days, with the limits of the bands.

The shapes stretch; what is read (names, levels, days) is HTML. A day without data is a
gap, never a zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Final

from django import template
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext

from memory.figures import decimal

register = template.Library()

Points = Sequence[tuple[date, float | None]]
SERIES: Final = ("", "two", "three")
WIDTH, HEIGHT = 600, 200
DAYS_NAMED: Final = 5


def _span(lines: Sequence[Points]) -> tuple[date, date] | None:
    days = [day for points in lines for day, _ in points]
    return (min(days), max(days)) if days else None


def _path(points: Points, span: tuple[date, date], size: tuple[int, int]) -> str:
    """Return a path with a gap wherever a value is missing."""
    start, length = span[0], max(1, (span[1] - span[0]).days)
    commands, pen = "", "M"
    for day, value in points:
        if value is None:
            pen = "M"
            continue
        x = size[0] * (day - start).days / length if span[0] != span[1] else size[0]
        commands += f"{pen}{x:.1f} {size[1] * (1 - value / 100):.1f}"
        pen = "L"
    return commands


def _last(path: str) -> str:
    """Return the last point of a path."""
    return path.replace("L", "M").rsplit("M", 1)[-1]


def _lines(
    lines: Sequence[Points], span: tuple[date, date], size: tuple[int, int]
) -> SafeString:
    shapes = [
        (kind, path, kind, _last(path))
        for kind, points in zip(SERIES, lines, strict=False)
        if (path := _path(points, span, size))
    ]
    return format_html_join(
        "",
        '<path class="line {}" d="{}"/><path class="dot {}" d="M{}h.01"/>',
        shapes[::-1],
    )


@register.simple_tag
def band_spark(points: Points, label: str = "") -> SafeString:
    """Return a sparkline from 0 to 100 with the limits at 50 and 75."""
    span = _span([points])
    if span is None or all(value is None for _, value in points):
        return SafeString("")
    return format_html(
        '<svg class="spark" viewBox="0 0 120 32" preserveAspectRatio="none" role="img" '
        'aria-label="{}"><path class="limit" d="M0 16H120M0 8H120"/>{}</svg>',
        label,
        _lines([points], span, (120, 32)),
    )


def _spells(days: Sequence[date], span: tuple[date, date]) -> SafeString:
    wide = WIDTH / max(1, (span[1] - span[0]).days)
    rects = [
        (f"{max(0.0, ((day - span[0]).days - 0.5) * wide):.1f}", f"{wide:.1f}")
        for day in days
        if span[0] <= day <= span[1]
    ]
    return format_html_join(
        "", '<rect class="spell" x="{}" width="{}" height="200"/>', rects
    )


def _marks(days: Sequence[date], span: tuple[date, date]) -> str:
    """Return a vertical line for each day with an event."""
    wide = WIDTH / max(1, (span[1] - span[0]).days)
    inside = sorted({day for day in days if span[0] <= day <= span[1]})
    return "".join(f"M{(day - span[0]).days * wide:.1f} 0V200" for day in inside)


def _named_days(span: tuple[date, date]) -> SafeString:
    length = (span[1] - span[0]).days
    count = min(DAYS_NAMED, length + 1)
    labels = [
        span[0] + timedelta(days=round(length * i / max(1, count - 1)))
        for i in range(count)
    ]
    form = pgettext("day of a year", "j M")
    return format_html_join(
        "", "<span>{}</span>", [(date_format(day, form),) for day in labels]
    )


def _text_alternative(lines: Sequence[tuple[str, Points]], subject: str) -> str:
    """Return what a chart shows as one sentence."""
    sentences = []
    for name, points in lines:
        values = [value for _, value in points if value is not None]
        if values:
            sentence = gettext("{name} from {first} to {last}")
            first, last = f"{values[0]:.0f}", f"{values[-1]:.0f}"
            sentences.append(sentence.format(name=name, first=first, last=last))
    return f"{subject}: {'; '.join(sentences) or gettext('no data')}"


@register.simple_tag
def band_chart(
    lines: Sequence[tuple[str, Points]],
    subject: str,
    failing: Sequence[date] = (),
    events: Sequence[date] = (),
) -> SafeString:
    """Return a chart of one to three named lines, its levels and its days."""
    series = lines[: len(SERIES)]
    point_lists = [points for _, points in series]
    span = _span(point_lists)
    if span is None:
        return SafeString("")
    return format_html(
        '<div class="chart"><svg viewBox="0 0 600 200" preserveAspectRatio="none" '
        'role="img" aria-label="{}">{}<path class="limit soft" d="M0 0H600"/>'
        '<path class="limit" d="M0 50H600M0 100H600M0 200H600{}"/>{}</svg>'
        '<div class="levels" aria-hidden="true"><span class="at-100">100</span>'
        '<span class="at-75">75</span><span class="at-50">50</span>'
        '<span class="at-0">0</span></div>'
        '<div class="days" aria-hidden="true">{}</div></div>',
        _text_alternative(series, subject),
        _spells(failing, span),
        _marks(events, span),
        _lines(point_lists, span, (WIDTH, HEIGHT)),
        _named_days(span),
    )


@register.simple_tag
def chart_key(lines: Sequence[tuple[str, Points]]) -> SafeString:
    """Return a legend: the names of the lines with their newest values."""
    items = []
    for kind, (name, points) in zip(SERIES, lines, strict=False):
        values = [value for _, value in points if value is not None]
        items.append(
            (kind, name, decimal(values[-1], 1) if values else gettext("no data"))
        )
    return format_html_join(
        "",
        '<span><svg viewBox="0 0 16 8" aria-hidden="true">'
        '<path class="line {}" d="M0 4H16"/></svg>{} {}</span>',
        items,
    )


@register.filter
def signed(value: float | None) -> str:
    """Return a change with its sign: +2.9, −5.9, ±0.0."""
    if value is None:
        return ""
    if round(value, 1) == 0:
        return f"±{decimal(0.0, 1)}"
    return f"{'+' if value > 0 else '−'}{decimal(abs(value), 1)}"
