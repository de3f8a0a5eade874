"""Operations survive JSON text, payloads compare as JSON, and wrong JSON is refused with its place."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcptasks.strategies.arbitrary import KINDS, json_values, operations, payloads, sequences, tasks
from mcptasks.strategies.json_values import Payload, json_equal, text_of
from mcptasks.strategies.operations import (
    Abort,
    AdvanceClock,
    Cancel,
    Complete,
    Create,
    Fail,
    Get,
    Operation,
    OperationError,
    Probe,
    Resolve,
    SetInput,
    Subscribe,
    Tamper,
    Unsubscribe,
    base_task,
    from_json,
    name_of,
    sequence_from_json,
    sequence_to_json,
    store_calls,
    to_json,
)
from mcptasks.strategies.operations_2025 import NAMES

few = settings(max_examples=60, deadline=None, database=None)


@pytest.mark.parametrize("kind", KINDS)
def test_every_operation_survives_json_text(kind: str) -> None:
    @few
    @given(operations([kind]))
    def check(operation: Operation) -> None:
        assert name_of(operation) == kind
        text = json.dumps(to_json(operation), ensure_ascii=True, allow_nan=False)
        back = from_json(json.loads(text))
        assert back == operation
        assert hash(back) == hash(operation)
        assert to_json(back) == json.loads(text)

    check()


def test_there_is_a_strategy_for_every_operation() -> None:
    # Sequences for stores of 2025-11-25 are made by their own driver.
    named = {name_of(kind.__new__(kind)) for kind in get_args(Operation) if kind not in NAMES}
    assert {*KINDS, "probe"} == named
    assert from_json(to_json(Probe("cap.a"))) == Probe("cap.a")


@few
@given(sequences())
def test_sequences_survive_json_text(sequence: tuple[Operation, ...]) -> None:
    assert sequence_from_json(json.loads(json.dumps(sequence_to_json(sequence)))) == sequence
    created = [operation.as_ for operation in sequence if isinstance(operation, Create)]
    assert created == [f"t{number}" for number in range(1, len(created) + 1)]
    assert isinstance(sequence[0], Create)


def test_sequences_shrink_to_the_simple() -> None:
    from hypothesis import find

    found = find(sequences(), lambda sequence: any(isinstance(each, Complete) for each in sequence), settings=few)
    assert found == (Create("t1"), Complete("t1", True))


def test_names_of_tasks() -> None:
    @few
    @given(tasks(("t1",), strangers=False))
    def check(name: str) -> None:
        assert name == "t1"

    check()
    assert base_task("t1~case") == base_task("t1") == "t1"


@pytest.mark.parametrize(("kinds", "message"), [(["dance"], "unknown operation 'dance'"), ([], "no operation")])
def test_unknown_kinds_are_refused(kinds: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        operations(kinds)


@few
@given(json_values())
def test_a_payload_is_its_value(value: Any) -> None:
    payload = Payload(value)
    assert json_equal(payload.value, value)
    assert payload.matches(value)
    assert payload.matches(json.loads(payload.text))
    assert payload.matches(json.loads(json.dumps(value)))
    assert Payload(json.loads(payload.text)) == payload
    assert pickle.loads(pickle.dumps(payload)) == payload
    assert text_of(value).isprintable()


@few
@given(payloads(), payloads())
def test_equality_of_payloads_is_equality_of_json(left: Payload, right: Payload) -> None:
    assert (left == right) == json_equal(left.value, right.value) == left.matches(right.value)
    if left == right:
        assert hash(left) == hash(right)


@few
@given(json_values())
def test_a_payload_keeps_no_reference(value: Any) -> None:
    payload = Payload(value)
    before = payload.text
    for handed_out in (value, payload.value):
        if isinstance(handed_out, dict):
            handed_out.clear()
        elif isinstance(handed_out, list):
            handed_out.append("more")
    assert Payload(payload.value).text == payload.text == before


SAME = [
    (1, 1.0),
    (0, -0.0),
    (2**63, float(2**63)),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ([1, [2]], (1, (2,))),
]
DIFFERENT: list[tuple[Any, Any]] = [
    (True, 1),
    (False, 0),
    (None, False),
    ("1", 1),
    (2**53 + 1, float(2**53)),
    (0.1 + 0.2, 0.3),
    ({}, []),
    ({"a": None}, {}),
    ([None], []),
    ({"a": 1}, {"A": 1}),
    ({"\u00e9": 1}, {"e\u0301": 1}),
    ([1, 2], [2, 1]),
    ([[True]], [[1]]),
    ("", None),
]


@pytest.mark.parametrize(("left", "right"), SAME)
def test_equal_as_json(left: Any, right: Any) -> None:
    assert Payload(left) == Payload(right)
    assert Payload(left).matches(right)
    assert Payload(left) in {Payload(right)}


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_different_as_json(left: Any, right: Any) -> None:
    assert Payload(left) != Payload(right)
    assert not Payload(left).matches(right)
    assert not Payload(right).matches(left)


class _Hostile:
    def __eq__(self, other: object) -> bool:
        raise SystemExit

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        raise SystemExit


def _endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize("value", [_Hostile(), [_Hostile()], b"1", {1, 2}, float("nan"), {1: 1}, object, _endless()])
def test_what_is_no_json_matches_nothing(value: Any) -> None:
    assert not Payload([1]).matches(value)
    assert not Payload(1).matches(value)
    assert text_of(value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), "no JSON number"),
        (float("inf"), "no JSON number"),
        ({1: 2}, "is not a string"),
        (b"bytes", "bytes is no JSON value"),
        ("\ud800", "lone surrogate"),
        ({"\udfff": 1}, "lone surrogate"),
        (_endless(), "deeper than 64 levels"),
    ],
)
def test_what_is_no_payload(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Payload(value)


REFUSED: list[tuple[Any, str]] = [
    (None, "must be a JSON object"),
    ([], "must be a JSON object"),
    ({}, "unknown operation None"),
    ({"op": ["get"]}, "unknown operation"),
    ({"op": "dance"}, "unknown operation 'dance'; known are create, get,"),
    ({"op": "get"}, "operation 'get' lacks member 'task'"),
    ({"op": "get", "task": ""}, "member 'task' must be a non-empty string"),
    ({"op": "get", "task": 1}, "member 'task' must be a non-empty string"),
    ({"op": "get", "task": "t1", "as": "t1"}, "operation 'get' has no member 'as'"),
    ({"op": "create"}, "lacks member 'as'"),
    ({"op": "create", "as": "t1", "as_": "t1"}, "no member 'as_'"),
    ({"op": "complete", "task": "t1"}, "lacks member 'result'"),
    ({"op": "complete", "task": "t1", "result": float("nan")}, "member 'result' nan is no JSON number"),
    ({"op": "fail", "task": "t1", "error": "\ud800"}, "member 'error' holds a lone surrogate"),
    ({"op": "set_input", "task": "t1", "requests": []}, "member 'requests' must be an object"),
    ({"op": "resolve", "task": "t1", "responses": {"k": float("inf")}}, "member 'responses.k' inf"),
    ({"op": "advance_clock", "ms": True}, "member 'ms' must be an integer"),
    ({"op": "advance_clock", "ms": 1.5}, "member 'ms' must be an integer"),
    ({"op": "subscribe", "as": "l1", "kind": "loud"}, "member 'kind' must be one of plain, raising, getting"),
    ({"op": "tamper", "task": "t1", "what": "sent"}, "member 'what' must be one of returned, given"),
    ({"op": "abort", "operation": {"op": "create", "as": "t1"}}, "must be a call on one task"),
    ({"op": "abort", "operation": {"op": "get", "task": "t1"}, "after": -1}, "an integer of at least 0"),
    ({"op": "abort", "operation": {"op": "get"}}, "operation 'abort': operation 'get' lacks member 'task'"),
]


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_wrong_json_is_refused(value: Any, message: str) -> None:
    with pytest.raises(OperationError) as caught:
        from_json(value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(OperationError, match=r"operations\[1\]"):
        sequence_from_json([{"op": "create", "as": "t1"}, value])


def test_a_sequence_must_be_an_array() -> None:
    with pytest.raises(OperationError, match="must be a JSON array"):
        sequence_from_json({"op": "create", "as": "t1"})


def test_optional_members_have_defaults() -> None:
    assert from_json({"op": "subscribe", "as": "l1"}) == Subscribe("l1", "plain")
    assert from_json({"op": "tamper", "task": "t1"}) == Tamper("t1", "returned")
    assert from_json({"op": "abort", "operation": {"op": "cancel", "task": "t1"}}) == Abort(Cancel("t1"), 0)


def test_reads_and_clock_moves_are_no_store_calls() -> None:
    sequence = (
        Create("t1"),
        Get("t1"),
        AdvanceClock(5),
        SetInput("t1", {"a": 1}),
        Resolve("t1", {"a": 2}),
        Fail("t1", {"code": 1}),
        Unsubscribe("l1"),
    )
    assert store_calls(sequence) == 5


def test_operations_are_frozen_and_copy() -> None:
    operation = SetInput("t1", {"a": {"b": [1]}})
    with pytest.raises(AttributeError):
        operation.task = "t2"  # type: ignore[misc]
    assert copy.deepcopy(operation) == operation == pickle.loads(pickle.dumps(operation))


@few
@given(st.data())
def test_equal_payloads_make_equal_operations(data: st.DataObject) -> None:
    payload = data.draw(payloads())
    assert Complete("t1", payload) == Complete("t1", payload.value)
