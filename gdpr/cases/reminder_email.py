"""E-mails about cases: the daily digest of pressing ones, and reminders by hand.

The digest has what is due within a week, or overdue. It goes to the workspace's
compliance officers and admins, once a day per case; a reminder goes to an assignee.
They name no person, because e-mail is not confidential: only ids and days are in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Final

import structlog
from django.core.cache import cache
from django.core.mail import EmailMessage
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from gdpr.cases import deadlines, privacy_settings, queries
from gdpr.models import OPEN, Case, CaseKind
from memory.accounts import mail
from memory.accounts.languages import mail_language
from memory.jobs.registry import Outcome
from memory.journal import append as journal
from memory.models import Membership, User, Workspace
from memory.rules import permissions
from memory.rules.entries import NewEntry
from memory.rules.permissions import Role
from memory.rules.translation import within_sentence

RECIPIENT_ROLES: Final = (Role.COMPLIANCE.value, Role.ADMIN.value)
log = structlog.get_logger(__name__)


def _users(workspace_id: str) -> list[User]:
    rows = Membership.objects.filter(
        workspace_id=workspace_id, role__in=RECIPIENT_ROLES, user__is_active=True
    )
    return [row.user for row in rows.select_related("user").order_by("user__email")]


def recipients(workspace_id: str) -> list[str]:
    return [user.email for user in _users(workspace_id)]


def urgent_cases(
    workspace_id: str, now: datetime
) -> list[tuple[Case, queries.Deadline]]:
    """Return open cases due within a week or overdue, the most urgent first."""
    rules = privacy_settings.of(workspace_id)
    rows = Case.objects.filter(workspace_id=workspace_id, state__in=OPEN)
    cases_by_deadline = [(case, queries.deadline(case, rules, now)) for case in rows]
    urgent = [(case, due) for case, due in cases_by_deadline if due.urgency != "later"]
    return sorted(urgent, key=lambda pair: (pair[1].due_at, pair[0].pk))


def _claim(items: list[tuple[Case, queries.Deadline]], today: date) -> list[str]:
    """Claim the cases not sent today: of two senders one gets each case."""
    claimed_ids = []
    for case, _ in items:
        rows = Case.objects.filter(workspace_id=case.workspace_id, pk=case.pk)
        fresh = rows.filter(Q(digest_sent_on=None) | Q(digest_sent_on__lt=today))
        if fresh.update(digest_sent_on=today):
            claimed_ids.append(case.pk)
    return claimed_ids


def _release(workspace_id: str, case_ids: list[str], today: date) -> None:
    rows = Case.objects.filter(workspace_id=workspace_id, pk__in=case_ids)
    rows.update(digest_sent_on=today - timedelta(days=1))


def _lines(items: list[tuple[Case, queries.Deadline]]) -> list[str]:
    # The words of a deadline may have been made in another language.
    words = [deadlines.words(due.days_left) for _, due in items]
    width = max(16, *map(len, words)) if words else 0
    return [
        f"{phrase:<{width}} {case.id}  {CaseKind(case.kind).label}, "
        f"{within_sentence(case.get_state_display())}"
        for (case, _), phrase in zip(items, words, strict=True)
    ]


def text(
    workspace: Workspace, items: list[tuple[Case, queries.Deadline]]
) -> tuple[str, str]:
    """Return subject and body of the e-mail: ids, kinds, states and days.

    In the language of the thread: the caller sets that of the recipient.
    """
    late = sum(due.urgency == "overdue" for _, due in items)
    subject = ngettext(
        "{count} case needs attention in {workspace}",
        "{count} cases need attention in {workspace}",
        len(items),
    )
    if late:
        subject = ngettext(
            "{count} case needs attention in {workspace}, {late} overdue",
            "{count} cases need attention in {workspace}, {late} overdue",
            len(items),
        )
    lines = _lines(items)
    start = gettext("Requests of people about their data, the most urgent first:")
    end = gettext("Open Crewship Memory, Cases, to go on with them.")
    return (
        subject.format(count=len(items), workspace=workspace.slug, late=late),
        "\n\n".join([start, "\n".join(lines), end]) + "\n",
    )


def _messages(
    workspace_id: str, items: list[tuple[Case, queries.Deadline]], to: list[User]
) -> list[EmailMessage]:
    """Return one message each, so that no recipient sees the others."""
    workspace = Workspace.objects.get(pk=workspace_id)
    messages = []
    for user in to:
        with mail_language(user):
            subject, body = text(workspace, items)
        messages.append(EmailMessage(subject, body, None, [user.email]))
    return messages


def send(workspace_id: str, now: datetime | None = None) -> Outcome:
    """Send today's digest of a workspace, unless no case is urgent."""
    moment, rules = now or timezone.now(), privacy_settings.of(workspace_id)
    if not rules.digest:
        return Outcome()
    urgent, to = urgent_cases(workspace_id, moment), _users(workspace_id)
    if not urgent or not to:
        return Outcome(
            fault="No compliance officer or admin has an address" if urgent else ""
        )
    today = moment.astimezone(privacy_settings.zone(rules)).date()
    if not mail.server_set():
        return _not_sent(workspace_id, today, len(urgent), len(to))
    claimed_ids = _claim(urgent, today)
    items = [(case, due) for case, due in urgent if case.pk in claimed_ids]
    if not items:
        return Outcome()
    try:
        mail.send("case digest", _messages(workspace_id, items, to))
    except OSError as error:
        # Nothing was sent, so the next scheduled run tries again.
        _release(workspace_id, claimed_ids, today)
        log.warning("digest_not_sent", workspace=workspace_id)
        return Outcome(fault=f"The mail did not go out: {type(error).__name__}")
    _record(workspace_id, claimed_ids, len(to))
    return Outcome({"cases": len(items), "mails": len(to)})


def _not_sent(workspace_id: str, today: date, cases: int, mails: int) -> Outcome:
    """Log once a day that no mail server is set; no case counts as sent."""
    if cache.add(f"digest-not-sent:{workspace_id}:{today}", 1, timeout=86_400):
        mail.not_sent("case digest", mails)
    return Outcome({"cases": cases, "mails": 0})


def _record(workspace_id: str, case_ids: list[str], mails: int) -> None:
    new = NewEntry(
        entry_type="gdpr.digest_sent",
        summary=f"Digest of {len(case_ids)} cases sent",
        payload={"case_ids": case_ids, "mails": mails},
    )
    journal.write([new], by=permissions.system(workspace_id, "gdpr"))


# ── Reminders by hand ────────────────────────────────────────────────────────
def remind(workspace_id: str, cases: Mapping[str, list[Case]]) -> set[str]:
    """Mail assignees their cases, one mail each; return who could not be reached.

    ``cases`` is address → cases. Only called where a mail server is set.
    """
    rules = privacy_settings.of(workspace_id)
    users = {user.email: user for user in _users(workspace_id)}
    slug = Workspace.objects.get(pk=workspace_id).slug
    unreachable = set()
    for address, own_cases in cases.items():
        items = [(case, queries.deadline(case, rules)) for case in own_cases]
        items.sort(key=lambda pair: (pair[1].due_at, pair[0].pk))
        with mail_language(users.get(address)):
            message = _reminder(slug, items, address)
        try:
            mail.send("case reminder", [message])
        except OSError:
            log.warning("reminder_not_sent", workspace=workspace_id)
            unreachable.add(address)
    return unreachable


def _reminder(
    slug: str, items: list[tuple[Case, queries.Deadline]], address: str
) -> EmailMessage:
    subject = ngettext(
        "{count} case in {workspace} waits for you",
        "{count} cases in {workspace} wait for you",
        len(items),
    ).format(count=len(items), workspace=slug)
    start = gettext("Requests of people about their data, assigned to you:")
    end = gettext("Open Crewship Memory, Cases, to go on with them.")
    body = "\n\n".join([start, "\n".join(_lines(items)), end]) + "\n"
    return EmailMessage(subject, body, None, [address])
