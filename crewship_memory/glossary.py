"""What the words mean that pages cannot do without.

``{% term "chain" %}`` in a template explains a word where it stands; the page
/glossary/ lists all of them.
"""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_GET

from episodic.health.metrics.table import METRICS
from memory.web import pages

WORDS: Final = {
    gettext_noop("certificate"): gettext_noop(
        "A signed statement of what an erasure did, place by place. A stranger can "
        "check it without an account."
    ),
    gettext_noop("chain"): gettext_noop(
        "Every journal entry carries the hash of the entry before it. Verifying the "
        "chain shows an entry that was changed or taken out."
    ),
    gettext_noop("conformance"): gettext_noop(
        "Whether a connection keeps its promises, tried with the other system’s own "
        "client or against the provider contract."
    ),
    gettext_noop("consolidation"): gettext_noop(
        "Reading the journal for what recurs and proposing rules from it. A person "
        "decides what is learned."
    ),
    gettext_noop("dense ranking"): gettext_noop(
        "Entries in the order of how near they are to the question in meaning, "
        "whatever their words."
    ),
    gettext_noop("dry run"): gettext_noop(
        "A plan of what a case would delete, redact and keep. It changes nothing."
    ),
    gettext_noop("embedder"): gettext_noop(
        "The model that turns text into embeddings."
    ),
    gettext_noop("embedding"): gettext_noop(
        "The meaning of a text as a list of numbers. Texts that mean nearly the same "
        "have nearly the same numbers."
    ),
    gettext_noop("fusion"): gettext_noop(
        "How the rankings by meaning and by words become one list."
    ),
    gettext_noop("hold"): gettext_noop(
        "A legal reason to keep a person’s data. While it stands, no case erases what "
        "it covers."
    ),
    gettext_noop("importance"): gettext_noop(
        "An entry’s weight from 0 to 1: by type, severity and priority, less with age, "
        "more each time it is returned to an agent."
    ),
    gettext_noop("precision"): gettext_noop(
        "Of the texts in which a rule fired and that a person decided about, the share "
        "that was discarded or redacted."
    ),
    gettext_noop("provenance"): gettext_noop(
        "Who wrote a record: a user who asked, an agent, the system or an operator. "
        "The way in decides it, not the text."
    ),
    gettext_noop("relation"): gettext_noop(
        "A link between two entries, such as being alike or one supporting the other. "
        "Recall can follow it."
    ),
    gettext_noop("residue"): gettext_noop(
        "What a search after an erasure still found of the person, in rows and in "
        "files."
    ),
    gettext_noop("suppression"): gettext_noop(
        "After an erasure, new texts with the person’s telling names are refused, so "
        "that they do not come back. Only keyed hashes of the names are stored."
    ),
    gettext_noop("tier"): gettext_noop(
        "A kind of memory file, with its own rule of who may write it and mostly a "
        "size cap: an agent’s own knowledge, pins and daily notes are tiers."
    ),
    gettext_noop("word ranking"): gettext_noop(
        "Entries in the order of how well their words fit the question’s; a rare word "
        "counts more than a common one."
    ),
}


def meanings() -> dict[str, str]:
    """Return every word with its meaning; a metric of health says its own."""
    words = WORDS | {metric.name: metric.explanation for metric in METRICS}
    return {word: gettext(meaning) for word, meaning in words.items()}


@require_GET
def glossary(request: HttpRequest) -> HttpResponse:
    """Show every word with its meaning."""
    pages.actor(request)
    words = [(word, gettext(word), meaning) for word, meaning in meanings().items()]
    words.sort(key=lambda row: row[1].casefold())
    return render(request, "glossary.html", {"meanings": words})
