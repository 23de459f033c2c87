"""People's own words in a report: with the names that are registered masked.

What nobody registered cannot be recognised: who writes another person's name into a
reason puts it into the report.
"""

from __future__ import annotations

from collections.abc import Callable

from gdpr.matching.matcher import Matcher
from gdpr.models import Alias

MARK = "[name]"


def masker(workspace_id: str) -> Matcher:
    """Return what masks every registered name of a workspace."""
    return Matcher(Alias.names(workspace_id))


def words(workspace_id: str) -> Callable[[str], str]:
    """Return a function that masks the registered names in a text."""
    matcher = masker(workspace_id)
    return lambda text: matcher.mask(text, MARK) if text else ""
