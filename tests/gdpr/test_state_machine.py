"""Every state and every verb of a case."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdpr.cases import state_machine
from gdpr.cases.state_machine import State, Verb
from gdpr.models import OPEN, CaseState

# verb → allowed states with the next state. Written out again on purpose:
# a change of the table must be a decision in two places.
ALLOWED = {
    "identify": "received>identified identified>identified planned>planned "
    "approved>approved",
    "skip_identity": "received>received planned>planned partial>partial "
    "approved>planned",
    "plan": "received>planned identified>planned planned>planned approved>planned "
    "partial>planned",
    "approve": "planned>approved",
    "execute": "planned>running approved>running",
    "step_back": "running>planned",
    "verify": "running>verifying",
    "rework": "verifying>running",
    "complete": "verifying>complete",
    "leave_partial": "running>partial verifying>partial",
    "hold": "received>on_hold identified>on_hold planned>on_hold approved>on_hold "
    "running>on_hold partial>on_hold",
    "refuse": "received>refused identified>refused planned>refused approved>refused "
    "on_hold>refused",
    "extend": "received>received identified>identified planned>planned "
    "approved>approved running>running verifying>verifying on_hold>on_hold "
    "partial>partial",
}
STAYS = ("extend", "assign", "note")
HELD_FROM = ("received", "identified", "planned", "approved", "running", "partial")


def expected(verb: Verb) -> dict[str, str]:
    """Return state → goal as this file has it."""
    name = "extend" if verb.value in STAYS else verb.value
    pairs = (pair.split(">") for pair in ALLOWED[name].split())
    return {pair[0]: pair[1] for pair in pairs}


def test_the_states_here_are_the_states_of_the_table() -> None:
    assert [state.value for state in State] == list(CaseState.values)
    assert {s.value for s in State if state_machine.is_open(s)} == set(OPEN)


@pytest.mark.parametrize("verb", [v for v in Verb if v is not Verb.RESUME])
def test_each_verb_in_each_state(verb: Verb) -> None:
    reached = {state.value: state_machine.target(verb, state) for state in State}
    assert reached == {state.value: expected(verb).get(state.value) for state in State}


def test_a_held_case_goes_back_to_where_it_stood() -> None:
    for state in State:
        for past in (state.value for state in State):
            is_back = state is State.ON_HOLD and past in HELD_FROM
            goal = state_machine.target(Verb.RESUME, state, past)
            assert goal == (past if is_back else None), (state, past)


def test_a_hold_without_a_past_cannot_be_resumed() -> None:
    assert state_machine.target(Verb.RESUME, State.ON_HOLD) is None


@pytest.mark.parametrize("past", HELD_FROM)
def test_what_was_begun_is_not_refused_any_more(past: str) -> None:
    goal = state_machine.target(Verb.REFUSE, State.ON_HOLD, past)
    assert goal == (None if past in ("running", "partial") else State.REFUSED)


@pytest.mark.parametrize("state", [State.COMPLETE, State.REFUSED])
def test_what_is_closed_stays_closed(state: State) -> None:
    assert state_machine.verbs(state) == []


@pytest.mark.parametrize("state", [s for s in State if state_machine.is_open(s)])
def test_nothing_open_is_a_dead_end(state: State) -> None:
    moving = [
        verb
        for verb in state_machine.verbs(state, "planned")
        if verb.value not in STAYS
    ]
    assert any(state_machine.target(verb, state, "planned") != state for verb in moving)


@given(st.lists(st.sampled_from(list(Verb)), max_size=60))
def test_no_erasure_without_a_plan_and_no_completion_without_a_search(
    verbs: list[Verb],
) -> None:
    state, held_from, path = State.RECEIVED, "", [State.RECEIVED]
    for verb in verbs:
        goal = state_machine.target(verb, state, held_from)
        if goal is None:
            continue
        held_from = state.value if verb is Verb.HOLD else held_from
        state = goal
        path.append(state)
    if State.RUNNING in path:
        assert State.PLANNED in path[: path.index(State.RUNNING)]
    if State.COMPLETE in path:
        # Comments aside, nothing comes between the search and the end.
        before = [state for state in path if state is not State.COMPLETE]
        assert before[-1] is State.VERIFYING
