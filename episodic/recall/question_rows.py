"""The rows of the recall log: its settings, what is kept of a question, writing it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from django.db import transaction
from django.utils.translation import gettext_noop

from episodic.models import LoggedHit, LoggedQuestion
from episodic.recall import unanswered
from memory import workspace_settings
from memory.models import JournalEntry
from memory.ports import subject_linker
from memory.rules import errors
from memory.word_index import ranking as word_ranking
from memory.workspace_settings import Kind, Setting

RECALL_LOG: Final[Setting[bool]] = workspace_settings.declare(
    Setting(
        name="recall_log",
        group=gettext_noop("Recall"),
        label=gettext_noop("Recall log"),
        help=gettext_noop(
            "Keeps what is asked with a key, an agent's or a program's: the question, "
            "whose memory was asked, the entries that came back, how long it took. "
            "People in the explorer and recall checks are not logged. A question may "
            "name somebody: it is part of access and erasure. Off: nothing more is "
            "written; what is there goes with its days, or when an admin empties the "
            "log."
        ),
        readers=gettext_noop(
            "Every recall by key: the API, tools, MCP and the other systems' "
            "clients. Shown on the page Questions."
        ),
        kind=Kind.SWITCH,
        default=False,
    )
)
RECALL_LOG_DAYS: Final[Setting[int]] = workspace_settings.declare(
    Setting(
        name="recall_log_days",
        group=gettext_noop("Recall"),
        label=gettext_noop("Days that the recall log is kept"),
        help=gettext_noop(
            "Older questions are deleted every night, also while the log is off."
        ),
        readers=gettext_noop("The nightly job “Recall log retention”."),
        kind=Kind.INTEGER,
        default=30,
        least=1,
        most=365,
        unit="days",
    )
)


@dataclass(frozen=True, slots=True)
class HitFacts:
    """What is kept of a hit: no text of the entry."""

    entry_id: str
    docid: int
    score: float
    cosine: float | None
    via: str


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its answer, waiting to be written."""

    workspace_id: str
    row: LoggedQuestion
    hits: tuple[HitFacts, ...]

    @property
    def text(self) -> str:
        return self.row.question


# ── Writing ──────────────────────────────────────────────────────────────────
def is_unanswered(question: Question) -> bool:
    """Whether nothing that came back is near; see ``episodic.recall.unanswered``."""
    if unanswered.is_near(question.row.model, [hit.cosine for hit in question.hits]):
        return False
    terms = unanswered.words(question.text)
    docids = {hit.entry_id: hit.docid for hit in question.hits}
    matches = word_ranking.matching_words(question.workspace_id, terms, docids)
    return not unanswered.holds_words(terms, matches.values())


def _storable(workspace_id: str, questions: Sequence[Question]) -> list[Question]:
    """Return the questions that may be stored: asked since the log was switched on.

    A text that names an erased person is left out.
    """
    states = workspace_settings.states(workspace_id, [RECALL_LOG])
    state = states[RECALL_LOG.name]
    if not state.value:
        return []
    refuse = subject_linker.gate(workspace_id)
    return [
        question
        for question in questions
        if (state.changed_at is None or question.row.asked_at >= state.changed_at)
        and not _is_refused(refuse, question)
    ]


def _is_refused(refuse: subject_linker.Gate | None, question: Question) -> bool:
    if refuse is None:
        return False
    try:
        refuse((question.text, question.row.asked_by), ())
    except errors.Conflict:
        return True
    return False


def _with_living_hits(
    workspace_id: str, questions: Sequence[Question]
) -> list[tuple[LoggedQuestion, list[HitFacts]]]:
    """Return the rows with the hits that are in the journal still, unerased.

    As after an erasure, a question goes with the last entry that answered it.
    """
    ids = {hit.entry_id for question in questions for hit in question.hits}
    entries = JournalEntry.objects.filter(
        workspace_id=workspace_id, pk__in=ids, erased_at__isnull=True
    )
    living = set(entries.values_list("pk", flat=True))
    pairs = [
        (question.row, [hit for hit in question.hits if hit.entry_id in living])
        for question in questions
    ]
    return [
        (row, hits)
        for question, (row, hits) in zip(questions, pairs, strict=True)
        if hits or not question.hits
    ]


def _hits(row: LoggedQuestion, hits: Sequence[HitFacts]) -> Iterator[LoggedHit]:
    for rank, hit in enumerate(hits, 1):
        yield LoggedHit(
            workspace_id=row.workspace_id,
            question=row,
            rank=rank,
            entry_id=hit.entry_id,
            score=hit.score,
            cosine=hit.cosine,
            via=hit.via,
        )


def store(workspace_id: str, questions: Sequence[Question]) -> int:
    """Store questions, whatever the workspace's switch says; return how many."""
    with transaction.atomic():
        pairs = _with_living_hits(workspace_id, questions)
        for row, _ in pairs:
            # An earlier try may have given it the number of a row that was taken back.
            row.pk = None
        LoggedQuestion.objects.bulk_create(row for row, _ in pairs)
        LoggedHit.objects.bulk_create(
            chain.from_iterable(_hits(row, hits) for row, hits in pairs)
        )
    return len(pairs)


def judge(questions: Sequence[Question]) -> None:
    """Set of each question whether it is unanswered."""
    for question in questions:
        question.row.unanswered = is_unanswered(question)


def write(workspace_id: str, questions: Sequence[Question]) -> int:
    """Store the questions of a workspace that keeps a log; return how many."""
    if not _storable(workspace_id, questions):
        return 0
    # Before the transaction: it asks the word index, and other writers need not wait.
    judge(questions)
    with transaction.atomic():
        return store(workspace_id, _storable(workspace_id, questions))
