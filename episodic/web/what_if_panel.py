"""The explorer's panel of one entry's other priority: the present order beside it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from django.utils.translation import gettext

from episodic.recall import what_if
from episodic.recall.search import Answer
from episodic.recall.what_if import WhatIf
from episodic.web import comparison
from episodic.web.comparison import Comparison
from episodic.web.recall_form import RecallForm
from memory.journal import queries
from memory.models import JournalEntry
from memory.rules import errors
from memory.rules.entries import Priority
from memory.rules.permissions import Actor

# What the session keeps of a changed priority: no words, which erasure could not find.
Expectation = dict[str, Any]
HIGHER: Final = {
    Priority.NORMAL: Priority.HIGH,
    Priority.PIN: Priority.HIGH,
    Priority.HIGH: Priority.PERMANENT,
    Priority.PERMANENT: Priority.NORMAL,
}


@dataclass(frozen=True, slots=True)
class Choice:
    """An entry of the answer; ``rank`` is None for one that is not among its lines."""

    entry: JournalEntry
    rank: int | None


@dataclass(frozen=True, slots=True)
class WhatIfPanel:
    """``case`` and ``table`` are None until an entry is chosen.

    ``was_applied`` says that the priority has been set: the table then has what was
    expected between the order before and the present one.
    """

    choices: list[Choice]
    case: WhatIf | None = None
    table: Comparison | None = None
    was_applied: bool = False
    expected_rank: int | None = None

    @property
    def shows_table(self) -> bool:
        """Whether something moves, or was to move."""
        moves = ("enters", "leaves", "up", "down")
        return self.was_applied or (self.case is not None and self.case.effect in moves)

    @property
    def can_apply(self) -> bool:
        """Whether setting this priority changes something for this question."""
        case = self.case
        if case is None or case.priority.value == case.entry.priority:
            return False
        return case.effect not in ("absent", "unweighed")


def _choices(answer: Answer, *others: JournalEntry | None) -> list[Choice]:
    hits = [hit.entry for hit in (*answer.hits, *answer.below) if ":" not in hit.via]
    choices = [Choice(entry, rank) for rank, entry in enumerate(hits, 1)]
    listed = {entry.id for entry in hits}
    for entry in others:
        if entry is not None and entry.erased_at is None and entry.id not in listed:
            choices.append(Choice(entry, None))
            listed.add(entry.id)
    return choices


def _digest(form: RecallForm) -> str:
    return sha256(form.address().encode()).hexdigest()


def expectation(form: RecallForm, case: WhatIf) -> Expectation:
    """Return what the session keeps of an applied change."""
    return {
        "address": _digest(form),
        "entry_id": case.entry.id,
        "priority": case.priority.value,
        "rank": case.expected_rank,
        "before": case.ranks(case.before),
        "after": case.ranks(case.after),
    }


def _case(actor: Actor, answer: Answer, entry_id: str, priority: str) -> WhatIf:
    entry = queries.entry(actor, entry_id)
    chosen = Priority(priority) if priority else HIGHER[Priority(entry.priority)]
    return what_if.compute(answer, entry.id, chosen, by=actor)


def _table(case: WhatIf) -> Comparison:
    """Return the present order beside the expected one."""
    before, after = case.ranks(case.before), case.ranks(case.after)
    entries = {row.id: row for row in (*case.before, *case.after)}
    rows = {e: entries[e] for e in {**before, **after}}
    return Comparison(
        first=gettext("Now"),
        second=gettext("With {priority}").format(priority=case.priority.value),
        rows=comparison.table(rows, before, after),
    )


def _table_after(case: WhatIf, answer: Answer, noted: Expectation) -> Comparison:
    """Return the order before, the expected and the present one."""
    before, expected = noted["before"], noted["after"]
    present = case.ranks(case.before)
    entries = answer.reach.load(list({**before, **expected, **present}))
    return Comparison(
        first=gettext("Before"),
        second=gettext("Now"),
        rows=comparison.table(entries, before, present, expected),
        expected=gettext("Expected"),
    )


def build(
    actor: Actor,
    form: RecallForm,
    answer: Answer,
    entry: JournalEntry | None,
    noted: Expectation | None,
) -> WhatIfPanel:
    """Return the panel of an answer; ``entry`` is the one that was expected in it."""
    values = form.cleaned_data if form.is_valid() else {}
    entry_id = values.get("if_entry_id", "")
    if not entry_id:
        return WhatIfPanel(_choices(answer, entry))
    try:
        case = _case(actor, answer, entry_id, values["if_priority"])
    except errors.NotFound:
        form.add_error("if_entry_id", gettext("There is no such entry here."))
        return WhatIfPanel(_choices(answer, entry))
    choices = _choices(answer, entry, case.entry)
    was_applied = (
        noted is not None
        and noted["address"] == _digest(form)
        and noted["entry_id"] == case.entry.id
        and noted["priority"] == case.entry.priority == case.priority.value
    )
    if noted is None or not was_applied:
        return WhatIfPanel(choices, case, _table(case))
    table = _table_after(case, answer, noted)
    return WhatIfPanel(
        choices, case, table, was_applied=True, expected_rank=noted["rank"]
    )
