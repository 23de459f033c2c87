"""Which letter fits a case now, and which one is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from django.utils.translation import gettext, gettext_noop

from gdpr.cases import correspondence
from gdpr.models import Case, CaseState, Letter, LetterOccasion
from memory.rules import errors

# The occasion of a letter that went out, and when.
SentLetter = tuple[str, datetime]
# Each tells the person how the request ended; afterwards nobody needs the address.
CLOSING: Final = (
    LetterOccasion.DONE,
    LetterOccasion.PARTLY_DONE,
    LetterOccasion.REFUSED,
)
_ENDS: Final = {
    CaseState.COMPLETE: LetterOccasion.DONE,
    CaseState.REFUSED: LetterOccasion.REFUSED,
    CaseState.PARTIAL: LetterOccasion.PARTLY_DONE,
}
SENTENCES: Final = {
    LetterOccasion.RECEIVED: gettext_noop(
        "The person was not told yet that the request arrived."
    ),
    LetterOccasion.EXTENDED: gettext_noop(
        "The extension was not announced to the person yet."
    ),
    LetterOccasion.DONE: gettext_noop(
        "The person was not told yet that the request was carried out."
    ),
    LetterOccasion.REFUSED: gettext_noop(
        "The person was not told yet that the request was refused."
    ),
    LetterOccasion.PARTLY_DONE: gettext_noop(
        "The person was not told yet that the request was carried out in part."
    ),
}


def fitting(case: Case) -> list[LetterOccasion]:
    """Return the occasions that the case is in, the most pressing first."""
    end = _ENDS.get(CaseState(case.state))
    occasions = [end] if end else []
    if case.state == CaseState.COMPLETE:
        occasions.append(LetterOccasion.PARTLY_DONE)
    if case.extended_until:
        occasions.append(LetterOccasion.EXTENDED)
    return [*occasions, LetterOccasion.RECEIVED]


def missing_letter(case: Case, letters: Iterable[SentLetter]) -> LetterOccasion | None:
    """Return the occasion that the person was not told of, the most pressing one.

    A closed case lacks its closing letter alone, and that for as long as it keeps an
    address. What was sent before it was closed is no closing letter.
    """
    sent_letters = list(letters)
    sent_occasions = {occasion for occasion, _ in sent_letters}
    end = _ENDS.get(CaseState(case.state))
    closed_at = case.closed_at
    if end and closed_at:
        is_told = any(name in CLOSING and at >= closed_at for name, at in sent_letters)
        return None if is_told or not correspondence.is_needed(case) else end
    if end and end not in sent_occasions:
        return end
    if case.extended_until and LetterOccasion.EXTENDED not in sent_occasions:
        return LetterOccasion.EXTENDED
    return None if sent_letters else LetterOccasion.RECEIVED


def require_fit(case: Case, occasion: str) -> LetterOccasion:
    """Return an occasion that the case is in, or raise Conflict."""
    if occasion not in LetterOccasion.values:
        raise errors.unknown_value("occasion", LetterOccasion.values)
    if occasion not in fitting(case):
        raise errors.Conflict(
            gettext("The case is not in the state that this letter tells of."),
            code="wrong_occasion",
            fitting=[name.value for name in fitting(case)],
        )
    return LetterOccasion(occasion)


def missing_in(cases: Sequence[Case]) -> dict[str, LetterOccasion]:
    """Return case id → what the law wants the person to be told and nobody sent.

    That a request arrived is courtesy: a list of cases is silent about it.
    """
    sent_letters: dict[str, list[SentLetter]] = {case.id: [] for case in cases}
    rows = Letter.objects.filter(case_id__in=list(sent_letters), sent_at__isnull=False)
    for case_id, occasion, at in rows.values_list("case_id", "occasion", "sent_at"):
        if at is not None:
            sent_letters[case_id].append((occasion, at))
    result = {case.id: missing_letter(case, sent_letters[case.id]) for case in cases}
    return {
        case_id: occasion
        for case_id, occasion in result.items()
        if occasion and occasion != LetterOccasion.RECEIVED
    }
