"""The wire model of 2025-11-25 against the catalogue's table."""

from __future__ import annotations

import pytest

from mcptasks.conformance.catalogue import load_catalogue
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
from mcptasks.conformance.model.wire_2025 import ENDED, RUNNING, Answer25, classify, fit, fit_result, successors
from mcptasks.conformance.model.wire_attribution_2025 import at_risk, blame, result_at_risk

ASKED = TaskState(INPUT_REQUIRED, pending=frozenset({(0, 0), (1, 0)}))
STATES = {
    ABSENT: TaskState(ABSENT),
    WORKING: TaskState(WORKING),
    INPUT_REQUIRED: ASKED,
    COMPLETED: TaskState(COMPLETED, payload=0),
    FAILED: TaskState(FAILED, payload=1),
    CANCELLED: TaskState(CANCELLED),
}
TABLE = {row.operation: row for row in load_catalogue().state_tables["wire-2025-11-25"]}


def shown(state: TaskState) -> set[str]:
    """What a tasks/get may show for good."""
    out = set()
    for seen in (ABSENT, *LIVE, *TERMINAL):
        found = fit(state, seen)
        if found.state is not None and not found.aspect:
            out.add(seen)
    return out


@pytest.mark.parametrize("status", STATES)
def test_get(status: str) -> None:
    cell = TABLE["tasks/get"].cells[status]
    assert not cell.open
    expected = {status} if status != CANCELLED else {CANCELLED, ABSENT}  # tasks25.cancel.delete
    assert shown(STATES[status]) == expected


def test_an_expired_task_is_there_or_not() -> None:
    for status in (WORKING, COMPLETED, FAILED, CANCELLED):
        assert shown(STATES[status]._replace(expired=True)) == {status, ABSENT}


@pytest.mark.parametrize("status", STATES)
def test_cancel(status: str) -> None:
    answers = {item.answer for item in successors(STATES[status], Call("cancel"))}
    required = TABLE["tasks/cancel"].cells[status].required
    assert required is not None
    assert answers == ({"cancelled"} if required.startswith("Task cancelled") else {"invalid"})
    if status in LIVE:
        assert {item.state.status for item in successors(STATES[status], Call("cancel"))} == {CANCELLED}
    else:
        assert [item.state for item in successors(STATES[status], Call("cancel"))] == [STATES[status]]


def test_a_question_needs_input_until_it_is_answered() -> None:
    [asked] = successors(TaskState(WORKING), Call("set", ((0, 0), (1, 0))))
    assert asked.state == ASKED
    assert shown(ASKED) == {INPUT_REQUIRED}
    assert fit(ASKED, WORKING).aspect == "asked"
    [half] = successors(ASKED, Call("resolve", ((0, 0),)))
    assert shown(half.state) == {INPUT_REQUIRED}
    after = fit(half.state, INPUT_REQUIRED).state
    assert after is not None
    assert after.pending == {(1, 0)}
    [whole] = successors(after, Call("resolve", ((1, 0),)))
    assert shown(whole.state) == {WORKING}
    assert fit(whole.state, INPUT_REQUIRED).aspect == "left"
    assert classify(ASKED, Call("resolve", ((0, 0),))) == "resolve-some"
    assert classify(after, Call("resolve", ((1, 0),))) == "resolve-all"


def test_a_tools_error_may_end_either_way() -> None:
    error = Call("complete", ((1, 0),), 3)
    ended = {item.state.status for item in successors(TaskState(WORKING), error)}
    assert ended == {FAILED, COMPLETED}
    assert classify(TaskState(WORKING), error) == "complete-error"
    assert {item.state.status for item in successors(TaskState(WORKING), Call("complete", (), 3))} == {COMPLETED}


def test_steps_on_what_has_ended_change_nothing() -> None:
    for status in TERMINAL:
        for call in (Call("complete", (), 7), Call("fail", (), 7), Call("set", ((0, 0),)), Call("resolve", ((0, 0),))):
            assert {item.state for item in successors(STATES[status], call)} == {STATES[status]}


def result_aspect(state: TaskState, seen: Answer25, **ended: object) -> str | None:
    found = fit_result(state, seen, **ended)  # type: ignore[arg-type]
    return found.aspect if found.state is None or found.aspect else None


RESULT, OTHER = Answer25("result", 0), Answer25("result", 9)
ERROR, INVALID = Answer25("error", 1, 1234), Answer25("invalid", 8, -32602)


def test_result_of_what_does_not_exist() -> None:
    assert result_aspect(TaskState(ABSENT), INVALID) is None
    for seen in (RESULT, ERROR):
        assert result_aspect(TaskState(GONE), seen) == "result-appears"


def test_result_waits_while_the_task_lives() -> None:
    for state in (TaskState(WORKING), ASKED):
        for seen in (RESULT, ERROR, INVALID):
            assert result_aspect(state, seen) == "blocks"
    assert TABLE["tasks/result"].cells[WORKING].required == "blocks"


def test_result_of_what_was_completed() -> None:
    state = STATES[COMPLETED]
    assert result_aspect(state, RESULT) is None
    assert result_aspect(state, OTHER) == "payload"
    assert result_aspect(state, INVALID) == "refused"
    assert result_aspect(state, ERROR, tool_error=True) == "tool-error"


def test_result_of_what_was_failed() -> None:
    state = STATES[FAILED]
    assert result_aspect(state, ERROR, error=True, code=1234) is None
    assert result_aspect(state, Answer25("error", 7, 1234), error=True, code=1234) == "error-text"
    assert result_aspect(state, Answer25("error", 7, -32603), error=True, code=1234) == "error"
    assert result_aspect(state, OTHER, error=True, code=1234) == "error"


def test_result_of_what_was_cancelled_is_anything() -> None:
    assert TABLE["tasks/result"].cells[CANCELLED].open
    for seen in (RESULT, OTHER, ERROR, INVALID):
        assert result_aspect(STATES[CANCELLED], seen) is None


def test_a_task_that_moves_by_itself_settles_when_it_ends() -> None:
    running = TaskState(RUNNING)
    assert shown(running) == {*LIVE, *TERMINAL}
    after = fit(running, COMPLETED).state
    assert after is not None
    first = fit_result(after, RESULT).state
    assert first is not None
    assert result_aspect(first, OTHER) == "payload"  # the first answer says what it was
    refused = next(item for item in successors(running, Call("cancel")) if item.answer == "invalid")
    assert refused.state.status == ENDED
    assert shown(refused.state) == set(TERMINAL)


def test_every_deviation_has_a_requirement_that_binds_servers_of_this_revision() -> None:
    known = {item.id for item in load_catalogue().for_target("server", "2025-11-25")}
    rows = (
        "create",
        "reread",
        "other",
        "set",
        "resolve-some",
        "resolve-all",
        "complete",
        "complete-error",
        "fail",
        "cancel",
    )
    aspects = ("return", "life", "appears", "status", "asked", "left", "blocks", "hang", "refused", "payload", "error",
               "error-text", "tool-error", "result-appears")  # fmt: skip
    for row in rows:
        for status in (*STATES, GONE, RUNNING, ENDED):
            for aspect in aspects:
                for expected in STATES:
                    assert blame(row, status, aspect, expected) in known, (row, status, aspect)
            for now in (*STATES.values(), TaskState(GONE), TaskState(RUNNING), TaskState(ENDED)):
                assert at_risk(row, status, now) <= known
    for now in STATES.values():
        assert result_at_risk(now, tool_error=True) <= known


@pytest.mark.parametrize(
    ("row", "state", "aspect", "expected", "requirement"),
    [
        ("complete", WORKING, "status", COMPLETED, "tasks25.life.from-working"),
        ("fail", INPUT_REQUIRED, "status", FAILED, "tasks25.life.from-input-required"),
        ("complete", CANCELLED, "status", CANCELLED, "tasks25.life.cancelled-sticky"),
        ("fail", COMPLETED, "status", COMPLETED, "tasks25.life.terminal"),
        ("reread", FAILED, "status", FAILED, "tasks25.life.terminal"),
        ("cancel", WORKING, "status", CANCELLED, "tasks25.cancel.transition-first"),
        ("cancel", WORKING, "return", "", "tasks25.cancel.transition-first"),
        ("cancel", COMPLETED, "return", "", "tasks25.cancel.terminal-error"),
        ("cancel", CANCELLED, "return", "", "tasks25.cancel.terminal-error"),
        ("cancel", ABSENT, "return", "", "tasks25.cancel.unknown"),
        ("set", WORKING, "asked", INPUT_REQUIRED, "tasks25.life.input-required"),
        ("resolve-some", INPUT_REQUIRED, "status", INPUT_REQUIRED, "tasks25.life.input-leave"),
        ("resolve-all", INPUT_REQUIRED, "left", WORKING, "tasks25.life.input-leave"),
        ("create", WORKING, "life", WORKING, "tasks25.get.unknown"),
    ],
)
def test_blame(row: str, state: str, aspect: str, expected: str, requirement: str) -> None:
    assert blame(row, state, aspect, expected) == requirement
