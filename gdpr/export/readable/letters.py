"""Sentences of letters about requests, and of whom data was passed on to."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_noop

from gdpr.export.readable.kinds import Kind

KINDS: Final[dict[str, Kind]] = {
    "letters": Kind(
        messages=(
            gettext_noop("On {sent_at} this letter about a request was sent:"),
            gettext_noop("This letter about a request was written:"),
        ),
        at="sent_at",
        quotes=("subject", "body"),
    ),
    "letters:correspondence": Kind(
        messages=(gettext_noop("Letters about a request go to this address:"),),
    ),
    "letter_templates": Kind(
        messages=(
            gettext_noop(
                "On {when} {changed_by} changed a text that letters start from:"
            ),
        ),
        at="changed_at",
        quotes=("subject", "body"),
    ),
    "recipients": Kind(
        messages=(
            gettext_noop(
                "On {when} {name} was listed as somebody to whom data went that a"
                " request is about."
            ),
            gettext_noop(
                "On {when} somebody was listed to whom data went that a request is"
                " about."
            ),
        ),
        at="added_at",
        quotes=("received", "reason", "answer_note"),
        machine=frozenset({"evidence"}),
    ),
    "recipients:recipientcontact": Kind(
        messages=(
            gettext_noop(
                "On {when} {changed_by} changed the address of somebody who receives"
                " data: {name}."
            ),
        ),
        at="changed_at",
    ),
    "decisions:rememberedword": Kind(
        messages=(
            gettext_noop(
                "On {when} {decided_by} decided whether a word is covered in bundles."
            ),
        ),
        at="decided_at",
    ),
}
