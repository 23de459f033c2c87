"""Telling many people that their request arrived: each letter drafted, kept and sent.

By mail where the case has an address for it and there is a mail server; otherwise the
letter is kept and waits for a person, or for the next time: one that was kept and not
sent is sent then. No other letter is written in bulk: what they say of one person is
worth reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from django.utils.translation import gettext, gettext_noop

from gdpr.cases import correspondence
from gdpr.letters import drafts, keeping, sending
from gdpr.letters.keeping import NewLetter
from gdpr.models import Case, Letter, LetterOccasion
from memory.accounts import mail
from memory.rules import bulk, errors
from memory.rules.bulk import Item, Outcome, Pick
from memory.rules.permissions import Actor

MAILED_STATE: Final = gettext_noop("sent by mail")
UNSENT_STATE: Final = gettext_noop("kept in the case, not sent")


def announce(actor: Actor, picks: Sequence[Pick], *, site: str = "") -> list[Item]:
    """Write to who asked that the request arrived, in the language of each case."""
    actor.require(keeping.MAY)
    is_down = False

    def act(case: Case, _pick: Pick) -> Outcome:
        nonlocal is_down
        letter = _waiting(case) or _keep_receipt(case, actor, site)
        address = correspondence.of(case)
        if not (mail.server_set() and address and address.email):
            return Outcome(state=UNSENT_STATE)
        if is_down:
            # Nobody waits for a server that is down, letter by letter.
            raise sending.not_sent()
        try:
            sending.by_mail(letter, by=actor)
        except errors.Unavailable:
            is_down = True
            raise
        return Outcome(state=MAILED_STATE)

    return bulk.run(picks, partial(_cases, actor), act, title=_title)


def _cases(actor: Actor, ids: list[str]) -> dict[str, Case]:
    rows = Case.objects.filter(workspace_id=actor.workspace_id)
    return rows.select_related("subject").in_bulk(ids)


def _title(case: Case) -> str:
    return f"{case.get_kind_display()} · {case.id}"


def _waiting(case: Case) -> Letter | None:
    """Return the receipt that was kept and not sent, None without one."""
    rows = Letter.objects.filter(workspace_id=case.workspace_id, case=case)
    return rows.filter(occasion=LetterOccasion.RECEIVED, sent_at=None).first()


def _keep_receipt(case: Case, actor: Actor, site: str) -> Letter:
    draft = drafts.make(case, LetterOccasion.RECEIVED, by=actor, site=site)
    if draft.missing:
        detail = gettext("The letter lacks: {names}.").format(
            names=", ".join(draft.missing)
        )
        raise errors.Conflict(detail, code="values_missing")
    new = NewLetter(
        occasion=draft.occasion,
        language=draft.language,
        subject=draft.subject,
        body=draft.body,
    )
    return keeping.keep(case, new, by=actor)
