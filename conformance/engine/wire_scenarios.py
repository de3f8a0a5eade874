"""Sequences written by hand: what a few thousand random requests to a server would meet too rarely.

Each shows the interplay of several operations, and is read back often, so that it says at once what went wrong.
"""

from __future__ import annotations

from collections.abc import Mapping

from mcptasks.strategies.json_values import JSON
from mcptasks.strategies.operations import Cancel, Complete, Create, Fail, Get, Operation, Resolve, SetInput
from mcptasks.strategies.payloads import KEYS, nested

__all__ = ["control_scenarios"]

Sequence = list[Operation]


def _ask(*keys: str, task: str = "t1", at: int = 0) -> SetInput:
    return SetInput(task, {key: {"ask": key, "at": at} for key in keys})


def _tell(*keys: str, task: str = "t1", at: int = 0) -> Resolve:
    return Resolve(task, {key: {"answer": key, "at": at} for key in keys})


def _result(number: int) -> dict[str, JSON]:
    return {"content": [{"type": "text", "text": f"result {number}"}], "structuredContent": {"n": number}}


def _error(number: int) -> dict[str, JSON]:
    return {"code": 4000 + number, "message": f"error {number}", "data": {"n": number}}


def _late(task: str = "t1") -> Sequence:
    """Everything that comes too late, each read back."""
    calls: Sequence = [
        _ask("z", task=task),
        _tell("a", task=task, at=7),
        Cancel(task),
        Complete(task, _result(8)),
        Fail(task, _error(9)),
        Cancel(task),
    ]
    return [item for call in calls for item in (call, Get(task))]


def _ends() -> list[Sequence]:
    ends: tuple[Operation, ...] = (Complete("t1", _result(1)), Fail("t1", _error(1)), Cancel("t1"))
    out: list[Sequence] = []
    for end in ends:
        out.append([Create(), end, Get(), Get(), *_late()])
        out.append([Create(), _ask("a", "b"), Get(), end, Get(), *_late()])
        out.append([Create(), _ask("a", "b"), Get(), end, Get(), _tell("a", "b"), Get(), _tell("b", at=1), Get()])
        out.append([Create(), _ask("a"), _tell("a"), Get(), end, Get(), *_late()])
    return out


def _questions() -> list[Sequence]:
    three: Sequence = [Create(), _ask("a", "b", "c"), Get()]
    for key in ("b", "a", "c"):
        three += [_tell(key), Get()]
    rounds: Sequence = [Create()]
    for number in range(3):
        rounds += [_ask("a", at=number), Get(), _tell("a", at=number), Get()]
    grown: Sequence = [Create()]
    for key in "abcde":
        grown += [_ask(key), Get()]
    grown += [_tell("a", "c"), Get(), _tell("b", "d", "e"), Get()]
    return [
        [*three, Complete("t1", _result(1)), Get()],
        [*rounds, Complete("t1", _result(1)), Get()],
        [*grown, Complete("t1", _result(1)), Get()],
        [Create(), _ask("a", "b"), _tell("b", "a"), Get(), Complete("t1", _result(1)), Get()],
        [Create(), _ask("a"), _ask("b"), _tell("a", "b"), Get(), _tell("b", at=1), Get(), Complete("t1", True)],
        [Create(), _ask("a", "b"), _tell("a"), Get(), _tell("a", at=1), Get(), _tell("a", "b", at=2), Get(), _ask("c"), Get()],
        [Create(), _ask("a", "b"), _tell("never-asked"), Get(), _tell("never-asked", "a"), Get(), _tell("b"), Get()],
        [Create(), _ask("a"), _tell("never-asked", "a"), Get(), _tell("a", at=1), Get(), Complete("t1", True), Get()],
        [Create(), _tell("a"), Get(), Resolve("t1", {}), Get(), _ask("a"), Get(), Resolve("t1", {}), Get(), _tell("a")],
        [Create(), _ask("a"), _tell("a"), _tell("a", at=1), Get(), Fail("t1", _error(1)), Get()],
        [Create(), _ask("a", "b"), _tell("a"), Get(), Complete("t1", _result(1)), Get()],
        [Create(), _ask("a", "b"), _tell("b"), Fail("t1", _error(1)), Get()],
        [Create(), _ask("a"), _tell("a"), Get(), _ask("b"), Get(), Cancel(), Get(), _tell("b"), Get()],
        [Create(), _ask("a"), _tell("a"), _ask("b"), Get(), _tell("a", at=1), Get(), _tell("b"), Get(), Cancel(), Get()],
        [Create(), _ask("a"), *[Get()] * 4, _tell("a"), *[Get()] * 4, Complete("t1", _result(1)), *[Get()] * 4],
    ]  # fmt: skip


def _names() -> list[Sequence]:
    """Keys that are easily taken for each other: asked together, and answered by the other's name."""
    out: list[Sequence] = []
    for group in KEYS:
        if len(group[0]) > 100:
            continue
        first, second = group[0], group[1]
        out.append([Create(), _ask(first, second), Get(), _tell(second), Get(), _tell(first), Get()])
        out.append(
            [Create(), _ask(second), _tell(first), Get(), _tell(first[:1] or "x", at=1), Get(), _tell(second), Get()]
        )
    return out


def _kinds() -> list[Sequence]:
    requests: Mapping[str, JSON] = {
        "form": {
            "method": "elicitation/create",
            "params": {
                "mode": "form",
                "message": "Who?",
                "requestedSchema": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
                    "required": ["name"],
                },
            },
        },
        "sample": {
            "method": "sampling/createMessage",
            "params": {
                "messages": [{"role": "user", "content": {"type": "text", "text": "Say hello."}}],
                "maxTokens": 20,
            },
        },
        "roots": {"method": "roots/list", "params": {}},
        "large": {
            "method": "sampling/createMessage",
            "params": {
                "messages": [{"role": "user", "content": {"type": "text", "text": "Again."}}] * 2,
                "maxTokens": 3_000_000_000,
                "metadata": {},
            },
        },
    }
    answers = {key: {"answer": key} for key in requests}
    return [
        [Create(), SetInput("t1", requests), Get(), Resolve("t1", answers), Get(), Complete("t1", True), Get()],
        [Create(), *[item for key in requests for item in (SetInput("t1", {key: requests[key]}), Get())],
         *[item for key in requests for item in (Resolve("t1", {key: answers[key]}), Get())], Complete("t1", True)],
    ]  # fmt: skip


def _payloads() -> list[Sequence]:
    hard: dict[str, JSON] = {
        "numbers": [0, -1, 1.5, 1e-7, 2**53 - 1],
        "text": "\u00e9 e\u0301 \U0001f468\u200d\U0001f469\u200d\U0001f467 \u2028 \\ \" ' < & \u0000",
        "nothing": None,
        "empty": [{}, [], "", False, 0],
        "names": {"": 1, " ": 2, "a.b": 3, "__proto__": 4},
        "digits": ["0", "42", "1.0", "true", "null"],
        "blanks": [" a ", "\ta\n"],
        "same": [1, 1, "x", "x", {}, {}],
        "deep": nested(45, 1),
        "objects": nested(40, "x", objects=True),
        "_meta": {"own": 1},
    }
    failed = {"content": [{"type": "text", "text": "it failed"}], "isError": True}
    big = {"content": [{"type": "text", "text": f"{'x' * 20_000} end"}]}
    huge = {"content": [{"type": "text", "text": f"{'y' * 70_000} end"}]}
    results: tuple[dict[str, JSON], ...] = (
        {"content": [], "structuredContent": hard},
        failed,
        {"content": [{"type": "text", "text": "a"}, {"type": "image", "data": "AAAA", "mimeType": "image/png"}]},
        big,
        huge,
    )
    out: list[Sequence] = [[Create(), Complete("t1", result), Get(), Get()] for result in results]
    out += [
        [Create(), Fail("t1", {"code": code, "message": message, "data": data}), Get(), Get()]
        for code, message, data in (
            (-32603, "internal", hard),
            (1, " \u00e9 ", None),
            (404, "none", [1, 2]),
            (405, f"{'z' * 2000} end", {"text": " a " * 1000}),
        )
    ]
    return out


def _several() -> list[Sequence]:
    many = [f"t{number}" for number in range(1, 13)]
    ends: Sequence = []
    for number, name in enumerate(many):
        ends.append(
            (Complete(name, _result(number)), Fail(name, _error(number)), _ask("a", task=name), Cancel(name))[
                number % 4
            ]
        )
    both: Sequence = [Create(), Create("t2"), _ask("a"), _ask("a", task="t2", at=1), Get(), Get("t2")]
    return [
        [*(Create(name) for name in many), *ends, *(Get(name) for name in reversed(many)), *(Get(name) for name in many)],
        [*both, _tell("a"), Get("t2"), Get(), _tell("a", task="t2", at=1), Get(), Get("t2"),
         Complete("t1", _result(1)), Get("t2"), Complete("t2", _result(2)), Get(), Get("t2")],
        [*both, Cancel(), Get("t2"), _tell("a", task="t2", at=1), Get("t2"), Complete("t2", _result(2)), Get("t2"), Get()],
        [Create(), Create("t2"), Create("t3"), _ask("a"), Get(), Fail("t3", _error(3)), Get(), Complete("t2", True), Get()],
        [Create(), Create("t2"), Create("t3"), Cancel("t2"), Get(), Get("t3"), Fail("t3", _error(3)), Get(), Get("t3"),
         Complete("t1", _result(1)), Get("t3"), Get("t2"), Get()],
        [Create(), Complete("t1", _result(1)), Create("t2"), Complete("t2", _result(2)), Get(), Create("t3"),
         Fail("t3", _error(3)), Create("t4"), Fail("t4", _error(4)), Get("t3"), Get("t2"), Get(), Get("t4")],
    ]  # fmt: skip


def _strangers() -> list[Sequence]:
    calls: list[Sequence] = []
    for name in ("x1", "t1~prefix", "t1~suffix", "t1~space"):
        steps: Sequence = [Get(name), Complete(name, _result(1)), Get(name), Fail(name, _error(1)), Get(name)]
        steps += [_ask("a", task=name), Get(name), _tell("a", task=name), Get(name), Cancel(name), Get(name)]
        calls.append([Create(), _ask("a"), *steps, Get(), Cancel(name), _tell("a", task=name), Get()])
    return calls


def control_scenarios() -> list[Sequence]:
    """All of them, for a server with the control tools."""
    return [*_ends(), *_questions(), *_names(), *_kinds(), *_payloads(), *_several(), *_strangers()]
