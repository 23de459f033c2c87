"""The place of recipients: notices to whom a person's data went, and addresses."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_noop

from gdpr.data_map.table_holder import Rule, Table, TableHolder
from gdpr.models import Recipient, RecipientContact

RECIPIENTS: Final = TableHolder(
    "recipients",
    gettext_noop("Recipients, notices to them and their answers"),
    Table(
        model=Recipient,
        owner="case__subject_ref",
        words=("name", "received", "reason", "answer_note"),
        labels=("added_by", "notified_by", "decided_by", "answered_by"),
        facts=("last_error", "evidence"),
        rule=Rule.MASKED,
        at="added_at",
        why=gettext_noop(
            "It names the person; that a recipient was notified has to stay."
        ),
    ),
    Table(
        model=RecipientContact,
        words=("name", "email"),
        labels=("changed_by",),
        unique=("name",),
        rule=Rule.MASKED,
        at="changed_at",
        why=gettext_noop("The address of a recipient names the person."),
    ),
)
