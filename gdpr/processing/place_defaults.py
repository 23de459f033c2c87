"""What the record of processing proposes for each place of the data map.

Proposals: an officer confirms or replaces purpose and legal basis. They are in English
where they are stored or sent, and in the reader's language on pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext_noop

# ── People ───────────────────────────────────────────────────────────────────
TOLD: Final = gettext_noop("People whom agents talk with, or about")
MEMBERS: Final = gettext_noop("Members of the workspace and people they invited")
ASKING: Final = gettext_noop("People who asked about their data; members who answered")
# ── Purposes ─────────────────────────────────────────────────────────────────
REMEMBER: Final = gettext_noop("To let agents remember what was said and done")
FIND: Final = gettext_noop("To find what agents remember")
OPERATE: Final = gettext_noop("To operate the installation and to find faults")
SIGN_IN: Final = gettext_noop("To let members and programs sign in, and nobody else")
PROTECT: Final = gettext_noop("To keep harmful and secret texts out of the memory")
MEASURE: Final = gettext_noop("To measure and improve what agents recall")
INFORM: Final = gettext_noop("To tell other systems what happened")
ANSWER: Final = gettext_noop("To answer requests of people, and to prove it")
# ── Legal bases ──────────────────────────────────────────────────────────────
INTEREST: Final = gettext_noop(
    "Legitimate interest, Article 6(1)(f): agents that know what was agreed"
)
SECURITY: Final = gettext_noop(
    "Legitimate interest, Article 6(1)(f): security of processing (Article 32)"
)
OBLIGATION: Final = gettext_noop(
    "Legal obligation, Article 6(1)(c): requests of people (Articles 12 to 22) and"
    " proof of them (Article 5(2))"
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is there, of whom, why, and on what ground."""

    data: str
    people: str
    purpose: str
    basis: str


_NAMES_WORDS: Final = gettext_noop("Names and what was said in free text")
_DERIVED: Final = gettext_noop("Values computed from entries: words, vectors, links")
_WHO: Final = gettext_noop("Who did it; names within what was done")


def _memory(data: str) -> Proposal:
    return Proposal(data, TOLD, REMEMBER, INTEREST)


def _search(data: str) -> Proposal:
    return Proposal(data, TOLD, FIND, INTEREST)


def _staff(data: str, purpose: str) -> Proposal:
    return Proposal(data, MEMBERS, purpose, SECURITY)


def _request(data: str) -> Proposal:
    return Proposal(data, ASKING, ANSWER, OBLIGATION)


PROPOSALS: Final[dict[str, Proposal]] = {
    "exports": _request(gettext_noop("All data of a person, sealed in one bundle")),
    "idempotency": _memory(gettext_noop("Answers that repeat what was written")),
    "deliveries": Proposal(_NAMES_WORDS, TOLD, INFORM, INTEREST),
    "recall_checks": Proposal(
        gettext_noop("Questions that may name somebody"), TOLD, MEASURE, INTEREST
    ),
    "recall_log": Proposal(
        gettext_noop("Questions that may name somebody, and what came back"),
        TOLD,
        MEASURE,
        INTEREST,
    ),
    "proposals": _memory(gettext_noop("Rules drawn from entries, with their words")),
    "health": Proposal(
        gettext_noop("Words of entries in the details of measurements"),
        TOLD,
        MEASURE,
        INTEREST,
    ),
    "imports": _memory(_NAMES_WORDS),
    "intake": _request(gettext_noop("What people asked by the form, unconfirmed")),
    "retention": _staff(gettext_noop("Reasons of rules, and who set them"), OPERATE),
    "jobs": _staff(_WHO, OPERATE),
    "providers": _staff(_WHO, OPERATE),
    "filters": _staff(gettext_noop("Words that members searched for"), OPERATE),
    "gateway": Proposal(
        gettext_noop("Ids of users at another memory service"), TOLD, SIGN_IN, SECURITY
    ),
    "webhooks": _staff(_WHO, INFORM),
    "keys": _staff(gettext_noop("Names of keys, and ids of end users"), SIGN_IN),
    "tenancy": _staff(gettext_noop("Names of crews and agents, settings"), OPERATE),
    "admin_log": _staff(_WHO, OPERATE),
    "sessions": _staff(gettext_noop("Who is signed in, from which browser"), SIGN_IN),
    "logins": _staff(
        gettext_noop("E-mail address, name, role, digest of the password, sign-ins"),
        SIGN_IN,
    ),
    "records": _memory(_NAMES_WORDS),
    "held": Proposal(_NAMES_WORDS, TOLD, PROTECT, SECURITY),
    "files": _memory(_NAMES_WORDS),
    "strays": _memory(gettext_noop("Files of an interrupted write")),
    "priorities": _memory(gettext_noop("Reasons in free text, and who gave them")),
    "archive": _memory(_NAMES_WORDS),
    "journal": _memory(_NAMES_WORDS),
    "vectors": _search(_DERIVED),
    "relations": _search(_DERIVED),
    "map": _search(_DERIVED),
    "word_index": _search(_DERIVED),
    "caches": _search(gettext_noop("Questions of the last minutes, in memory only")),
    "logs": _staff(gettext_noop("Routes, ids and times; no body of a text"), OPERATE),
    "letters": _request(
        gettext_noop("Letters about requests; names and addresses to answer to, sealed")
    ),
    "letter_templates": _request(
        gettext_noop("Texts that letters start from; who changed them")
    ),
    "recipients": _request(
        gettext_noop("Whom data went to, their addresses, notices and answers")
    ),
    "decisions": _request(gettext_noop("Addresses decided on, reasons in free text")),
    "cases": _request(
        gettext_noop("Requests, their reasons, answers and proof; who handled them")
    ),
    "subjects": _request(gettext_noop("Names, e-mail addresses, telephone numbers")),
}


def of(place: str) -> Proposal:
    """Return the proposal for a place; one with no detail for a place that is new."""
    return PROPOSALS.get(place) or _memory(_NAMES_WORDS)
