"""Invitations: a membership that the owner of an e-mail address has to accept.

An invitation gives membership of its own workspace and nothing else. Its link lets a
new person create an account with a password. Where the address has an account already,
the owner signs in and accepts. An owner whose address is not proven needs the link as
well, because the account may have been set up by the admin of another workspace, who
must not accept in their place.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext

from memory.accounts import api_keys, languages, login_links, mail, workspaces
from memory.journal import append as journal
from memory.models import Invitation, Membership, User
from memory.rules import errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor, Role, role_name

MAX_PENDING: Final = 200
EMAIL_LENGTH: Final = 254
MAIL_EVERY: Final = timedelta(minutes=1)
ENDS_SOON: Final = timedelta(days=1)


def checked_email(value: str) -> str:
    """Return an address in its stored form, or raise Invalid."""
    email = value.strip().lower()
    try:
        validate_email(email)
    except ValidationError:
        raise errors.Invalid(gettext("That is not an e-mail address.")) from None
    if len(email) > EMAIL_LENGTH:
        detail = gettext("An address has {limit} characters at most.")
        raise errors.Invalid(detail.format(limit=EMAIL_LENGTH))
    return email


def _record(action: str, summary: str, invitation: Invitation, by: Actor) -> None:
    new = NewEntry(
        entry_type=f"invitation.{action}",
        severity=Severity.NOTICE,
        summary=summary,
        payload={"invitation_id": invitation.id, "role": invitation.role},
    )
    journal.write([new], by=by)


# ── For admins ───────────────────────────────────────────────────────────────
def invite(email: str, role: Role, *, by: Actor) -> Invitation:
    """Invite an address; the same whether or not it has an account."""
    by.require("members.manage")
    email = checked_email(email)
    invitations = Invitation.objects.filter(workspace_id=by.workspace_id)
    members = Membership.objects.filter(workspace_id=by.workspace_id)
    if members.filter(user__email=email).exists():
        detail = gettext("Is a member already; change the role in the list.")
        raise errors.Conflict(detail, code="already_member")
    if invitations.count() >= MAX_PENDING:
        detail = gettext(
            "{limit} invitations wait already; withdraw some first."
        ).format(limit=MAX_PENDING)
        raise errors.Conflict(detail, code="too_many_invitations")
    try:
        with transaction.atomic():
            invitation = Invitation.objects.create(
                workspace_id=by.workspace_id,
                email=email,
                role=role.value,
                invited_by=by.label,
                invited_by_id=by.id,
            )
            _record("made", f"Somebody was invited as {role.value}", invitation, by)
    except IntegrityError:
        detail = gettext(
            "Is invited already; make a new link in the list, or withdraw it."
        )
        raise errors.Conflict(detail, code="already_invited") from None
    return invitation


def get(invitation_id: str, *, by: Actor) -> Invitation:
    """Return an invitation of the actor's workspace."""
    by.require("members.manage")
    invitations = Invitation.objects.filter(workspace_id=by.workspace_id)
    invitation = invitations.filter(pk=invitation_id).first()
    if invitation is None:
        raise errors.NotFound
    return invitation


def pending(actor: Actor) -> list[Invitation]:
    """Return the open invitations of a workspace."""
    actor.require("members.manage")
    return list(Invitation.objects.filter(workspace_id=actor.workspace_id))


@dataclass(frozen=True, slots=True)
class Ending:
    """How many open links end soon, and when the first of them does."""

    count: int
    first: datetime | None


def ending(actor: Actor) -> Ending:
    """Return the invitations whose link works and ends within a day."""
    if not actor.can("members.manage"):
        return Ending(0, None)
    lasts, now = timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT), timezone.now()
    rows = Invitation.objects.filter(
        workspace_id=actor.workspace_id,
        link_made_at__gte=now - lasts,
        link_made_at__lte=now - lasts + ENDS_SOON,
    ).exclude(digest="")
    times = [at for at in rows.values_list("link_made_at", flat=True) if at]
    return Ending(len(times), min(times) + lasts if times else None)


def withdraw(invitation: Invitation, *, by: Actor) -> None:
    """Withdraw an invitation; its link becomes invalid."""
    by.require("members.manage", invitation.workspace_id)
    with transaction.atomic():
        if Invitation.objects.filter(pk=invitation.pk).delete()[0]:
            _record("withdrawn", "An invitation was withdrawn", invitation, by)


def _new_token(invitation: Invitation, *, by_mail: bool, by: Actor) -> str:
    token = secrets.token_urlsafe(32)
    with transaction.atomic():
        updated = Invitation.objects.filter(pk=invitation.pk).update(
            digest=api_keys.digest(token), link_made_at=timezone.now(), mailed=by_mail
        )
        if not updated:
            raise errors.NotFound
        _record("link_made", "A link to accept an invitation was made", invitation, by)
    invitation.refresh_from_db()
    return token


def link_path(invitation: Invitation, *, by: Actor) -> str:
    """Return the path of a new link; an earlier link becomes invalid."""
    by.require("members.manage", invitation.workspace_id)
    return f"/login/invitation/{_new_token(invitation, by_mail=False, by=by)}/"


def send(invitation: Invitation, base: str, *, by: Actor) -> None:
    """Send a new link by mail to the invited address only."""
    by.require("members.manage", invitation.workspace_id)
    made_at = invitation.link_made_at
    if invitation.mailed and made_at and timezone.now() - made_at < MAIL_EVERY:
        detail = gettext("A mail went out a moment ago.")
        raise errors.Conflict(detail, code="just_sent")
    token = _new_token(invitation, by_mail=True, by=by)
    message = _message(invitation, f"{base}/login/invitation/{token}/")
    # Outside the transaction: a slow mail server must not hold the database.
    try:
        count = mail.send("invitation", [message])
    except OSError as error:
        Invitation.objects.filter(pk=invitation.pk).update(digest="", mailed=False)
        detail = gettext("The mail did not go out: {reason}.").format(
            reason=type(error).__name__
        )
        raise errors.Unavailable(detail, code="mail_not_sent") from None
    if not count:
        Invitation.objects.filter(pk=invitation.pk).update(digest="", mailed=False)
        detail = gettext("No mail server is set.")
        raise errors.Conflict(detail, code="no_mail_server")


def _message(invitation: Invitation, link: str) -> EmailMessage:
    """Return the mail in the invited person's language; the admin's for a new one."""
    person = account_of(invitation)
    if person is not None:
        with languages.mail_language(person):
            return _text(invitation, link)
    return _text(invitation, link)


def _text(invitation: Invitation, link: str) -> EmailMessage:
    workspace = invitation.workspace.slug
    body = gettext(
        "{admin} invites you to the workspace {workspace} of Crewship Memory as {role}."
        "\n\nTo accept, open this link within three days. It works once:\n\n{link}\n\n"
        "If you do not know what this is about, nothing happens without you.\n"
    ).format(
        admin=invitation.invited_by,
        workspace=workspace,
        role=role_name(invitation.role),
        link=link,
    )
    subject = gettext("Invitation to {workspace} in Crewship Memory").format(
        workspace=workspace
    )
    return EmailMessage(subject, body, None, [invitation.email])


# ── For the invited person ───────────────────────────────────────────────────
def by_token(token: str) -> Invitation | None:
    """Return the invitation of a valid link, None for any other."""
    rows = Invitation.objects.select_related("workspace")
    invitation = rows.filter(digest=api_keys.digest(token)).first()
    return invitation if invitation is not None and invitation.link_works else None


def of_person(user: User) -> list[Invitation]:
    rows = Invitation.objects.filter(email=user.email)
    return list(rows.select_related("workspace"))


def account_of(invitation: Invitation) -> User | None:
    """Return the account of the invited address, None without one."""
    return User.objects.filter(email=invitation.email).first()


def _locked(invitation_id: str) -> Invitation:
    rows = Invitation.objects.select_for_update()
    invitation = rows.filter(pk=invitation_id).first()
    if invitation is None:
        raise errors.NotFound
    return invitation


def accept(invitation_id: str, user: User, *, token: str = "") -> Membership:
    """Make a signed-in person a member, by the link or by their proven address.

    All sessions of the account end; the caller renews the present one.
    """
    with transaction.atomic():
        invitation = _locked(invitation_id)
        if invitation.email != user.email or not user.is_active:
            raise errors.NotFound
        by_link = bool(token) and _holds(invitation, token)
        if not by_link and not login_links.is_proven(user):
            detail = gettext("Open the link of the invitation while you are signed in.")
            raise errors.Forbidden(detail, code="link_needed")
        return _join(invitation, user, proves=by_link and invitation.mailed)


def accept_as_new(token: str, password: str) -> User:
    """Create the account of a new person by the link, and make them a member."""
    with transaction.atomic():
        invitation = by_token(token)
        if invitation is None:
            raise errors.NotFound
        invitation = _locked(invitation.pk)
        if not _holds(invitation, token) or account_of(invitation) is not None:
            raise errors.NotFound
        try:
            with transaction.atomic():
                user = User.objects.create_user(invitation.email, password)
        except IntegrityError:
            raise errors.NotFound from None
        _join(invitation, user, proves=invitation.mailed)
    return user


def _holds(invitation: Invitation, token: str) -> bool:
    return invitation.link_works and secrets.compare_digest(
        invitation.digest, api_keys.digest(token)
    )


def _join(invitation: Invitation, user: User, *, proves: bool) -> Membership:
    by = workspaces.person(user, invitation.role, invitation.workspace_id)
    _record("accepted", f"Somebody joined as {invitation.role}", invitation, by)
    member = workspaces.admit(user, Role(invitation.role), by=by)
    if proves:
        login_links.mark_proven(user)
    return member


def decline(invitation_id: str, user: User) -> None:
    """Decline an invitation; its link becomes invalid."""
    with transaction.atomic():
        invitation = _locked(invitation_id)
        if invitation.email != user.email:
            raise errors.NotFound
        by = workspaces.person(user, invitation.role, invitation.workspace_id)
        _record("declined", "An invitation was declined", invitation, by)
        invitation.delete()
