"""Acts on many members: another role, which an undo reverses; removal.

Who is removed has to be invited again, so a removal has no undo. The last admin stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext, gettext_noop

from memory.accounts import workspaces
from memory.models import Membership
from memory.rules import bulk, errors
from memory.rules.bulk import Item, Outcome, Pick
from memory.rules.permissions import (
    PERSON_ROLES,
    ROLE_NAMES,
    Actor,
    Role,
    role_name,
)


def change_role(actor: Actor, picks: Sequence[Pick], role: str) -> list[Item]:
    """Give members a role, each that still has the one it was read with."""
    actor.require("members.manage")
    target = _role(role)

    def act(member: Membership, pick: Pick) -> Outcome:
        if pick.version == target.value:
            detail = gettext("The role is {role} already.").format(
                role=role_name(target)
            )
            raise errors.Conflict(detail, code="same_role")
        return _change(member, pick.version, target, actor)

    return bulk.run(picks, partial(_members, actor), act, title=_title)


def undo_role(actor: Actor, picks: Sequence[Pick]) -> list[Item]:
    """Give members the role they had before, each that has the new one still."""
    actor.require("members.manage")

    def act(member: Membership, pick: Pick) -> Outcome:
        return _change(member, pick.version, _role(pick.former), actor)

    return bulk.run(picks, partial(_members, actor), act, title=_title)


def remove(actor: Actor, picks: Sequence[Pick]) -> list[Item]:
    """Remove members and revoke their keys, each that has the role it was read with."""
    actor.require("members.manage")

    def act(member: Membership, pick: Pick) -> Outcome:
        with transaction.atomic():
            _require_same(member, pick.version, actor)
            workspaces.remove_member(member, by=actor)
        return Outcome(state=gettext_noop("removed"))

    return bulk.run(picks, partial(_members, actor), act, title=_title)


def memberships(actor: Actor, picks: Sequence[Pick]) -> list[Membership]:
    """Return the picked members, in their order."""
    actor.require("members.manage")
    rows = _members(actor, [pick.id for pick in picks[: bulk.LIMIT]])
    return [rows[pick.id] for pick in picks if pick.id in rows]


def _role(value: str) -> Role:
    if value not in PERSON_ROLES:
        raise errors.Invalid(
            gettext("Choose a role from the list."), code="unknown_role"
        )
    return Role(value)


def _members(actor: Actor, ids: list[str]) -> dict[str, Membership]:
    rows = Membership.objects.filter(workspace_id=actor.workspace_id)
    return rows.select_related("user").in_bulk(ids)


def _title(member: Membership) -> str:
    return member.user.email


def _require_same(member: Membership, role: str, by: Actor) -> None:
    """Lock a member with the admins; raise Conflict unless the role is as read.

    Nobody is among many that they change: the rest would be done without their role.
    """
    if member.user_id == by.id:
        detail = gettext("That is you. Change your own membership by itself.")
        raise errors.Conflict(detail, code="own_membership")
    rows = Membership.objects.select_for_update().order_by("pk")
    rows = rows.filter(Q(role=Role.ADMIN.value) | Q(pk=member.pk))
    roles = dict(rows.filter(workspace_id=by.workspace_id).values_list("pk", "role"))
    if roles.get(member.pk) != role:
        detail = gettext("The membership changed since you read it.")
        raise errors.Conflict(detail, code="stale_version")


def _change(member: Membership, version: str, role: Role, by: Actor) -> Outcome:
    with transaction.atomic():
        _require_same(member, version, by)
        live = workspaces.set_member(member.user, role, by=by)
    name = ROLE_NAMES[live.role]
    return Outcome(state=name, version=live.role, former=version)
