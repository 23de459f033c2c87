"""Who may have received a person's data, for the letters."""

from __future__ import annotations

from gdpr.processing import safeguards


def hosts(workspace_id: str) -> list[str]:
    """Return the hosts that data can go to by the settings in force."""
    rows = safeguards.recipients(workspace_id)
    # A mail server carries letters and ids of cases, not what is remembered.
    return sorted({row.name for row in rows if row.name and row.kind != "mail"})
