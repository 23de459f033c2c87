"""What may become of a case: one table, verb by verb."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class State(StrEnum):
    """Where a case stands; the values of ``gdpr.models.CaseState``."""

    RECEIVED = "received"
    IDENTIFIED = "identified"
    PLANNED = "planned"
    APPROVED = "approved"
    RUNNING = "running"
    VERIFYING = "verifying"
    ON_HOLD = "on_hold"
    PARTIAL = "partial"
    COMPLETE = "complete"
    REFUSED = "refused"


class Verb(StrEnum):
    """What people and runners do with a case."""

    IDENTIFY = "identify"
    PLAN = "plan"
    APPROVE = "approve"
    EXECUTE = "execute"
    STEP_BACK = "step_back"
    VERIFY = "verify"
    REWORK = "rework"
    COMPLETE = "complete"
    LEAVE_PARTIAL = "leave_partial"
    HOLD = "hold"
    RESUME = "resume"
    REFUSE = "refuse"
    EXTEND = "extend"
    ASSIGN = "assign"
    NOTE = "note"


R, I, P, A = State.RECEIVED, State.IDENTIFIED, State.PLANNED, State.APPROVED  # noqa: E741
RUN, VER = State.RUNNING, State.VERIFYING
ON_HOLD, PART = State.ON_HOLD, State.PARTIAL
COMPLETE, REFUSED_STATE = State.COMPLETE, State.REFUSED

_OPEN: Final = (R, I, P, A, RUN, VER, ON_HOLD, PART)


def _stays(*states: State) -> dict[State, State]:
    return {state: state for state in states}


def _to(goal: State, *states: State) -> dict[State, State]:
    return dict.fromkeys(states, goal)


# verb → where it is allowed → where it leads. A pair that is missing is refused.
TABLE: Final[dict[Verb, dict[State, State]]] = {
    Verb.IDENTIFY: {R: I, **_stays(I, P, A)},
    # A new plan drops an approval: it was given to another plan.
    Verb.PLAN: _to(P, R, I, P, A, PART),
    Verb.APPROVE: _to(A, P),
    Verb.EXECUTE: _to(RUN, P, A),
    # The runner found that the world had moved, before it touched anything.
    Verb.STEP_BACK: _to(P, RUN),
    Verb.VERIFY: _to(VER, RUN),
    Verb.REWORK: _to(RUN, VER),
    Verb.COMPLETE: _to(COMPLETE, VER),
    Verb.LEAVE_PARTIAL: _to(PART, RUN, VER),
    Verb.HOLD: _to(ON_HOLD, R, I, P, A, RUN, PART),
    # Where it leads is where the case was held.
    Verb.RESUME: _stays(ON_HOLD),
    Verb.REFUSE: _to(REFUSED_STATE, R, I, P, A, ON_HOLD),
    Verb.EXTEND: _stays(*_OPEN),
    Verb.ASSIGN: _stays(*_OPEN),
    Verb.NOTE: _stays(*_OPEN),
}


def target(verb: Verb, state: str, held_from: str = "") -> State | None:
    """Return where a verb leads from a state, None where it is not allowed.

    A case that was held while it ran, or before, goes back to exactly there; a hold
    without a past is no hold.
    """
    goal = TABLE[verb].get(State(state))
    if verb is Verb.RESUME and goal is not None:
        past = State(held_from) if held_from else None
        return past if past in TABLE[Verb.HOLD] else None
    if verb is Verb.REFUSE and state == ON_HOLD and held_from in (RUN, PART):
        # Part of it is done already: there is nothing left to refuse.
        return None
    return goal


def verbs(state: str, held_from: str = "") -> list[Verb]:
    """Return what is allowed in a state, in the table's order."""
    return [verb for verb in TABLE if target(verb, state, held_from)]


def is_open(state: str) -> bool:
    """Whether a case still waits for something."""
    return State(state) in _OPEN
