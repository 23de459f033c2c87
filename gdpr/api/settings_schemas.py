"""Request and response shapes of how a workspace handles personal data."""

from __future__ import annotations

from ninja import Schema
from pydantic import Field

from gdpr.api.row_schemas import Text
from memory.api.shapes import Stamp, TextOrNull
from memory.rules.shapes import Strict


class PrivacyIn(Strict):
    """The settings to change; others stay."""

    two_person: bool | None = None
    require_identity: bool | None = None
    allow_break_glass: bool | None = None
    time_zone: str | None = Field(None, max_length=64)
    export_days: int | None = Field(None, ge=1, le=90)
    backup_days: int | None = Field(None, ge=1, le=3_650)
    letter_days: int | None = Field(None, ge=1, le=3_650)
    digest: bool | None = None
    intake: bool | None = None
    reason: Text = Field(
        "", description="Why the second person or the identity check is switched off."
    )


class SwitchedOffOut(Schema):
    """A safeguard that is off, with who switched it off, when and why, where known."""

    name: str
    at: Stamp | None
    by: TextOrNull
    reason: TextOrNull


class PrivacyOut(Schema):
    """How the workspace handles requests."""

    two_person: bool
    require_identity: bool
    allow_break_glass: bool
    time_zone: str
    export_days: int
    backup_days: int
    letter_days: int
    digest: bool
    intake: bool
    updated_at: Stamp | None
    updated_by: TextOrNull
    switched_off: list[SwitchedOffOut]
    officers: int = Field(description="How many people here may handle cases.")
