"""The section *Letters* on the page of a case."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.utils.translation import gettext

from gdpr.cases import correspondence
from gdpr.cases.correspondence import Address
from gdpr.letters import keeping, occasions, sending, templates
from gdpr.models import Case, Letter, LetterOccasion
from gdpr.models.sealed import DoesNotOpen
from gdpr.web import letter_words
from gdpr.web.letter_forms import AddressForm, DraftChoice
from memory.rules.permissions import Actor


@dataclass(frozen=True, slots=True)
class Line:
    """A letter of the list."""

    letter: Letter
    is_unclear: bool

    @property
    def language(self) -> str:
        return letter_words.language(self.letter.language)


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """The letters of a case, what is missing, and where the answer goes."""

    case: Case
    lines: list[Line]
    missing: LetterOccasion | None
    choice: DraftChoice
    address: Address | None
    address_fault: str
    source: str
    form: AddressForm
    takes_address: bool
    languages: list[str] = field(default_factory=list)

    @property
    def suggestion(self) -> str:
        """What the person was not told yet; empty where nothing is missing."""
        return gettext(occasions.SENTENCES[self.missing]) if self.missing else ""

    @property
    def language(self) -> str:
        return letter_words.language(self.address.language) if self.address else ""


def of(actor: Actor, case: Case, form: AddressForm | None = None) -> Panel | None:
    """Return the section, None for an actor who writes no letters."""
    if not actor.can(keeping.MAY):
        return None
    letters = keeping.of_case(actor, case)
    address, fault = _address(actor, case)
    languages = templates.languages(case.workspace_id)
    occasion = occasions.missing_letter(case, keeping.sent_letters(letters))
    row = correspondence.row_of(case)
    return Panel(
        case=case,
        lines=[Line(letter, sending.is_unclear(letter)) for letter in letters],
        missing=occasion,
        choice=choice(case, languages, occasion, address),
        address=address,
        address_fault=fault,
        source=row.get_source_display() if row else "",
        form=form or _form(address),
        takes_address=correspondence.is_needed(case),
        languages=languages,
    )


def _address(actor: Actor, case: Case) -> tuple[Address | None, str]:
    try:
        return correspondence.present(actor, case), ""
    except DoesNotOpen as error:
        return None, error.detail


def _form(address: Address | None) -> AddressForm:
    first = address or Address()
    initial = {name: getattr(first, name) for name in AddressForm.base_fields}
    return AddressForm(initial=initial, auto_id="address-%s")


def choice(
    case: Case,
    languages: list[str],
    occasion: str | None,
    address: Address | None,
    language: str = "",
) -> DraftChoice:
    """Return the choice of a letter to draft, with what fits now chosen."""
    code = language or (address.language if address else "")
    offered = list(dict.fromkeys([*languages, *([code] if code else [])]))
    fitting = occasions.fitting(case)
    initial = {
        "occasion": str(occasion or fitting[0]),
        "language": code or offered[0],
    }
    return DraftChoice(occasions=fitting, languages=offered, initial=initial)
