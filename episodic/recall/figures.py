"""Numbers inside sentences, as the reader writes them."""

from __future__ import annotations

from django.utils.formats import number_format


def decimal(value: float, places: int = 2) -> str:
    """Return a rounded number: 0.62, in German 0,62."""
    # Django's own cuts off what it should round.
    return number_format(f"{value:.{places}f}", places, use_l10n=True)


def grouped(value: int) -> str:
    """Return a count with thousands separated: 18,204, in German 18.204."""
    return number_format(value, use_l10n=True, force_grouping=True)
