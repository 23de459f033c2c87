"""The states of a case and its allowed transitions, in one table."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class State(StrEnum):
    """The values of ``gdpr.models.CaseState``."""

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
    """The actions of people and runners on a case."""

    IDENTIFY = "identify"
    SKIP_IDENTITY = "skip_identity"
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


_OPEN: Final = tuple(
    state for state in State if state not in (State.COMPLETE, State.REFUSED)
)
_BEFORE_RUN: Final = (
    State.RECEIVED, State.IDENTIFIED, State.PLANNED, State.APPROVED,
)  # fmt: skip


def _stays(*states: State) -> dict[State, State]:
    return {state: state for state in states}


def _to(goal: State, *states: State) -> dict[State, State]:
    return dict.fromkeys(states, goal)


# verb → allowed state → next state. A pair that is missing is refused.
TABLE: Final[dict[Verb, dict[State, State]]] = {
    Verb.IDENTIFY: {
        **_to(State.IDENTIFIED, State.RECEIVED),
        **_stays(State.IDENTIFIED, State.PLANNED, State.APPROVED),
    },
    # An approval was given to a case whose identity was to be verified.
    Verb.SKIP_IDENTITY: {
        **_stays(State.RECEIVED, State.PLANNED, State.PARTIAL),
        **_to(State.PLANNED, State.APPROVED),
    },
    # A new plan drops the approval, which was given to another plan.
    Verb.PLAN: _to(State.PLANNED, *_BEFORE_RUN, State.PARTIAL),
    Verb.APPROVE: _to(State.APPROVED, State.PLANNED),
    Verb.EXECUTE: _to(State.RUNNING, State.PLANNED, State.APPROVED),
    # The runner found changed rows before it changed anything itself.
    Verb.STEP_BACK: _to(State.PLANNED, State.RUNNING),
    Verb.VERIFY: _to(State.VERIFYING, State.RUNNING),
    Verb.REWORK: _to(State.RUNNING, State.VERIFYING),
    Verb.COMPLETE: _to(State.COMPLETE, State.VERIFYING),
    Verb.LEAVE_PARTIAL: _to(State.PARTIAL, State.RUNNING, State.VERIFYING),
    Verb.HOLD: _to(State.ON_HOLD, *_BEFORE_RUN, State.RUNNING, State.PARTIAL),
    # The next state is the one in which the case was put on hold.
    Verb.RESUME: _stays(State.ON_HOLD),
    Verb.REFUSE: _to(State.REFUSED, *_BEFORE_RUN, State.ON_HOLD),
    Verb.EXTEND: _stays(*_OPEN),
    Verb.ASSIGN: _stays(*_OPEN),
    Verb.NOTE: _stays(*_OPEN),
}


def target(verb: Verb, state: str, held_from: str = "") -> State | None:
    """Return the next state of a verb, None where it is not allowed.

    A case on hold resumes in exactly the state ``held_from``; without a valid one it
    cannot resume.
    """
    goal = TABLE[verb].get(State(state))
    if verb is Verb.RESUME and goal is not None:
        past = State(held_from) if held_from else None
        return past if past in TABLE[Verb.HOLD] else None
    has_run = held_from in (State.RUNNING, State.PARTIAL)
    if verb is Verb.REFUSE and state == State.ON_HOLD and has_run:
        # Part of it is carried out already: it cannot be refused any more.
        return None
    return goal


def verbs(state: str, held_from: str = "") -> list[Verb]:
    """Return what is allowed in a state, in the table's order."""
    return [verb for verb in TABLE if target(verb, state, held_from)]


def is_open(state: str) -> bool:
    """Whether a case is neither complete nor refused."""
    return State(state) in _OPEN
