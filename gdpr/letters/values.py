"""What stands for the placeholders of a letter: values of a case, in its language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.utils import timezone, translation
from django.utils.translation import gettext

from gdpr.cases import privacy_settings
from gdpr.cases.correspondence import Address
from gdpr.cases.transitions import ERASED
from gdpr.certificates import document as certificate_document
from gdpr.certificates import issue as certificates
from gdpr.certificates import statement
from gdpr.data_map import letters as letter_place
from gdpr.letters import built_in
from gdpr.models import Case, CaseKind, Certificate, LetterOccasion
from gdpr.processing import controller
from memory.figures import grouped
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.rules.stored_sentences import translated

CHECK_PATH: Final = "/certificates/check/"
# Stored sentences with values in them.
_TEMPLATES: Final = (letter_place.PROOF, statement.TRACES)


def of(
    case: Case,
    occasion: str,
    language: str,
    address: Address | None,
    *,
    by: Actor,
    site: str = "",
) -> dict[str, str]:
    """Return placeholder → value; empty where there is none.

    Without the recipients, which ``gdpr.letters.recipients`` searches for.

    ``site`` is the address of this installation, for the check page, unless a setting
    has it.
    """
    words = built_in.words(language)
    name = _name(case, address)
    rules = privacy_settings.of(case.workspace_id)
    zone = privacy_settings.zone(rules)

    def day(moment: datetime | None) -> str:
        return built_in.day(moment.astimezone(zone), language) if moment else ""

    greeting = words.greeting.format(name=name) if name else words.greeting_unknown
    return {
        "greeting": greeting,
        "name": name,
        "request": words.requests[CaseKind(case.kind)],
        "case_id": case.id,
        "ticket": _unless_erased(case.ticket),
        "received_on": day(case.received_at),
        "due_on": day(case.due_at),
        "extended_until": day(case.extended_until),
        "reason": _reason(case, occasion),
        **asdict(controller.of(case.workspace_id)),
        "today": day(timezone.now()),
        "letter_days": _number(rules.letter_days, language),
        **_proof(case, language, by=by, site=site),
    }


def _name(case: Case, address: Address | None) -> str:
    if address and address.name:
        return address.name
    return case.subject.display_name if case.subject else ""


def _unless_erased(text: str) -> str:
    return "" if text == ERASED else text


def _reason(case: Case, occasion: str) -> str:
    is_extension = occasion == LetterOccasion.EXTENDED
    return _unless_erased(
        case.extension_reason if is_extension else case.refusal_reason
    )


def _number(count: int, language: str) -> str:
    code = built_in.base(language) if built_in.is_known(language) else ""
    with translation.override(code or settings.LANGUAGE_CODE):
        return grouped(count)


# ── The certificate ──────────────────────────────────────────────────────────
def _proof(case: Case, language: str, *, by: Actor, site: str) -> dict[str, str]:
    """Return what the certificate says, empty for a case without one."""
    empty = ("certificate_id", "verdict", "exceptions", "check_page", "check_code")
    try:
        certificate = certificates.of_case(by, case)
    except errors.NotFound:
        return dict.fromkeys(empty, "")
    content = certificate_document.parse(certificate.document)["content"]
    code = certificates.check_code(by, certificate)
    address = settings.PUBLIC_URL or site
    check_page = f"{address.rstrip('/')}{CHECK_PATH}" if address and code else ""
    verdict = str(content.get("verdict", ""))
    return {
        "certificate_id": certificate.pk,
        "verdict": built_in.words(language).verdicts.get(verdict, ""),
        "exceptions": _exceptions(certificate, content, language),
        "check_page": check_page,
        "check_code": code if check_page else "",
    }


def _exceptions(
    certificate: Certificate, content: Mapping[str, Any], language: str
) -> str:
    """Return what the certificate excepts, a line each below its heading.

    Its sentences are stored in English and stay so where the language has none.
    """
    known_code = built_in.base(language) if built_in.is_known(language) else ""
    with translation.override(known_code or settings.LANGUAGE_CODE):
        lines = [f"- {line}" for line in _lines(certificate, content)]
    return "\n".join([built_in.words(language).exceptions, *lines]) if lines else ""


def _lines(certificate: Certificate, content: Mapping[str, Any]) -> list[str]:
    titles = {
        place["name"]: place["title"]
        for place in content.get("searched", {}).get("places", ())
    }
    lines = []
    for row in content.get("kept", {}).get("rows", ()):
        title = gettext(titles.get(row["place"], row["place"]))
        sentence = translated(row["sentence"], _TEMPLATES, _value)
        count = f" ({grouped(row['rows'])})" if row["rows"] else ""
        lines.append(f"{title}{count}: {sentence}")
    gaps = (
        line["sentence"]
        for line in content.get("exceptions", ())
        if line["code"] in ("not_sought", "not_searched")
    )
    lines += [translated(sentence, _TEMPLATES, _value) for sentence in gaps]
    traces = int(content.get("residue", {}).get("found", 0) or 0)
    if certificate.result == "partial" and traces:
        sentence = statement.TRACE if traces == 1 else statement.TRACES
        lines.append(gettext(sentence).format(count=grouped(traces)))
    return lines


def _value(text: str) -> str:
    """Return a value of a stored sentence as the language writes it."""
    if text.isdecimal():
        return grouped(int(text))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return built_in.day(moment, translation.get_language() or built_in.FALLBACK)
