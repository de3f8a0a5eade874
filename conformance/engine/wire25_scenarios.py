"""Sequences written by hand for servers of 2025-11-25: the interplay that short or random ones would meet too rarely."""

from __future__ import annotations

from typing import Final

from mcptasks.conformance.engine.wire_tools import ToolProfile
from mcptasks.strategies.json_values import JSON
from mcptasks.strategies.operations import Cancel, Complete, Create, Fail, Get, Operation, Resolve, SetInput
from mcptasks.strategies.operations_2025 import AwaitResult, GetResult, ListTasks

__all__ = ["control_scenarios", "tool_scenarios"]

_ASK: Final[dict[str, JSON]] = {"a": {"q": 1}}
_BOTH: Final[dict[str, JSON]] = {"a": {"q": 1}, "b": {"q": 2}}
_YES: Final[dict[str, JSON]] = {"a": {"n": 1}}
_ALSO: Final[dict[str, JSON]] = {"b": {"n": 2}}
_WRONG: Final[dict[str, JSON]] = {"content": [{"type": "text", "text": "it did not work"}], "isError": True}
_ERROR: Final[dict[str, JSON]] = {"code": 1234, "message": "it broke", "data": {"why": [1, "two", None]}}
_RICH: Final[dict[str, JSON]] = {
    "content": [{"type": "text", "text": "grüße \U0001f600"}, {"type": "text", "text": ""}],
    "structuredContent": {"n": 0, "f": 0.5, "empty": {}, "list": [None, False, "x"]},
}


def control_scenarios() -> list[list[Operation]]:
    """What is run on every server with the control tools, whatever the seed."""
    return [
        # what does not exist
        [Get("x1"), GetResult("x1"), Cancel("x1"), ListTasks()],
        [Create(), Get("t1~prefix"), GetResult("t1~suffix"), Cancel("t1~prefix"), Get(), Complete("t1", {"ok": 1}), Get()],
        # results: of every kind, waited for and fetched, once and again
        [Create(), AwaitResult(), Get(), Complete("t1", _RICH), Get(), GetResult(), GetResult(), Get()],
        [Create(), AwaitResult(), AwaitResult(), AwaitResult(), Get(), Complete("t1", {"ok": 1}), GetResult(), Get()],
        [Create(), AwaitResult(), Complete("t1", _WRONG), Get(), GetResult(), GetResult(), Get()],
        [Create(), AwaitResult(), AwaitResult(), Fail("t1", _ERROR), Get(), GetResult(), GetResult(), Get()],
        [Create(), Fail("t1", {"code": -32050, "message": "x"}), GetResult(), Get(), Complete("t1", 1), GetResult(), Get()],
        # the end is final
        [Create(), Complete("t1", {"ok": 1}), Get(), Cancel(), Get(), Fail("t1", _ERROR), Get(), GetResult(), Get()],
        [Create(), Fail("t1", _ERROR), Get(), Cancel(), Get(), Complete("t1", {"ok": 2}), Get(), GetResult(), Get()],
        [Create(), Complete("t1", {"ok": 1}), Complete("t1", {"ok": 2}), GetResult(), SetInput("t1", _ASK), Get(), GetResult()],
        # cancellation: at once, sticky, refused afterwards, and every waiter is answered
        [Create(), Cancel(), Get(), Cancel(), Get(), Complete("t1", {"late": 1}), Get(), GetResult(), Get(), ListTasks()],
        [Create(), AwaitResult(), AwaitResult(), Cancel(), Get(), Fail("t1", _ERROR), Get(), GetResult(), Create("t2"), Get("t2")],
        [Create(), SetInput("t1", _ASK), Get(), Cancel(), Get(), Resolve("t1", _YES), Get(), Complete("t1", 1), Get(), GetResult()],
        # questions and answers
        [Create(), SetInput("t1", _ASK), Get(), Resolve("t1", _YES), Get(), Complete("t1", {"ok": 1}), Get(), GetResult()],
        [Create(), AwaitResult(), SetInput("t1", _ASK), Get(), Resolve("t1", _YES), Get(), Complete("t1", {"ok": 1}), GetResult()],
        [Create(), AwaitResult(), SetInput("t1", _BOTH), Get(), Resolve("t1", _YES), Get(), Resolve("t1", _ALSO), Get(),
         Complete("t1", {"ok": 1}), Get(), GetResult()],
        [Create(), SetInput("t1", _BOTH), AwaitResult(), Resolve("t1", _ALSO), Get(), Resolve("t1", _YES), Get(), Complete()],
        [Create(), AwaitResult(), SetInput("t1", _ASK), Resolve("t1", _YES), SetInput("t1", _ASK), Resolve("t1", {"a": {"n": 2}}),
         Get(), SetInput("t1", {"c": {"q": "xyz"}}), Get(), Resolve("t1", {"c": 3}), Get(), Complete("t1", {"ok": 1}), GetResult()],
        [Create(), SetInput("t1", _ASK), Get(), Complete("t1", {"ok": 1}), Get(), GetResult(), Get()],
        [Create(), SetInput("t1", _ASK), Get(), Fail("t1", _ERROR), Get(), GetResult()],
        # two tasks and their questions are kept apart
        [Create(), Create("t2"), AwaitResult(), AwaitResult("t2"), SetInput("t1", _ASK), SetInput("t2", _ASK), Get(), Get("t2"),
         Resolve("t2", {"a": {"n": "second"}}), Get(), Get("t2"), Resolve("t1", {"a": {"n": "first"}}), Get(), Get("t2"),
         Complete("t2", {"of": 2}), Get(), Complete("t1", {"of": 1}), GetResult(), GetResult("t2")],
        [Create(), Create("t2"), AwaitResult(), AwaitResult("t2"), Complete("t1", {"of": 1}), Get("t2"), GetResult(),
         Complete("t2", {"of": 2}), GetResult("t2"), GetResult(), Get(), Get("t2")],
        [Create(), Create("t2"), SetInput("t2", _ASK), Cancel(), Get("t2"), Get(), Complete("t2", {"of": 2}), Get("t2"), GetResult("t2")],
        # lists
        [Create(), ListTasks(), Complete(), Get(), ListTasks(), Get()],
        [Create(), SetInput("t1", _ASK), Get(), ListTasks(), Resolve("t1", _YES), Get(), ListTasks(), Fail("t1", _ERROR), Get(),
         ListTasks()],
        [*(Create(f"t{number}") for number in range(1, 13)), ListTasks(), Complete("t3", 1), Cancel("t5"), Fail("t7", _ERROR),
         Get("t3"), Get("t7"), ListTasks(), Get("t5"), Get("t12")],
        # old ones are still there
        [*(Create(f"t{number}") for number in range(1, 37)), Get("t1"), Get("t2"), Complete("t1", {"n": 1}), Get("t1"), GetResult("t1")],
    ]  # fmt: skip


def tool_scenarios(profile: ToolProfile) -> list[list[Operation]]:
    """What tools of a server's own reach, each once; a task is made by the tool that does what follows."""
    roles = profile.roles
    out: list[list[Operation]] = [[Get("x1"), GetResult("x1"), Cancel("x2"), ListTasks()]]
    if "runs_long" in roles:
        out += [
            [Create(), Get(), AwaitResult(), Get(), Cancel(), Get(), Cancel(), Get(), GetResult()],
            [Create(), Create("t2"), AwaitResult(), AwaitResult("t2"), Get("t2"), Cancel("t2"), Get(), ListTasks(), Cancel()],
            [Create(), Get("t1~prefix"), Cancel("t1~suffix"), Get(), Cancel(), Get()],
        ]  # fmt: skip
    if "completes" in roles:
        out += [
            [Create(), AwaitResult(), AwaitResult(), Complete("t1", {"ok": 1}), GetResult(), GetResult(), Get(), Cancel(), Get()],
            [Create(), Complete("t1", {"ok": 1}), Get(), GetResult(), ListTasks(), Cancel(), Get(), GetResult()],
        ]  # fmt: skip
    if "tool_error" in roles:
        out.append([Create(), AwaitResult(), Complete("t1", _WRONG), Get(), GetResult(), GetResult(), Cancel(), Get()])
    if "fails" in roles:
        out.append([Create(), AwaitResult(), Fail("t1", _ERROR), Get(), GetResult(), GetResult(), Cancel(), Get()])
    if "asks" in roles:
        out += [
            [
                Create(),
                AwaitResult(),
                SetInput("t1", _ASK),
                Resolve("t1", _YES),
                Complete("t1", {}),
                Get(),
                GetResult(),
            ],
            [Create(), SetInput("t1", _ASK), Get(), Resolve("t1", _YES), Complete("t1", {}), GetResult(), GetResult()],
            [Create(), SetInput("t1", _ASK), Get(), Cancel(), Get(), GetResult(), Get()],
        ]
    if "asks_more" in roles:
        out.append(
            [Create(), AwaitResult(), SetInput("t1", _BOTH), Resolve("t1", _YES), Resolve("t1", _ALSO), Complete("t1", {}), Get()]
        )  # fmt: skip
    return out
