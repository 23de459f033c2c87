"""Sentences of what people asked about their data, and what was done about it."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_noop

from gdpr.export.readable.kinds import Kind

KINDS: Final[dict[str, Kind]] = {
    "cases": Kind(
        messages=(gettext_noop("A request about data was received on {when}."),),
        at="received_at",
        quotes=("reason", "extension_reason", "refusal_reason"),
        variant_column="kind",
        variants={
            "access": (
                gettext_noop(
                    "Received on {when}: a request for a copy of data."
                ),
            ),
            "erasure": (
                gettext_noop("Received on {when}: a request to erase data."),
            ),
            "rectification": (
                gettext_noop("Received on {when}: a request to correct data."),
            ),
            "restriction": (
                gettext_noop(
                    "Received on {when}: a request to keep data without using it."
                ),
            ),
            "portability": (
                gettext_noop(
                    "Received on {when}: a request for data in a form for another"
                    " service."
                ),
            ),
            "objection": (
                gettext_noop(
                    "Received on {when}: an objection to the use of data."
                ),
            ),
        },
        machine=frozenset({"result"}),
    ),
    "cases:caseplan": Kind(
        messages=(
            gettext_noop(
                "On {when} {made_by} had every place searched for a person, for a"
                " request."
            ),
        ),
        at="made_at",
        machine=frozenset({"body"}),
    ),
    "cases:caseevent": Kind(
        messages=(gettext_noop("On {when} this was noted on a request:"),),
        at="at",
        quotes=("text",),
        machine=frozenset({"data"}),
    ),
    "cases:rowverdict": Kind(
        messages=(
            gettext_noop(
                "On {when} {decided_by} decided whose a row is: {verdict_word}."
            ),
        ),
        at="decided_at",
        quotes=("reason",),
    ),
    "cases:casestep": Kind(
        messages=(gettext_noop("On {when} a step of a request was carried out."),),
        at="started_at",
        machine=frozenset({"counts", "name"}),
    ),
    "cases:hold": Kind(
        messages=(
            gettext_noop(
                "On {when} {placed_by} noted a legal reason to keep data:"
            ),
        ),
        at="placed_at",
        quotes=("reason", "release_reason"),
    ),
    "cases:gdpraction": Kind(
        messages=(
            gettext_noop(
                "On {when} the audit log noted: {action_word}, by {actor_label}"
                " ({status_word})."
            ),
            gettext_noop(
                "On {when} the audit log noted: {action_word} ({status_word})."
            ),
        ),
        at="initiated_at",
        quotes=("reason",),
        machine=frozenset({"scope"}),
    ),
    "cases:suppression": Kind(
        messages=(
            gettext_noop(
                "From {when} until {lifted_at} new texts that name a person were"
                " refused."
            ),
            gettext_noop("Since {when} new texts that name a person are refused."),
        ),
        at="since",
        quotes=("lift_reason",),
    ),
    "cases:certificate": Kind(
        messages=(gettext_noop("On {when} a certificate was issued for a request."),),
        at="issued_at",
        machine=frozenset({"document"}),
    ),
    "cases:processingpurpose": Kind(
        messages=(
            gettext_noop(
                "On {when} {confirmed_by} confirmed why data is stored in one place."
            ),
        ),
        at="confirmed_at",
        quotes=("purpose", "legal_basis"),
    ),
    "decisions": Kind(
        messages=(
            gettext_noop(
                "On {when} {decided_by} decided that a name found beside a person’s is"
                " not theirs."
            ),
        ),
        at="decided_at",
    ),
    "decisions:lifting": Kind(
        messages=(
            gettext_noop(
                "On {when} {lifted_by} ended a restriction of data:"
            ),
            gettext_noop("A restriction of data was ended:"),
        ),
        at="lifted_at",
        quotes=("reason",),
    ),
    "exports": Kind(
        messages=(
            gettext_noop(
                "On {when} a bundle with a copy of your data was requested:"
                " {state_word}."
            ),
        ),
        at="made_at",
    ),
    "intake": Kind(
        messages=(
            gettext_noop(
                "On {when} a request was sent by the form from {email}; its link was"
                " not opened yet."
            ),
        ),
        at="asked_at",
        quotes=("text",),
    ),
    "retention": Kind(
        messages=(
            gettext_noop(
                "On {when} {changed_by} changed a rule that erases old texts:"
            ),
        ),
        at="changed_at",
        quotes=("reason",),
    ),
}  # fmt: skip
