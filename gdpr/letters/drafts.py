"""Drafts: the text of a letter with the values of its case. Nothing is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.utils import timezone

from gdpr.cases import correspondence
from gdpr.cases.correspondence import clean_language
from gdpr.letters import (
    built_in,
    occasions,
    placeholders,
    recipients,
    templates,
    values,
)
from gdpr.letters.built_in import RecipientWords
from gdpr.letters.templates import Place, Text
from gdpr.models import Case, CaseKind, NoticeState, RecipientKind
from memory.rules.permissions import Actor

MAY: Final = "gdpr.manage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A letter to edit. ``language`` is that of its text, ``requested`` the one asked.

    ``missing`` are needed placeholders without a value: they stand in square brackets.
    """

    occasion: str
    kind: str
    language: str
    requested: str
    subject: str
    body: str
    missing: list[str]

    @property
    def is_other_language(self) -> bool:
        """Whether there is no text in the language that was asked for."""
        return built_in.base(self.language) != built_in.base(self.requested)


def make(
    case: Case, occasion: str, language: str = "", *, by: Actor, site: str = ""
) -> Draft:
    """Return the draft of a letter; without a language in that of the case's address.

    Raises Conflict ``wrong_occasion`` where the case is not in that state.
    """
    by.require(MAY, case.workspace_id)
    name = occasions.require_fit(case, occasion)
    address = correspondence.of(case)
    requested = clean_language(language or (address.language if address else ""))
    where = Place(occasion=name.value, kind=case.kind, language=requested)
    text = templates.in_force(case.workspace_id, where)
    code = text.place.language
    filled = values.of(case, name.value, code, address, by=by, site=site)
    if placeholders.has(text.subject + text.body, "recipients"):
        filled["recipients"] = recipients.block(case, code, by=by)
    return _draft(text, requested, filled, case.kind)


def _draft(text: Text, requested: str, filled: dict[str, str], kind: str) -> Draft:
    subject, gaps = placeholders.fill(text.subject, filled)
    body, body_gaps = placeholders.fill(text.body, filled)
    return Draft(
        occasion=text.place.occasion,
        kind=kind,
        language=text.place.language,
        requested=requested,
        subject=" ".join(subject.split()),
        body=body,
        missing=list(dict.fromkeys([*gaps, *body_gaps])),
    )


# ── Preview ──────────────────────────────────────────────────────────────────
def preview(where: Place, subject: str, body: str, *, by: Actor) -> Draft:
    """Return a text with sample values, checked as if it were saved."""
    by.require("gdpr.read")
    text = templates.checked(where, subject, body)
    return _draft(text, where.language, _sample(where), where.kind)


def _sample(where: Place) -> dict[str, str]:
    words = built_in.words(where.language)
    name, kind = "Maria Keller", CaseKind(where.kind or CaseKind.ACCESS)
    today = built_in.day(timezone.now().date(), where.language)
    return {
        "greeting": words.greeting.format(name=name),
        "name": name,
        "request": words.requests[kind],
        "case_id": "c_0123456789abcdef",
        "ticket": "T-1024",
        "received_on": today,
        "due_on": today,
        "extended_until": today,
        "reason": "…",
        "controller": "Example Ltd",
        "controller_contact": "privacy@example.org",
        "dpo_contact": "dpo@example.org",
        "certificate_id": "cert_0123456789abcdef",
        "verdict": words.verdicts["complete_except"],
        "exceptions": f"{words.exceptions}\n- …",
        "check_page": f"https://memory.example.org{values.CHECK_PATH}",
        "check_code": "0" * 64,
        "recipients": _sample_recipients(words.recipients, today),
        "today": today,
        "letter_days": "1095",
    }


def _sample_recipients(words: RecipientWords, today: str) -> str:
    kind = words.kinds[RecipientKind.WEBHOOK]
    notice = words.notices[NoticeState.NOTIFIED].format(day=today)
    line = f"- hooks.example.org ({kind}): {words.certain}; {notice}"
    return f"{words.heading}\n{line}"
