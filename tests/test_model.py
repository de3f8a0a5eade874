"""The pure model against the state table of the catalogue, and properties that hold in every cell."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcptasks.conformance.catalogue import load_catalogue
from mcptasks.conformance.model.attribution import READ_ASPECTS, blame
from mcptasks.conformance.model.automaton import Automaton
from mcptasks.conformance.model.states import (
    ABSENT,
    CANCELLED,
    COMPLETED,
    FAILED,
    GONE,
    INPUT_REQUIRED,
    LIVE,
    TERMINAL,
    WORKING,
    Call,
    TaskState,
)
from mcptasks.conformance.model.store_2026 import classify, successors

A, B = 0, 1
examples = settings(deadline=None, database=None)  # a busy machine may stall in any example

ABSENT_STATE = TaskState(ABSENT)
WORKING_STATE = TaskState(WORKING)
ASKED = TaskState(INPUT_REQUIRED, frozenset({(A, 0)}))
ASKED_TWO = TaskState(INPUT_REQUIRED, frozenset({(A, 0), (B, 1)}))
ANSWERED = TaskState(WORKING, answered=frozenset({A}))
DONE = TaskState(COMPLETED, payload=2)
BROKEN = TaskState(FAILED, payload=3)
STOPPED = TaskState(CANCELLED)

SET_A = Call("set", ((A, 5),))
SET_NOTHING = Call("set")
RESOLVE_A = Call("resolve", ((A, 0),))
RESOLVE_BOTH = Call("resolve", ((A, 0), (B, 0)))
RESOLVE_NOTHING = Call("resolve")
CANCEL = Call("cancel")
COMPLETE = Call("complete", payload=7)
FAIL = Call("fail", payload=8)
CALLS = (SET_A, SET_NOTHING, RESOLVE_A, RESOLVE_BOTH, RESOLVE_NOTHING, CANCEL, COMPLETE, FAIL)
STATES = (ABSENT_STATE, WORKING_STATE, ASKED, ASKED_TWO, ANSWERED, DONE, BROKEN, STOPPED, TaskState(GONE))


def outcomes(state: TaskState, call: Call) -> set[tuple[str, str]]:
    """Answer and status of every lawful way on."""
    return {(item.answer, item.state.status) for item in successors(state, call)}


@pytest.mark.parametrize(
    ("state", "call", "allowed"),
    [
        (ABSENT_STATE, SET_A, {("ok", ABSENT), ("raise", ABSENT)}),
        (ABSENT_STATE, CANCEL, {("false", ABSENT)}),
        (ABSENT_STATE, COMPLETE, {("ok", ABSENT), ("raise", ABSENT)}),
        (WORKING_STATE, SET_A, {("ok", INPUT_REQUIRED)}),
        (WORKING_STATE, SET_NOTHING, {("ok", WORKING), ("ok", INPUT_REQUIRED), ("raise", WORKING)}),
        (WORKING_STATE, RESOLVE_A, {("ok", WORKING)}),
        (WORKING_STATE, CANCEL, {("true", CANCELLED)}),
        (WORKING_STATE, COMPLETE, {("ok", COMPLETED)}),
        (WORKING_STATE, FAIL, {("ok", FAILED)}),
        (ASKED, SET_A, {("ok", INPUT_REQUIRED), ("raise", INPUT_REQUIRED)}),
        (ASKED, SET_NOTHING, {("ok", INPUT_REQUIRED), ("raise", INPUT_REQUIRED)}),
        (ASKED, RESOLVE_A, {("ok", WORKING)}),
        (ASKED_TWO, RESOLVE_A, {("ok", INPUT_REQUIRED)}),
        (ASKED_TWO, RESOLVE_BOTH, {("ok", WORKING)}),
        (ASKED, RESOLVE_NOTHING, {("ok", INPUT_REQUIRED), ("raise", INPUT_REQUIRED)}),
        (ANSWERED, SET_A, {("ok", INPUT_REQUIRED), ("ok", WORKING), ("raise", WORKING)}),
        (ANSWERED, RESOLVE_A, {("ok", WORKING)}),
        (ASKED, CANCEL, {("true", CANCELLED)}),
        (ASKED, COMPLETE, {("ok", COMPLETED)}),
        (DONE, CANCEL, {("false", COMPLETED)}),
        (BROKEN, CANCEL, {("false", FAILED)}),
        (STOPPED, CANCEL, {("false", CANCELLED)}),
    ],
)
def test_cells_of_the_table(state: TaskState, call: Call, allowed: set[tuple[str, str]]) -> None:
    assert outcomes(state, call) == allowed


@pytest.mark.parametrize("state", [DONE, BROKEN, STOPPED])
@pytest.mark.parametrize("call", [SET_A, SET_NOTHING, RESOLVE_A, COMPLETE, FAIL])
def test_a_terminal_task_never_changes_and_raising_is_a_warning(state: TaskState, call: Call) -> None:
    found = successors(state, call)
    assert {item.state for item in found} == {state}
    assert {(item.answer, item.warn is not None) for item in found} == {("ok", False), ("raise", True)}


def test_a_terminal_transition_keeps_or_clears_what_was_pending() -> None:
    assert {item.state.pending for item in successors(ASKED, CANCEL)} == {frozenset(), ASKED.pending}


def test_a_pending_key_is_overwritten_or_kept_or_refused() -> None:
    found = {(item.answer, item.state.pending) for item in successors(ASKED, SET_A)}
    assert found == {
        ("ok", frozenset({(A, 5)})),
        ("ok", frozenset({(A, 0)})),
        ("raise", frozenset({(A, 0)})),
    }


def test_an_empty_ask_may_go_back_to_working() -> None:
    asked_nothing = TaskState(INPUT_REQUIRED)
    assert outcomes(asked_nothing, RESOLVE_NOTHING) == {
        ("ok", INPUT_REQUIRED),
        ("ok", WORKING),
        ("raise", INPUT_REQUIRED),
    }


def test_an_expired_task_is_as_there_or_as_gone_to_every_call() -> None:
    expired = successors(WORKING_STATE, Call("expire"))[0].state
    assert expired.expired
    assert outcomes(expired, CANCEL) == {("true", CANCELLED), ("false", WORKING), ("false", GONE)}
    assert ("raise", GONE) in outcomes(expired, COMPLETE)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("call", CALLS)
def test_every_cell_has_a_way_on_and_someone_to_blame(state: TaskState, call: Call) -> None:
    catalogue = load_catalogue()
    found = successors(state, call)
    assert found
    row = classify(state, call)
    for item in found:
        if item.choice is not None:
            assert item.choice[0] in catalogue
        if item.warn is not None:
            assert item.warn in catalogue
    for aspect in (*READ_ASPECTS, "return", "appears"):
        assert blame(row, state.status, aspect, found[0].state.status) in catalogue


@pytest.mark.parametrize("cause", ["create", "reread", "other", "tamper", "clock", "abort"])
@pytest.mark.parametrize("aspect", [*READ_ASPECTS, "appears"])
def test_pseudo_causes_are_blamed_on_known_requirements(cause: str, aspect: str) -> None:
    assert blame(cause, WORKING, aspect) in load_catalogue()


calls = st.builds(
    Call,
    st.sampled_from(["set", "resolve"]),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=3, unique_by=lambda pair: pair[0]).map(tuple),
) | st.sampled_from([CANCEL, COMPLETE, FAIL])


@examples
@given(st.lists(calls, max_size=12))
def test_whatever_happens_the_invariants_hold(sequence: list[Call]) -> None:
    states = {WORKING_STATE}
    for call in sequence:
        states = {item.state for state in states for item in successors(state, call)}
    for state in states:
        assert (state.payload >= 0) == (state.status in (COMPLETED, FAILED))
        if state.status == WORKING:
            assert not state.pending
        assert state.status in LIVE | TERMINAL


@examples
@given(st.lists(calls, min_size=1, max_size=8))
def test_the_automaton_remembers_what_the_pure_function_says(sequence: list[Call]) -> None:
    automaton = Automaton()
    node = automaton.start(WORKING_STATE)
    states = {WORKING_STATE}
    for call in sequence:
        step = automaton.step(node, call)
        assert step is automaton.step(node, call)
        reached = {(item.answer, item.state) for state in states for item in successors(state, call)}
        assert {(answer, state) for answer, edge in step.edges.items() for state, _ in edge.target.states} == reached
        answer = sorted(step.edges)[0]
        node = step.edges[answer].target
        states = {state for state, _ in node.states}


def test_counts_say_what_was_put_at_risk() -> None:
    automaton = Automaton()
    node = automaton.start(WORKING_STATE)
    step = automaton.step(node, CANCEL)
    step.edges["true"].count += 3
    step.cause.reads[step.edges["true"].target] = 2
    automaton.settle()
    assert automaton.coverage[("cancel", WORKING)] == 3
    assert automaton.exercised["store.cancel.true"] == 5
    automaton.settle()
    assert automaton.exercised["store.cancel.true"] == 5, "settling twice counts nothing twice"


def test_an_open_answer_puts_nothing_at_risk() -> None:
    automaton = Automaton()
    step = automaton.step(automaton.start(ABSENT_STATE), COMPLETE)
    step.edges["raise"].count += 1
    automaton.settle()
    assert automaton.choices[("store.completed.absent", "raises")] == 1
    assert not automaton.exercised["store.absent.stays-absent"]
