"""Pure functions of values to text and safe HTML for the templates."""

from __future__ import annotations

from django import template

register = template.Library()
