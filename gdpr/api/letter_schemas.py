"""Request and response shapes of letters, their texts and addresses."""

from __future__ import annotations

from typing import Annotated

from ninja import Schema
from pydantic import Field

from gdpr.cases import correspondence
from gdpr.letters import templates
from gdpr.models import CaseKind, LetterOccasion, LetterWay
from memory.api.shapes import ListParams, Stamp, TextOrNull
from memory.rules.shapes import NO_NUL, Strict

Language = Annotated[
    str,
    Field(
        strict=True,
        max_length=correspondence.LANGUAGE_CHARS,
        description="A BCP 47 code such as en, de or pt-BR.",
    ),
]
Subject = Annotated[
    str, Field(strict=True, max_length=templates.SUBJECT_CHARS, pattern=NO_NUL)
]
Body = Annotated[
    str, Field(strict=True, max_length=templates.BODY_CHARS, pattern=NO_NUL)
]


# ── Requests ─────────────────────────────────────────────────────────────────
class LetterIn(Strict):
    """A letter to draft, or with `keep` to keep; the draft's words by default."""

    occasion: LetterOccasion
    language: Language = ""
    subject: Subject | None = None
    body: Body | None = None
    keep: bool = Field(
        default=False, description="Keep it sealed in the case, to be sent."
    )
    repeat: bool = Field(
        default=False,
        description="Keep it although a letter of this occasion was sent.",
    )


class SendLetterIn(Strict):
    """How it goes: `mail` sends it now, `post` notes that it was posted."""

    way: LetterWay
    repeat: bool = Field(
        default=False,
        description="Mail it after a try whose end is unknown (letter_unclear).",
    )


class AddressIn(Strict):
    """Whom to answer, where, and in which language; nothing removes the address."""

    name: str = Field("", strict=True, max_length=correspondence.NAME_CHARS)
    email: str = Field("", strict=True, max_length=254)
    post: str = Field("", strict=True, max_length=correspondence.POST_CHARS)
    language: Language = ""


class LetterTextIn(Strict):
    """A text to save; `version` is the one that was read, 0 for a built-in text."""

    occasion: LetterOccasion
    kind: CaseKind | None = Field(
        None,
        description="For this kind of request; null for every kind without its own.",
    )
    language: Language
    subject: Subject
    body: Body
    version: int = Field(0, ge=0)


class LetterTextsQuery(ListParams):
    """Of which language; without one of all."""

    language: Language = ""


class LetterTextQuery(ListParams):
    """The text to go back from."""

    occasion: LetterOccasion
    kind: CaseKind | None = None
    language: Language
    version: int = Field(ge=1)


# ── Responses ────────────────────────────────────────────────────────────────
class AddressOut(Schema):
    """The address of a case; every value is null where there is none."""

    name: TextOrNull
    email: TextOrNull
    post: TextOrNull
    language: TextOrNull


class LetterLineOut(Schema):
    """A letter of a case, without its words. Unsent where `sent_at` is null."""

    id: str
    occasion: str
    language: str
    kept_at: Stamp
    kept_by: str
    way: TextOrNull
    sent_at: Stamp | None
    sent_by: TextOrNull
    keep_until: str | None


class LettersOut(Schema):
    """The letters of a case, the newest first."""

    items: list[LetterLineOut]
    fitting: list[str] = Field(description="The occasions that the case is in.")
    missing: str | None = Field(
        description="The occasion that the person was not told of yet."
    )


class DraftOut(Schema):
    """A draft, which is stored nowhere.

    `missing` are needed placeholders without a value: they stand in square brackets.
    """

    occasion: str
    language: str
    subject: str
    body: str
    missing: list[str]


class LetterOut(LetterLineOut):
    """A letter with its words; `to` is the address it went to."""

    subject: str
    body: str
    to: TextOrNull


class LetterTextOut(Schema):
    """A text that letters start from; `version` is 0 for a built-in one."""

    occasion: str
    kind: TextOrNull
    language: str
    subject: str
    body: str
    version: int
    changed_by: TextOrNull
    changed_at: Stamp | None


class PlaceholderOut(Schema):
    """A name in braces, and what stands for it."""

    name: str
    description: str


class LetterTextsOut(Schema):
    """The texts in force, and the placeholders that they may have."""

    items: list[LetterTextOut]
    placeholders: list[PlaceholderOut]
