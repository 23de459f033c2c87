"""Sentences of what was asked of the memory, drawn from it and measured of it."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_noop

from gdpr.export.readable.kinds import Kind

KINDS: Final[dict[str, Kind]] = {
    "recall_log": Kind(
        messages=(
            gettext_noop("On {when} the agent {agent} asked the memory:"),
            gettext_noop("On {when} {asked_by} asked the memory:"),
            gettext_noop("On {when} somebody asked the memory:"),
        ),
        at="asked_at",
        quotes=("question",),
    ),
    "recall_checks": Kind(
        messages=(
            gettext_noop(
                "On {when} {created_by} saved a question to check what the memory"
                " answers: {name}"
            ),
        ),
        at="created_at",
    ),
    "recall_checks:recallcheckrun": Kind(
        messages=(gettext_noop("On {when} a saved question was checked."),),
        at="ran_at",
        quotes=("note",),
    ),
    "proposals": Kind(
        messages=(
            gettext_noop(
                "On {when} the program proposed a rule to the crew {crew}:"
                " {state_word}."
            ),
            gettext_noop("On {when} the program proposed a rule: {state_word}."),
        ),
        at="created_at",
        quotes=("text", "reason"),
    ),
    "health": Kind(
        messages=(
            gettext_noop(
                "On {when} the program measured how well the memory works, and kept"
                " words of entries with it."
            ),
        ),
        at="computed_at",
    ),
    "health:acceptedcause": Kind(
        messages=(
            gettext_noop("On {when} {accepted_by} accepted a weakness of the memory:"),
        ),
        at="accepted_at",
        quotes=("reason",),
    ),
}
