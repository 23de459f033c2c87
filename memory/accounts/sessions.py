"""What a page notes in a person's session for the next request, such as a choice."""

from __future__ import annotations

from typing import Any, Final

from django.contrib.sessions.backends.base import SessionBase
from django.db import DatabaseError

from memory import outages

# The agent that was last asked as.
AGENT: Final = "recall_agent"
# The orders that a changed priority was expected to bring.
EXPECTED: Final = "recall_expected"
# The ids that were opened last, by workspace.
RECENT: Final = "recent"


def note(session: SessionBase, key: str, value: Any) -> None:
    """Save a value in the session; a full disk does not keep the page back."""
    session[key] = value
    try:
        session.save()
    except DatabaseError as error:
        if outages.meaning(error) is None:
            raise
    # The middleware would try once more, and fail the request.
    session.modified = False
