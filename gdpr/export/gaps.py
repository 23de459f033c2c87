"""What the letter of an access bundle would lack now, for officers to mend first."""

from __future__ import annotations

from dataclasses import dataclass

from gdpr.processing import record as processing
from gdpr.processing.record import PROPOSED
from memory.rules.permissions import Actor


@dataclass(frozen=True, slots=True)
class Gaps:
    """What nobody stated or confirmed; ``unconfirmed`` counts places.

    Those that are computed from others are in no letter.
    """

    controller: bool
    unconfirmed: int
    authority: bool
    automated_decisions: bool
    third_countries: bool

    def __bool__(self) -> bool:
        """Whether anything is missing."""
        return self.controller or bool(self.unconfirmed) or self.has_silence

    @property
    def has_silence(self) -> bool:
        """Whether a statement of the controller is missing."""
        return self.authority or self.automated_decisions or self.third_countries


def of(actor: Actor) -> Gaps:
    """Return what a bundle made now would say is not stated or not confirmed."""
    record = processing.of(actor)
    controller = record.controller
    return Gaps(
        controller=not controller.is_complete,
        unconfirmed=sum(
            row.state == PROPOSED and not row.derived for row in record.activities
        ),
        authority=not controller.supervisory_authority,
        automated_decisions=not controller.automated_decisions,
        third_countries=not controller.third_countries,
    )
