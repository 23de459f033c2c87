"""The built-in letters in English, and the words that go into them."""

from __future__ import annotations

from typing import Any, Final

from gdpr.models import (
    CaseKind,
    LetterOccasion,
    NoNoticeGround,
    NoticeState,
    RecipientAnswer,
    RecipientKind,
)

DATE: Final = "j F Y"
GREETING: Final = "Dear {name},"
GREETING_UNKNOWN: Final = "Dear Sir or Madam,"
REQUESTS: Final = {
    CaseKind.ACCESS: "access to your personal data (Article 15 GDPR)",
    CaseKind.ERASURE: "the erasure of your personal data (Article 17 GDPR)",
    CaseKind.RECTIFICATION: "the correction of your personal data (Article 16 GDPR)",
    CaseKind.RESTRICTION: (
        "the restriction of the processing of your personal data (Article 18 GDPR)"
    ),
    CaseKind.PORTABILITY: (
        "your personal data in a machine-readable form (Article 20 GDPR)"
    ),
    CaseKind.OBJECTION: (
        "an end to the processing of your personal data, to which you object"
        " (Article 21 GDPR)"
    ),
}
VERDICTS: Final = {
    "complete": (
        "The search afterwards, as the certificate describes it, reported nothing that"
        " is left under the names and identifiers that we know."
    ),
    "complete_except": (
        "The search afterwards, as the certificate describes it, reported nothing that"
        " is left under the names and identifiers that we know, except for what is"
        " listed there."
    ),
    "partial": (
        "The search afterwards found that something is left. We are working on it, and"
        " you will hear from us again."
    ),
}
EXCEPTIONS: Final = "This stays, for the reason given:"
RECIPIENTS: Final[dict[str, Any]] = {
    "heading": "Recipients of your data, as far as we can tell:",
    "kinds": {
        RecipientKind.WEBHOOK: "a receiver of events",
        RecipientKind.GATEWAY: "a memory gateway",
        RecipientKind.PROVIDER: "a remote memory service",
        RecipientKind.EMBEDDER: "a service that compares texts",
        RecipientKind.MODEL: "a service with a language model",
    },
    "certain": "received something about you",
    "possible": "may have received something about you",
    "notices": {
        NoticeState.WAITING: "we have not told them about your request yet",
        NoticeState.TO_NOTIFY: "we have not told them about your request yet",
        NoticeState.QUEUED: "we have not told them about your request yet",
        NoticeState.FAILED: "we could not tell them about your request yet",
        NoticeState.NOTIFIED: "we told them about your request on {day}",
        NoticeState.DELIVERED: "we told them about your request on {day}",
        NoticeState.ANSWERED: "we told them about your request on {day}",
    },
    "grounds": {
        NoNoticeGround.NOT_POSSIBLE: (
            "we do not tell them about your request, because it is not possible"
        ),
        NoNoticeGround.DISPROPORTIONATE: (
            "we do not tell them about your request, because it would be a"
            " disproportionate effort"
        ),
    },
    "answers": {
        RecipientAnswer.CARRIED_OUT: "they say that they carried it out",
        RecipientAnswer.NOT_HELD: "they say that they hold nothing about you",
        RecipientAnswer.REFUSED: "they refuse",
    },
    "more": "- more recipients, which we name on request: {count}",
}

_ENDING: Final = (
    "Kind regards\n\n{controller}\n{controller_contact}\n"
    "Our data protection officer: {dpo_contact}"
)
_COMPLAINT: Final = (
    "If you think that we handle your data or your request unlawfully, you can lodge a"
    " complaint with a data protection supervisory authority, in particular where you"
    " live, where you work, or where you think that the infringement took place"
    " (Article 77 GDPR). You can also go to court (Article 79 GDPR)."
)
_CERTIFICATE: Final = (
    "The proof is certificate {certificate_id}. It does not name you. {verdict}"
)
_CHECK: Final = (
    "Anyone can check the certificate at {check_page}. With the check code {check_code}"
    " you can look up there whether your e-mail address, your name or another"
    " identifier was among what we searched for. Keep the code to yourself: whoever has"
    " it and the certificate can test guesses."
)
_PROOF: Final = (
    "We keep this letter in encrypted form for {letter_days} days after sending it,"
    " longer only under a legal hold: it proves that we answered you"
    " (Article 5(2) GDPR)."
)
_RECIPIENTS: Final = "{recipients}"


def _letter(*paragraphs: str) -> str:
    return "\n\n".join(["{greeting}", *paragraphs, _ENDING])


_ANSWER: Final = "Answer to your request of {received_on} ({case_id})"
_REQUEST: Final = "On {received_on} you asked us for {request}. "
TEXTS: Final[dict[tuple[str, str], tuple[str, str]]] = {
    (LetterOccasion.RECEIVED, ""): (
        "We received your request of {received_on} ({case_id})",
        _letter(
            "Your request for {request} reached us on {received_on}. Its number with us"
            " is {case_id}; please quote it when you write to us about it.",
            "We will tell you by {due_on} at the latest what we did about it. The law"
            " gives us one month for that (Article 12(3) GDPR). Only where a request"
            " is complex, or where there are many, may this be extended by up to two"
            " months; we would tell you before {due_on}, with the reasons.",
            "Should we need to make sure who you are, we will ask you for it. Please do"
            " not send us copies of identity documents unasked.",
            _COMPLAINT,
        ),
    ),
    (LetterOccasion.EXTENDED, ""): (
        "We need more time for your request of {received_on} ({case_id})",
        _letter(
            _REQUEST + "We cannot answer it by {due_on} and extend the time until"
            " {extended_until} (Article 12(3) GDPR).",
            "The reason: {reason}",
            _COMPLAINT,
        ),
    ),
    (LetterOccasion.DONE, CaseKind.ACCESS): (
        _ANSWER,
        _letter(
            _REQUEST + "We have put together what we store about you. You receive it"
            " separately from this letter, as one file: pages that you can read, and"
            " the same as structured data (JSON).",
            "Where a text is about several people, the names of the others are"
            " replaced. Texts that may be about somebody else are left out,"
            " unless we established that they are about you.",
            _RECIPIENTS,
            "You can ask us to correct or to erase this data, to restrict its"
            " processing, and you can object to it (Articles 16, 17, 18 and 21 GDPR).",
            _COMPLAINT,
        ),
    ),
    (LetterOccasion.DONE, CaseKind.ERASURE): (
        _ANSWER,
        _letter(
            _REQUEST + "We have carried out the erasure.",
            "{exceptions}",
            _CERTIFICATE,
            _CHECK,
            _RECIPIENTS,
            _PROOF,
            _COMPLAINT,
        ),
    ),
    (LetterOccasion.DONE, CaseKind.RECTIFICATION): (
        _ANSWER,
        _letter(
            _REQUEST + "We have replaced the words that were wrong by the right ones.",
            "{exceptions}",
            _CERTIFICATE,
            _RECIPIENTS,
            _COMPLAINT,
        ),
    ),
    (LetterOccasion.DONE, CaseKind.RESTRICTION): (
        _ANSWER,
        _letter(
            _REQUEST + "We have restricted it: your data stays stored, and we use it no"
            " longer except as Article 18(2) GDPR allows. We will tell you before the"
            " restriction is lifted (Article 18(3) GDPR).",
            _RECIPIENTS,
            _COMPLAINT,
        ),
    ),
    (LetterOccasion.DONE, CaseKind.PORTABILITY): (
        _ANSWER,
        _letter(
            _REQUEST
            + "The file is ready. You receive it separately from this letter, in"
            " a structured, commonly used and machine-readable format (JSON, with a"
            " description of its fields). You may pass it on to whomever you like.",
            _COMPLAINT,
        ),
    ),
    (LetterOccasion.DONE, CaseKind.OBJECTION): (
        _ANSWER,
        _letter(
            _REQUEST + "We have stopped using your data. What is stored is restricted,"
            " and new texts that name you are refused.",
            _RECIPIENTS,
            _COMPLAINT,
        ),
    ),
    (LetterOccasion.REFUSED, ""): (
        _ANSWER,
        _letter(
            _REQUEST + "We cannot comply with it.",
            "The reason (Article 12(4) GDPR): {reason}",
            _COMPLAINT,
        ),
    ),
    (LetterOccasion.PARTLY_DONE, ""): (
        _ANSWER,
        _letter(
            _REQUEST + "We have complied with it in part.",
            "What we did not do, and why (Article 12(4) GDPR): {reason}",
            _COMPLAINT,
        ),
    ),
    (LetterOccasion.PARTLY_DONE, CaseKind.RECTIFICATION): (
        _ANSWER,
        _letter(
            _REQUEST + "We have replaced a part of the words that were wrong by the"
            " right ones.",
            "{exceptions}",
            _CERTIFICATE,
            _RECIPIENTS,
            _COMPLAINT,
        ),
    ),
    (LetterOccasion.PARTLY_DONE, CaseKind.ERASURE): (
        _ANSWER,
        _letter(
            _REQUEST + "We have erased a part of it.",
            "{exceptions}",
            _CERTIFICATE,
            _CHECK,
            _RECIPIENTS,
            _PROOF,
            _COMPLAINT,
        ),
    ),
}
