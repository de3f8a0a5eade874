"""A finished task against the same call made without tasks (tasks extension, "Task Execution Errors").

Only where a tool does the same thing every time, as most of the official fixture tools do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcptasks.conformance.engine.wire_tasks import WireTask, payload_of
from mcptasks.conformance.engine.wire_tools import ToolProfile
from mcptasks.conformance.model.states import COMPLETED, FAILED
from mcptasks.conformance.wire.names import MISSING_CAPABILITY
from mcptasks.conformance.wire.requests import CAPABILITIES
from mcptasks.strategies.json_values import JSON, Payload, text_of

if TYPE_CHECKING:
    from mcptasks.conformance.engine.wire_interpreter import WireInterpreter

__all__ = ["compare_with_call"]

_WITHOUT_TASKS: Final[dict[str, JSON]] = {key: item for key, item in CAPABILITIES.items() if key != "extensions"}


async def compare_with_call(run: WireInterpreter, task: WireTask) -> None:
    """Compare how a task ended with what the same call gives a client that declares no tasks.

    Raises:
        Stop: they differ.
    """
    status, number = task.node.status, task.node.payload
    profile = run.profile
    if not isinstance(profile, ToolProfile) or not profile.is_repeatable(task.opening):
        return
    if task.unjudged or status not in (COMPLETED, FAILED) or number < 0:
        return
    reply = await run.send("create", "tools/call", task.opening, capabilities=_WITHOUT_TASKS)
    if reply is None or reply.code == MISSING_CAPABILITY:
        return  # a tool that is only a task
    got = task.bodies[number]
    if reply.result is not None:
        _against_result(run, status, got, payload_of(reply.result, result=True), reply.result.get("resultType"))
    else:
        _against_error(run, status, got, payload_of(reply.error, error=True))


def _against_result(run: WireInterpreter, status: str, got: Payload, plain: Payload | None, result_type: JSON) -> None:
    if result_type != "complete":
        return
    told = f"the plain call gives the result {_text(plain)}"
    run.exercised["tasks.status.failed-only-jsonrpc"] += 1
    if status == FAILED:
        _bad(run, "tasks.status.failed-only-jsonrpc", status, "status", f"the task fails with {_text(got)}; {told}")
        return  # reported already: that its payload differs, too, is no second fault
    run.exercised["tasks.status.result-exact"] += 1
    if got != plain:
        _bad(run, "tasks.status.result-exact", status, "payload", f"the task's result is {_text(got)}; {told}")


def _against_error(run: WireInterpreter, status: str, got: Payload, plain: Payload | None) -> None:
    told = f"the plain call gives the error {_text(plain)}"
    run.exercised["tasks.status.error-exact"] += 1
    if status != FAILED:
        _bad(run, "tasks.status.error-exact", status, "status", f"the task completes with {_text(got)}; {told}")
        return
    if got != plain:
        _bad(run, "tasks.status.error-exact", status, "payload", f"the task's error is {_text(got)}; {told}")


def _bad(run: WireInterpreter, requirement: str, status: str, aspect: str, actual: str) -> None:
    run.breach(
        requirement,
        "create",
        "compare",
        status,
        aspect,
        f"a call made with tasks and without ends differently: {actual}",
        "tasks/get shows exactly what the call would have returned",
        actual,
        soft=True,
    )


def _text(payload: Payload | None) -> str:
    return "nothing readable" if payload is None else text_of(payload.value, 100)
