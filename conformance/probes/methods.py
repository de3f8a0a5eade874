"""Methods that are no more, a parameter that is no more, and results that are no tasks (tasks extension).

Sources: tasks extension, "Supported Methods" and "Polymorphic Results"; SEP-2663, "Backward Compatibility".
"""

from __future__ import annotations

from typing import Final

from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes.raw import RawAnswer
from mcptasks.conformance.probes.session import ProbeSession, ProbeSkipped
from mcptasks.conformance.probes.states import stranger_of
from mcptasks.conformance.wire import header_values
from mcptasks.conformance.wire.names import HEADER_NAME, METHOD_NOT_FOUND
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()

_TASK: Final[dict[str, JSON]] = {"ttl": 60_000}
"""The member ``task`` by which a client of 2025-11-25 asks for a task."""
_READS: Final = ("server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list")
"""Requests without parameters that change nothing; a server need not know the last three."""


async def _gone(session: ProbeSession, requirement: str, method: str, params: dict[str, JSON], name: str) -> None:
    headers = {HEADER_NAME: header_values.encode(name)} if name else {}
    answer = await session.raw(session.message(method, params), headers=headers)
    session.check(
        requirement,
        answer.code == METHOD_NOT_FOUND,
        expected=f"error {METHOD_NOT_FOUND}",
        actual=answer.told,
        message=f"{method}, which is no method of this revision, is answered with {answer.told}",
    )


@GROUP.probe("core.tasks-result", "tasks.method.result-removed")
async def tasks_result(session: ProbeSession) -> None:
    """tasks/result of 2025-11-25, for a finished task."""
    task = await session.open_task()
    await session.end(task)
    await _gone(session, "tasks.method.result-removed", "tasks/result", {"taskId": task.id}, task.id)


@GROUP.probe("core.tasks-list", "tasks.method.list-absent")
async def tasks_list(session: ProbeSession) -> None:
    """tasks/list of 2025-11-25."""
    await session.open_task()
    await _gone(session, "tasks.method.list-absent", "tasks/list", {}, "")


async def _quick(session: ProbeSession) -> dict[str, JSON]:
    """A call of a tool that answers at once without a task."""
    tools = await session.tools()
    if "greet" in tools:
        return {"name": "greet", "arguments": {"name": "mcptasks"}}
    if "task_step" in tools:
        task = await session.open_task()
        result: JSON = {"content": []}
        step: JSON = {"action": "complete", "result": result}
        return {"name": "task_step", "arguments": {"taskId": stranger_of(task.id), "step": step}}
    raise ProbeSkipped("the server has no tool that is known to be quick")


def _outcome(answer: RawAnswer) -> str:
    result = answer.result
    if result is None:
        return f"error {answer.code}" if answer.error is not None else answer.told
    return "a task" if result.get("resultType") == "task" or "taskId" in result else "a plain result"


@GROUP.probe("core.task-param-opt-in", "tasks.method.task-param-not-optin")
async def task_param_opt_in(session: ProbeSession) -> None:
    """The parameter ``task`` of 2025-11-25 makes no task for a client that does not declare the extension."""
    call = await _quick(session)
    tools = await session.tools()
    calls = [{**call, "task": _TASK}]
    calls += [
        {"name": name, "arguments": arguments, "task": _TASK}
        for name, arguments in (("task_open", {}), ("slow_compute", {"seconds": 0.01, "label": "probe"}))
        if name in tools
    ]
    for item in calls:
        without = {key: value for key, value in item.items() if key != "task"}
        if _outcome(await session.ask("tools/call", without, capabilities={})) == "a task":
            continue  # judged by another probe
        answer = await session.ask("tools/call", item, capabilities={})
        if isinstance((answer.result or {}).get("taskId"), str):
            session.adopt(answer.result or {})
        session.check(
            "tasks.method.task-param-not-optin",
            _outcome(answer) != "a task",
            expected="what the call without the parameter 'task' gets",
            actual=answer.told,
            message=f"an undeclared tools/call of {item['name']} with the parameter 'task' of 2025-11-25 makes a task",
        )


@GROUP.probe("core.task-param-tolerated", "tasks.method.task-param-tolerated")
async def task_param_tolerated(session: ProbeSession) -> None:
    """The parameter ``task`` of 2025-11-25 does not make a request fail."""
    call = await _quick(session)
    for capabilities, words in ((None, "a declaring"), ({}, "an undeclared")):
        plain = _outcome(await session.ask("tools/call", call, capabilities=capabilities))
        answer = await session.ask("tools/call", {**call, "task": _TASK}, capabilities=capabilities)
        session.check(
            "tasks.method.task-param-tolerated",
            _outcome(answer) == plain or _outcome(answer) == "a task",
            expected=f"{plain}, as without the parameter",
            actual=answer.told,
            message=f"{words} tools/call of {call['name']} with the parameter 'task' of 2025-11-25 is answered with "
            f"{answer.told}",
        )


@GROUP.probe("core.result-types", "tasks.rt.present", "tasks.method.only-tools-call", "tasks.rt.task-nowhere-else")
async def result_types(session: ProbeSession) -> None:
    """Every result says what it is, and none but that of a tools/call is a task."""
    answers = [(method, await session.ask(method)) for method in _READS]
    answers.append(("tools/call", await session.ask("tools/call", await _quick(session))))
    for method, answer in answers:
        if answer.result is None:
            continue
        kind = answer.result.get("resultType")
        if method != "tools/call":
            session.check(
                "tasks.method.only-tools-call",
                kind != "task" and "taskId" not in answer.result,
                expected="a result that is no task",
                actual=answer.told,
                message=f"{method} is answered with a task",
                aspect=method,
            )
        elif "taskId" not in answer.result and "task" not in answer.result:
            session.check(
                "tasks.rt.task-nowhere-else",
                kind != "task",
                expected="resultType complete of a result that is no task",
                actual=answer.told,
                message="a tools/call is answered with a result that says it is a task and is none",
            )
        session.check(
            "tasks.rt.present",
            isinstance(kind, str),
            expected="a member resultType that is a text",
            actual=f"resultType {text_of(kind, 40)}" if "resultType" in answer.result else "no resultType",
            message=f"the result of {method} does not say what it is: it has "
            f"{'resultType ' + text_of(kind, 40) if 'resultType' in answer.result else 'no resultType'}",
            aspect=method,
        )
