"""The identity of the person who asks: verified, or left out for a ground.

An erasure that nobody's identity was verified for needs a ground of a short list and a
reason; the ground is on the certificate. Every other kind of request has no such way
round: it would show or change data for somebody who is not the person.
"""

from __future__ import annotations

from typing import Final

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from gdpr.cases import transitions
from gdpr.cases.privacy_settings import PrivacySettings
from gdpr.cases.state_machine import Verb
from gdpr.cases.transitions import clean_text, locked, move
from gdpr.models import Case, CaseKind, IdentityGround
from memory.rules import errors
from memory.rules.permissions import Actor

MAY: Final = "gdpr.manage"


def verify(case: Case, method: str, *, by: Actor) -> Case:
    """Record how the identity was verified; it replaces a ground for leaving it out."""
    by.require(MAY, case.workspace_id)
    method_text = clean_text(method, "how", 400)
    with transaction.atomic():
        live = locked(case)
        live.identity_how, live.identity_by = method_text, by.label
        live.identity_at = timezone.now()
        live.identity_skipped_ground = live.identity_skipped_reason = ""
        return move(live, Verb.IDENTIFY, "Identity verified", by=by)


def cleaned(ground: str, reason: str) -> tuple[str, str]:
    """Return a ground of the list and its reason, or raise Invalid."""
    if ground not in IdentityGround.values:
        detail = gettext("Without an identity check, give a ground: {grounds}.").format(
            grounds=", ".join(IdentityGround.values)
        )
        code = "bad_identity_ground" if ground else "identity_ground_required"
        raise errors.Invalid(detail, code=code, grounds=IdentityGround.values)
    return ground, clean_text(reason, "identity_reason")


def skip(case: Case, ground: str, reason: str, *, by: Actor) -> Case:
    """Go on with an erasure without an identity check.

    An approval becomes invalid: it was given to a case that was to be verified.
    """
    by.require(MAY, case.workspace_id)
    ground, reason = cleaned(ground, reason)
    with transaction.atomic():
        live = locked(case)
        transitions.target_state(live, Verb.SKIP_IDENTITY)
        if live.kind != CaseKind.ERASURE:
            detail = gettext("Only an erasure goes on without an identity check.")
            raise errors.Conflict(detail, code="identity_required")
        if live.identity_at is not None:
            detail = gettext("The identity was verified already.")
            raise errors.Conflict(detail, code="identity_verified")
        live.identity_skipped_ground, live.identity_skipped_reason = ground, reason
        live.approved_by = live.approved_by_id = live.approved_key_maker = ""
        live.approved_plan, live.approved_at = "", None
        text = "Goes on without an identity check"
        return move(live, Verb.SKIP_IDENTITY, text, by=by, ground=ground)


def is_settled(case: Case) -> bool:
    """Whether the identity was verified, or left out for a ground."""
    return case.identity_at is not None or bool(case.identity_skipped_ground)


def require_before_plan(case: Case, rules: PrivacySettings) -> None:
    """Raise Conflict where the workspace asks for an identity and nobody settled it."""
    if rules.require_identity and not is_settled(case):
        detail = gettext(
            "This workspace requires that the person's identity is verified first."
        )
        raise errors.Conflict(detail, code="identity_required")


def require_before_run(case: Case, rules: PrivacySettings) -> None:
    """Raise Conflict for an erasure with neither an identity nor a ground."""
    require_before_plan(case, rules)
    if case.kind == CaseKind.ERASURE and not is_settled(case):
        detail = gettext(
            "Nobody verified who asks: verify the identity, or say on what ground this"
            " erasure goes on without."
        )
        code = "identity_ground_required"
        raise errors.Conflict(detail, code=code, grounds=IdentityGround.values)
