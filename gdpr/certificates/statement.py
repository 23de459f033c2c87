"""What a certificate states: its verdict, what it excepts, what was kept, the identity.

Every sentence is a constant here, with counts at most; ``tests/gdpr`` has a test for
each that fails when it is not true.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from django.utils.translation import gettext_noop

from gdpr.matching import forms
from gdpr.matching.forms import Form
from gdpr.models import Case, CaseKind, Ground

# ── Verdict ──────────────────────────────────────────────────────────────────
ERASED: Final = gettext_noop(
    "The erasure of subject {subject} is complete for the registered identifiers."
)
ERASED_EXCEPT: Final = gettext_noop(
    "The erasure of subject {subject} is complete for the registered identifiers,"
    " except for what follows."
)
RECTIFIED: Final = gettext_noop(
    "The rectification of subject {subject} is complete for the words that were to be"
    " replaced."
)
RECTIFIED_EXCEPT: Final = gettext_noop(
    "The rectification of subject {subject} is complete for the words that were to be"
    " replaced, except for what follows."
)
NOTHING_LEFT: Final = gettext_noop(
    "The search afterwards, as far as it is described here, reported nothing that is"
    " left."
)
DONE: Final = gettext_noop("The {kind} of subject {subject} was carried out.")
IN_PART: Final = gettext_noop(
    "The {kind} of subject {subject} was carried out in part. What is left is counted"
    " under residue; the case stays open."
)
TRACE: Final = gettext_noop("The search afterwards reported 1 trace.")
TRACES: Final = gettext_noop("The search afterwards reported {count} traces.")
RUN_AGAIN: Final = gettext_noop(
    "What to do: make the dry run of the case again and run it again."
)
# ── Exceptions ───────────────────────────────────────────────────────────────
DECIDED_ONE: Final = gettext_noop("A person decided that 1 row stays.")
DECIDED: Final = gettext_noop("A person decided that {count} rows stay.")
BY_RULE_ONE: Final = gettext_noop(
    "1 place keeps the person by a rule of the program, with the reason listed."
)
BY_RULE: Final = gettext_noop(
    "{count} places keep the person by a rule of the program, with the reasons listed."
)
UNSOUGHT_ONE: Final = gettext_noop(
    "1 registered identifier is too short to be sought anywhere."
)
UNSOUGHT: Final = gettext_noop(
    "{count} registered identifiers are too short to be sought anywhere."
)
# ── Kept ─────────────────────────────────────────────────────────────────────
GROUNDS: Final[dict[str, str]] = {
    Ground.SOMEBODY_ELSE: gettext_noop(
        "A person decided that it is about somebody else."
    ),
    Ground.NO_PERSON: gettext_noop(
        "A person decided that the word means nobody there."
    ),
    Ground.MUST_STAY: gettext_noop(
        "A person decided that the law or a claim needs it."
    ),
    Ground.OTHER: gettext_noop("A person decided that it stays, for another reason."),
}
# ── Identity ─────────────────────────────────────────────────────────────────
VERIFIED: Final = gettext_noop(
    "An officer noted that the identity of the person who asked was verified."
)
REASON_GIVEN: Final = gettext_noop(
    "The identity of the person who asked was not verified; an officer gave a reason"
    " for that."
)
NOT_VERIFIED: Final = gettext_noop(
    "The identity of the person who asked was not verified, and no reason for that is"
    " on record."
)
IDENTITY_GROUNDS: Final = {
    "asked_by_employer": gettext_noop("The ground: their employer asked for it."),
    "own_decision": gettext_noop("The ground: the controller decided it unasked."),
    "authority": gettext_noop("The ground: an authority asked for it."),
    "data_wrong": gettext_noop("The ground: the data is wrong, or of nobody real."),
    "other": gettext_noop("The ground: another one."),
}
# ── Forms and reading paths ──────────────────────────────────────────────────
CORRECTION: Final = Form(
    "correction",
    gettext_noop(
        "The words to be replaced, in any case, in texts that name the person."
    ),
)
READING_PATHS: Final = (
    Form(
        "journal_search",
        gettext_noop(
            "The journal's search, as the system and as one agent of each of up to five"
            " crews."
        ),
    ),
    Form(
        "recall",
        gettext_noop(
            "Recall, by words and, where vectors are loaded, by meaning; as the system"
            " and as one agent of each of up to five crews."
        ),
    ),
    Form("file_search", gettext_noop("The search of memory files, as the system.")),
)


class Result(StrEnum):
    """What a certificate says of a run."""

    COMPLETE = "complete"
    COMPLETE_EXCEPT = "complete_except"
    PARTIAL = "partial"


@dataclass(frozen=True, slots=True)
class Kept:
    """Rows of a place that stay for one reason; ``rows`` None where none is counted.

    ``code`` is the ground of a decision, or ``rule``.
    """

    place: str
    code: str
    sentence: str
    rows: int | None

    def as_json(self) -> dict[str, Any]:
        return {
            "place": self.place,
            "code": self.code,
            "rows": self.rows,
            "sentence": self.sentence,
        }


@dataclass(frozen=True, slots=True)
class Statement:
    """The verdict of a certificate, in a code and in sentences."""

    result: Result
    text: str
    exceptions: list[dict[str, Any]]

    def as_json(self) -> dict[str, Any]:
        return {
            "verdict": self.result.value,
            "statement": self.text,
            "exceptions": self.exceptions,
        }


def by_decision(kept_rows: Mapping[tuple[str, str], int]) -> list[Kept]:
    """Return what decisions keep, from (place, ground) → rows."""
    return [
        Kept(place, ground, GROUNDS[ground], count)
        for (place, ground), count in sorted(kept_rows.items())
    ]


def _counted(one: str, many: str, count: int) -> str:
    return one if count == 1 else many.format(count=count)


def exceptions(
    kept: Iterable[Kept], not_searched: Iterable[Mapping[str, Any]], unsought: int
) -> list[dict[str, Any]]:
    """Return what a complete run leaves: kept rows, gaps of the search."""
    kept = list(kept)
    decided = sum(line.rows or 0 for line in kept if line.code != "rule")
    places = len({line.place for line in kept if line.code == "rule"})
    counts = (
        ("kept_by_decision", decided, DECIDED_ONE, DECIDED),
        ("kept_by_rule", places, BY_RULE_ONE, BY_RULE),
        ("not_sought", unsought, UNSOUGHT_ONE, UNSOUGHT),
    )
    lines: list[dict[str, Any]] = [
        {"code": code, "count": count, "sentence": _counted(single, plural, count)}
        for code, count, single, plural in counts
        if count
    ]
    gaps = [str(line["sentence"]) for line in not_searched if line["gap"]]
    lines += [{"code": "not_searched", "count": 1, "sentence": gap} for gap in gaps]
    return lines


def of(
    case: Case,
    residue: Mapping[str, Any],
    excepted: Sequence[dict[str, Any]],
    *,
    is_complete: bool,
) -> Statement:
    """Return the verdict on a run; ``excepted`` are the ``exceptions``."""
    if not is_complete:
        return _partial(case, residue, excepted)
    if case.kind not in _COMPLETE:
        text = DONE.format(kind=case.kind, subject=case.subject_ref)
        return Statement(Result.COMPLETE, text, [])
    plain, but = _COMPLETE[CaseKind(case.kind)]
    sentences = [(but if excepted else plain).format(subject=case.subject_ref)]
    sentences += [str(line["sentence"]) for line in excepted]
    result = Result.COMPLETE_EXCEPT if excepted else Result.COMPLETE
    return Statement(result, " ".join([*sentences, NOTHING_LEFT]), list(excepted))


_COMPLETE: Final = {
    CaseKind.ERASURE: (ERASED, ERASED_EXCEPT),
    CaseKind.RECTIFICATION: (RECTIFIED, RECTIFIED_EXCEPT),
}


def _partial(
    case: Case, residue: Mapping[str, Any], excepted: Sequence[dict[str, Any]]
) -> Statement:
    sentences = [IN_PART.format(kind=case.kind, subject=case.subject_ref)]
    traces = int(residue.get("found", 0))
    if traces:
        sentences.append(_counted(TRACE, TRACES, traces))
    sentences += [*residue.get("todo", ()), RUN_AGAIN]
    return Statement(Result.PARTIAL, " ".join(sentences), list(excepted))


def identity(case: Case) -> dict[str, Any]:
    """Return whether the identity was verified; a reason is never quoted."""
    if case.identity_at is not None:
        return {"code": "verified", "ground": None, "sentence": VERIFIED}
    if not getattr(case, "identity_skipped_reason", ""):
        return {"code": "not_verified", "ground": None, "sentence": NOT_VERIFIED}
    ground = str(getattr(case, "identity_skipped_ground", "")) or "other"
    sentence = f"{REASON_GIVEN} {IDENTITY_GROUNDS[ground]}"
    return {"code": "reason_given", "ground": ground, "sentence": sentence}


def sought_forms(case: Case) -> list[dict[str, Any]]:
    """Return the forms in which identifiers were sought."""
    if case.kind == CaseKind.RECTIFICATION:
        lines: Sequence[Form] = (CORRECTION,)
    else:
        lines = (*forms.WRITTEN, *forms.ENCODED) if case.kind in _COMPLETE else ()
    return [
        {"code": form.code, "sentence": form.sentence, "certain": form.certain}
        for form in lines
    ]


def reading_paths() -> list[dict[str, str]]:
    return [{"code": path.code, "sentence": path.sentence} for path in READING_PATHS]
