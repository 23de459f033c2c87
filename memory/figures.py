"""Numbers as the reader writes them: rounded, with the signs of their language."""

from __future__ import annotations

from django.utils.formats import get_format


def grouped(value: float) -> str:
    """Return a whole number with thousands separated: 18,204, in German 18.204."""
    return formatted(round(value), ",")


def decimal(value: float, places: int = 2) -> str:
    """Return a rounded number: 0.62, in German 0,62."""
    return formatted(value, f".{places}f")


def formatted(value: float, form: str) -> str:
    """Return a number in a format of Python, with the reader's signs in it.

    Django's ``number_format`` cuts off what it should round.
    """
    signs = {
        ",": get_format("THOUSAND_SEPARATOR"),
        ".": get_format("DECIMAL_SEPARATOR"),
    }
    return format(value, form).translate(str.maketrans(signs))
