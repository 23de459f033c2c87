"""Letters over the API: drafts, sealed letters, addresses, texts to start from."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ninja import Query, Router, Status

from gdpr.api import letter_schemas as schemas
from gdpr.cases import correspondence, transitions
from gdpr.cases.correspondence import Address
from gdpr.letters import drafts, keeping, occasions, placeholders, sending, templates
from gdpr.letters.keeping import NewLetter
from gdpr.letters.templates import Place, Text
from gdpr.models import Case, Letter, LetterWay
from memory.api.request import ApiRequest
from memory.rules.translation import gettext

router = Router(tags=["personal data"])
Answer = dict[str, Any]
PATH = "/cases/{case_id}/letters"


def _case(request: ApiRequest, case_id: str) -> Case:
    return transitions.case(request.auth, case_id)


def _letter(request: ApiRequest, case_id: str, letter_id: str) -> Letter:
    return keeping.get(request.auth, _case(request, case_id), letter_id)


def _line(letter: Letter) -> Answer:
    names = (
        "id", "occasion", "language", "kept_at", "kept_by", "way", "sent_at",
        "sent_by",
    )  # fmt: skip
    until = letter.keep_until.isoformat() if letter.keep_until else None
    return {name: getattr(letter, name) for name in names} | {"keep_until": until}


# ── Letters ──────────────────────────────────────────────────────────────────
@router.get(PATH, response=schemas.LettersOut, operation_id="list_letters")
def list_letters(request: ApiRequest, case_id: str) -> Answer:
    """List the letters of a case, and which one is missing."""
    case = _case(request, case_id)
    letters = keeping.of_case(request.auth, case)
    return {
        "items": [_line(letter) for letter in letters],
        "fitting": [name.value for name in occasions.fitting(case)],
        "missing": occasions.missing_letter(case, keeping.sent_letters(letters)),
    }


@router.post(
    PATH,
    response={200: schemas.DraftOut, 201: schemas.LetterOut},
    operation_id="make_letter",
)
def make(request: ApiRequest, case_id: str, data: schemas.LetterIn) -> Status[Answer]:
    """Draft a letter, which stores nothing; with `keep` keep it sealed in the case.

    Codes: `wrong_occasion`, `letter_waits`, `letter_sent`, `too_many_letters`,
    `bad_language`, `bad_subject`, `bad_body`, `does_not_open`.
    """
    case, by = _case(request, case_id), request.auth
    site = f"{request.scheme}://{request.get_host()}"
    draft = drafts.make(case, data.occasion, data.language, by=by, site=site)
    if not data.keep:
        return Status(200, asdict(draft))
    content = {
        "subject": draft.subject if data.subject is None else data.subject,
        "body": draft.body if data.body is None else data.body,
    }
    # Somebody's own words are in the language that they name.
    language = draft.language if data.body is None else draft.requested
    new = NewLetter(
        occasion=data.occasion, language=language, repeat=data.repeat, **content
    )
    letter = keeping.keep(case, new, by=by)
    return Status(201, _line(letter) | letter.opened() | {"to": None})


@router.get(
    PATH + "/{letter_id}", response=schemas.LetterOut, operation_id="get_letter"
)
def get(request: ApiRequest, case_id: str, letter_id: str) -> Answer:
    """Read a letter; the audit log records it. Code: `does_not_open`."""
    letter = _letter(request, case_id, letter_id)
    return _line(letter) | asdict(keeping.read(letter, by=request.auth))


@router.post(
    PATH + "/{letter_id}/send",
    response=schemas.LetterLineOut,
    operation_id="send_letter",
)
def send(
    request: ApiRequest, case_id: str, letter_id: str, data: schemas.SendLetterIn
) -> Answer:
    """Mail a letter, at most once, or note that it went by post.

    Codes: `letter_sent`, `letter_is_sent_now`, `letter_unclear` (a try was
    interrupted), `letter_unfilled` (a placeholder is left open), `no_email`,
    `no_mail_server`, `mail_not_sent` (503: try again), `mail_unclear` (503: it may
    have gone out).
    """
    letter = _letter(request, case_id, letter_id)
    if data.way == LetterWay.MAIL:
        return _line(sending.by_mail(letter, by=request.auth, repeat=data.repeat))
    return _line(sending.by_post(letter, by=request.auth))


@router.delete(
    PATH + "/{letter_id}", response={204: None}, operation_id="remove_letter"
)
def remove(request: ApiRequest, case_id: str, letter_id: str) -> Status[None]:
    """Remove a letter that was never sent. Code: `letter_sent`."""
    keeping.remove(_letter(request, case_id, letter_id), by=request.auth)
    return Status(204, None)


# ── Where the answer goes ────────────────────────────────────────────────────
def _address(address: Address | None) -> Answer:
    return asdict(address or Address())


@router.get(
    "/cases/{case_id}/correspondence",
    response=schemas.AddressOut,
    operation_id="get_correspondence",
)
def get_address(request: ApiRequest, case_id: str) -> Answer:
    """Get where the answer to a request goes. Code: `does_not_open`."""
    return _address(correspondence.present(request.auth, _case(request, case_id)))


@router.put(
    "/cases/{case_id}/correspondence",
    response=schemas.AddressOut,
    operation_id="change_correspondence",
)
def change_address(
    request: ApiRequest, case_id: str, data: schemas.AddressIn
) -> Answer:
    """Set where the answer goes. Codes: `bad_language`, `address_too_late`."""
    case = _case(request, case_id)
    address = correspondence.keep(case, Address(**data.model_dump()), by=request.auth)
    return _address(address if address.name or address.is_reachable else None)


# ── Texts ────────────────────────────────────────────────────────────────────
def _text(text: Text) -> Answer:
    return {
        **asdict(text.place),
        "subject": text.subject,
        "body": text.body,
        "version": text.version,
        "changed_by": text.own.changed_by if text.own else None,
        "changed_at": text.own.changed_at if text.own else None,
    }


def _place(data: schemas.LetterTextIn | schemas.LetterTextQuery) -> Place:
    return templates.place(data.occasion, data.kind or "", data.language)


@router.get(
    "/letter_templates",
    response=schemas.LetterTextsOut,
    operation_id="list_letter_templates",
)
def list_texts(request: ApiRequest, query: Query[schemas.LetterTextsQuery]) -> Answer:
    """List the texts that letters start from. Code: `bad_language`."""
    return {
        "items": [_text(row) for row in templates.texts(request.auth, query.language)],
        "placeholders": [
            {"name": row.name, "description": gettext(row.description)}
            for row in placeholders.ALL
        ],
    }


@router.put(
    "/letter_templates",
    response=schemas.LetterTextOut,
    operation_id="change_letter_template",
)
def change_text(request: ApiRequest, data: schemas.LetterTextIn) -> Answer:
    """Save a text of the workspace's own.

    Codes: `stale_version`, `unknown_placeholder`, `bad_placeholder`, `bad_subject`,
    `bad_body`, `bad_language`, `kind_required`, `too_many_texts`.
    """
    return _text(
        templates.save(
            _place(data), data.subject, data.body, data.version, by=request.auth
        )
    )


@router.delete(
    "/letter_templates", response={204: None}, operation_id="reset_letter_template"
)
def reset_text(
    request: ApiRequest, query: Query[schemas.LetterTextQuery]
) -> Status[None]:
    """Go back to the built-in text. Codes: `stale_version`, `bad_language`."""
    templates.reset(_place(query), query.version, by=request.auth)
    return Status(204, None)
