"""What the words mean that pages cannot do without.

``{% term "chain" %}`` in a template explains a word where it stands; the page
/glossary/ lists all of them.
"""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from episodic.health.metrics.table import METRICS
from memory.web import pages

WORDS: Final = {
    "certificate": (
        "A signed statement of what an erasure did, place by place. A stranger can "
        "check it without an account."
    ),
    "chain": (
        "Every journal entry carries the hash of the entry before it. Verifying the "
        "chain shows an entry that was changed or taken out."
    ),
    "conformance": (
        "Whether a connection keeps its promises, tried with the other system’s own "
        "client or against the provider contract."
    ),
    "consolidation": (
        "Reading the journal for what recurs and proposing rules from it. A person "
        "decides what is learned."
    ),
    "dense ranking": (
        "Entries in the order of how near they are to the question in meaning, "
        "whatever their words."
    ),
    "dry run": (
        "A plan of what a case would delete, redact and keep. It changes nothing."
    ),
    "embedder": "The model that turns text into embeddings.",
    "embedding": (
        "The meaning of a text as a list of numbers. Texts that mean nearly the same "
        "have nearly the same numbers."
    ),
    "fusion": "How the rankings by meaning and by words become one list.",
    "hold": (
        "A legal reason to keep a person’s data. While it stands, no case erases what "
        "it covers."
    ),
    "importance": (
        "An entry’s weight from 0 to 1: by type, severity and priority, less with age, "
        "more each time it is returned to an agent."
    ),
    "precision": (
        "Of the texts in which a rule fired and that a person decided about, the share "
        "that was discarded or redacted."
    ),
    "provenance": (
        "Who wrote a record: a user who asked, an agent, the system or an operator. "
        "The way in decides it, not the text."
    ),
    "relation": (
        "A link between two entries, such as being alike or one supporting the other. "
        "Recall can follow it."
    ),
    "residue": (
        "What a search after an erasure still found of the person, in rows and in "
        "files."
    ),
    "suppression": (
        "After an erasure, new texts with the person’s telling names are refused, so "
        "that they do not come back. Only keyed hashes of the names are stored."
    ),
    "tier": (
        "A kind of memory file, with its own rule of who may write it and mostly a "
        "size cap: an agent’s own knowledge, pins and daily notes are tiers."
    ),
    "word ranking": (
        "Entries in the order of how well their words fit the question’s; a rare word "
        "counts more than a common one."
    ),
}


def meanings() -> dict[str, str]:
    """Return every word with its meaning; a metric of health says its own."""
    return WORDS | {metric.name: metric.explanation for metric in METRICS}


@require_GET
def glossary(request: HttpRequest) -> HttpResponse:
    """Show every word with its meaning."""
    pages.actor(request)
    return render(request, "glossary.html", {"meanings": sorted(meanings().items())})
