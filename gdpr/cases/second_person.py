"""The second person of a case: who may approve a plan, and who may carry it out.

An API key acts for the person it was issued to, and counts as the person who made it as
well: nobody approves their own plan through a key. A command or a job is no person.
"""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext, gettext_noop

from gdpr.cases.privacy_settings import PrivacySettings
from gdpr.models import Case, CasePlan
from memory.models import Membership, OperatorKey, User
from memory.rules import errors
from memory.rules.permissions import PERMISSIONS, Actor

MAY: Final = "gdpr.manage"
# Keys that a command made have its name there: whoever has the machine made them.
_OF_A_PERSON: Final = "@"
# What a workspace needs in which nobody may approve.
NOBODY_ELSE: Final = gettext_noop(
    "Nobody else here may: an admin invites a second person with the role compliance or"
    " admin, or switches the second person off in the privacy settings, with a reason."
)


# ── Who acts ─────────────────────────────────────────────────────────────────
def _key(by: Actor) -> OperatorKey | None:
    if by.key_id is None:
        return None
    rows = OperatorKey.objects.filter(workspace_id=by.workspace_id, pk=by.key_id)
    return rows.first()


def key_maker(by: Actor) -> str:
    """Return the id of the person who made the actor's key, "" where there is none."""
    key = _key(by)
    if key is None:
        return ""
    maker = User.objects.filter(email=key.created_by).values_list("pk", flat=True)
    return maker.first() or ""


def _require_person(by: Actor) -> None:
    """Refuse what is no person, and a key of which nobody knows who made it."""
    key = _key(by)
    is_anonymous = by.key_id is not None and (
        key is None or (_OF_A_PERSON in key.created_by and not key_maker(by))
    )
    if by.type != "user" or is_anonymous:
        detail = gettext("Only a person approves, or a key whose owner is known.")
        raise errors.Conflict(detail, code="not_a_person")


def _people(*ids: str) -> set[str]:
    return {id_ for id_ in ids if id_}


def makers(case: Case, plan: CasePlan | None) -> set[str]:
    """Return the ids of those who opened the case or made its plan, also by a key."""
    ids = _people(case.opened_by_id, case.opened_key_maker)
    return ids | (_people(plan.made_by_id, plan.made_key_maker) if plan else set())


def require_other_person(case: Case, plan: CasePlan, *, by: Actor) -> None:
    """Refuse an approval by who opened the case or made the plan."""
    _require_person(by)
    if makers(case, plan) & _people(by.id, key_maker(by)):
        detail = gettext("Whoever opened or planned a case cannot approve it.")
        raise errors.Conflict(detail, code="same_person")


# ── Who could approve ────────────────────────────────────────────────────────
def _officers(workspace_id: str) -> set[str]:
    roles = [role.value for role in PERMISSIONS[MAY].roles]
    rows = Membership.objects.filter(
        workspace_id=workspace_id, role__in=roles, user__is_active=True
    )
    return set(rows.values_list("user_id", flat=True))


def officer_count(workspace_id: str) -> int:
    """Return how many people of a workspace may handle cases."""
    return len(_officers(workspace_id))


def has_approver(case: Case, plan: CasePlan | None) -> bool:
    """Whether anybody could approve the plan; the page says what it takes if not."""
    return bool(_officers(case.workspace_id) - makers(case, plan))


# ── Before a run ─────────────────────────────────────────────────────────────
def approval_missing(case: Case, rules: PrivacySettings, plan: CasePlan | None) -> bool:
    """Whether a second person still has to approve the newest plan."""
    if not rules.two_person:
        return False
    return plan is None or case.approved_plan != plan.plan_hash


def require(
    case: Case, rules: PrivacySettings, plan: CasePlan, break_glass: str, *, by: Actor
) -> None:
    """Require a second person, or a break-glass reason where that is allowed."""
    if not rules.two_person:
        return
    approvers = _people(case.approved_by_id, case.approved_key_maker)
    if approvers & _people(by.id, key_maker(by)):
        detail = gettext("Whoever approved a plan cannot carry it out as well.")
        raise errors.Conflict(detail, code="same_person")
    if not approval_missing(case, rules, plan):
        return
    if break_glass and rules.allow_break_glass:
        return
    if break_glass:
        detail = gettext(
            "This workspace does not allow to go on without a second person."
        )
        raise errors.Conflict(detail, code="break_glass_not_allowed")
    detail = gettext("A second person has to approve this plan first.")
    if not has_approver(case, plan):
        detail = f"{detail} {gettext(NOBODY_ELSE)}"
    raise errors.Conflict(detail, code="approval_required")
