"""Capability gating: what a client gets that does not declare the tasks extension, and that it changes nothing.

Sources: tasks extension, "Capability Negotiation" and "Protocol Errors"; MCP 2026-07-28, basic/index, "_meta".
Every request is whole but for what its client declares.  A client that never declared anything comes on a
connection of its own and under another name, so that a server that remembers is told from one that does not ask.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcptasks.conformance.engine.wire_profiles import Control
from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes.raw import RawAnswer
from mcptasks.conformance.probes.session import CLIENT, ProbeSession, ProbeSkipped, ProbeTask
from mcptasks.conformance.probes.states import MARK, answers_to, asking_task, outline, stranger_of
from mcptasks.conformance.wire.names import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    MISSING_CAPABILITY,
    TASKS_EXTENSION,
    TERMINAL_STATUSES,
)
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()

_OTHERS: Final[Mapping[str, JSON]] = {"elicitation": {}, "sampling": {}, "roots": {}}
_STRANGER: Final = "mcptasks-undeclared"
_METHODS: Final = ("get", "update", "cancel")
_LATE_S: Final = 0.1
"""Seconds after which it is looked once more whether a refused call has had an effect."""
_STATE: Final = frozenset({"status", "createdAt", "lastUpdatedAt", "ttlMs", "inputRequests", "result"})
_STATUSES: Final = ("working", "input_required", *sorted(TERMINAL_STATUSES))
_EXPECTED: Final = f"error {MISSING_CAPABILITY}"
_EXPECTED_DATA: Final = (
    f"error {MISSING_CAPABILITY} whose data.requiredCapabilities.extensions has {TASKS_EXTENSION}, an object"
)


@dataclass(frozen=True, slots=True)
class _Client:
    """A client by what it declares."""

    words: str
    capabilities: Any
    aspect: str
    name: str = _STRANGER
    fresh: bool = True

    async def ask(self, session: ProbeSession, method: str, params: Mapping[str, JSON]) -> RawAnswer:
        return await session.ask(method, params, capabilities=self.capabilities, client=self.name, fresh=self.fresh)


_NOTHING: Final = _Client("declares nothing", {}, "nothing")
_UNDECLARED: Final = (
    _NOTHING,
    _Client("declares everything but the extension", _OTHERS, "others"),
    _Client(
        "declares another extension",
        {**_OTHERS, "extensions": {"com.example/other": {}}},
        "other-extension",
    ),
)
_LEGACY: Final = _Client(
    "declares only the tasks capability of 2025-11-25",
    {**_OTHERS, "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}},
    "legacy",
)
_FORGETFUL: Final = _Client(
    "declared the extension in its earlier requests, on the same connection, and not in this one",
    _OTHERS,
    "sticky",
    name=CLIENT,
    fresh=False,
)
_MISSHAPEN: Final = (
    _Client("declares its extensions as an array", {"extensions": [TASKS_EXTENSION]}, "array"),
    _Client("declares its extensions as a text", {"extensions": TASKS_EXTENSION}, "text"),
)


def _requirement(method: str) -> str:
    return f"tasks.cap.{method}-undeclared"


def _params(method: str, task_id: str, responses: Mapping[str, JSON]) -> dict[str, JSON]:
    params: dict[str, JSON] = {"taskId": task_id}
    if method == "update":
        params["inputResponses"] = dict(responses)
    return params


def _names_extension(answer: RawAnswer) -> bool:
    data = (answer.error or {}).get("data")
    required = data.get("requiredCapabilities") if isinstance(data, Mapping) else None
    extensions = required.get("extensions") if isinstance(required, Mapping) else None
    return isinstance(extensions, Mapping) and isinstance(extensions.get(TASKS_EXTENSION), Mapping)


def _judge_refusal(
    session: ProbeSession, requirement: str, method: str, state: str, client: _Client, answer: RawAnswer
) -> None:
    asked = f"tasks/{method} of {state} by a client that {client.words}"
    session.check(
        requirement,
        answer.code == MISSING_CAPABILITY,
        expected=_EXPECTED,
        actual=answer.told,
        message=f"{asked} is answered with {answer.told}",
        aspect=f"{client.aspect}-{state.split()[-2]}",
    )
    if client in _UNDECLARED:  # of the other clients there is nothing new to learn of it
        _judge_data(session, "core.meta.missing-capability", asked, answer)


def _judge_data(session: ProbeSession, requirement: str, asked: str, answer: RawAnswer) -> None:
    data = text_of((answer.error or {}).get("data"), 120) if "data" in (answer.error or {}) else "no data"
    session.check(
        requirement,
        _names_extension(answer),
        expected=_EXPECTED_DATA,
        actual=f"error {answer.code} with {data}",
        message=f"the refusal of {asked} does not name the extension: it has {data}",
        aspect="data",
    )


async def _in_states(
    session: ProbeSession, judge: Callable[[str, ProbeTask, str, dict[str, JSON]], Awaitable[None]], method: str
) -> None:
    """Have ``judge(state, task, id, responses)`` look at a live task, an unknown one and a finished one."""
    if method == "update":
        task, shown = await asking_task(session)
        responses = answers_to(shown)
    else:
        task, responses = await session.open_task(), {}
    await judge("a live task", task, task.id, responses)
    await judge("an unknown task", task, stranger_of(task.id), responses)
    await session.end(task)
    await judge("a finished task", task, task.id, responses)


async def _judge_effect(
    session: ProbeSession, requirement: str, method: str, client: _Client, task: ProbeTask, before: object
) -> None:
    """A refused call must have changed nothing."""
    shown = await session.get(task)
    actual = outline(shown)
    session.check(
        requirement,
        actual == before,
        expected="a refused request has no effect",
        actual=f"the task was {text_of(list(before), 80) if isinstance(before, tuple) else before} and is now "
        f"{text_of(list(actual) if isinstance(actual, tuple) else None, 80)}",
        message=f"a tasks/{method} by a client that {client.words} is refused, and takes effect all the same",
        aspect=f"{client.aspect}-effect",
    )


async def _gated(session: ProbeSession, method: str) -> None:
    requirement = _requirement(method)

    async def judge(state: str, task: ProbeTask, task_id: str, responses: dict[str, JSON]) -> None:
        before = outline(await session.get(task))
        for client in _UNDECLARED if "live" in state else (_NOTHING,):
            answer = await client.ask(session, f"tasks/{method}", _params(method, task_id, responses))
            _judge_refusal(session, requirement, method, state, client, answer)
            if task_id == task.id and method != "get":
                await _judge_effect(session, requirement, method, client, task, before)
        if "live" in state and method != "get":
            await session.client.pacer.sleep(_LATE_S)
            await _judge_effect(session, requirement, method, _NOTHING, task, before)

    await _in_states(session, judge, method)


@GROUP.probe("cap.undeclared-get", "tasks.cap.get-undeclared", "core.meta.missing-capability")
async def undeclared_get(session: ProbeSession) -> None:
    """tasks/get by a client that does not declare the extension."""
    await _gated(session, "get")


@GROUP.probe("cap.undeclared-update", "tasks.cap.update-undeclared", "core.meta.missing-capability")
async def undeclared_update(session: ProbeSession) -> None:
    """tasks/update by a client that does not declare the extension: refused, and no answer is taken."""
    await _gated(session, "update")


@GROUP.probe("cap.undeclared-cancel", "tasks.cap.cancel-undeclared", "core.meta.missing-capability")
async def undeclared_cancel(session: ProbeSession) -> None:
    """tasks/cancel by a client that does not declare the extension: refused, and nothing is cancelled."""
    await _gated(session, "cancel")


async def _declared_before(session: ProbeSession, task: ProbeTask) -> None:
    """The last request on the connection before one that declares nothing: one that does."""
    await session.ask("tasks/get", {"taskId": task.id})
    if not session.over_stdio:
        session.remark("the next request goes by the same connection: join the two commands with --next")


async def _all_methods(session: ProbeSession, requirement: str, client: _Client) -> None:
    for method in _METHODS:

        async def judge(
            state: str, task: ProbeTask, task_id: str, responses: dict[str, JSON], method: str = method
        ) -> None:
            params = _params(method, task_id, responses)
            plain = await _NOTHING.ask(session, f"tasks/{method}", params)
            if plain.code != MISSING_CAPABILITY:
                session.skip(requirement, f"tasks/{method} of {state} is not refused to a client that declares nothing")
                return
            before = outline(await session.get(task))
            if not client.fresh:  # declared by the very client, on the very connection
                await _declared_before(session, task)
            answer = await client.ask(session, f"tasks/{method}", params)
            _judge_refusal(session, requirement, method, state, client, answer)
            if task_id == task.id and method != "get":
                await _judge_effect(session, requirement, method, client, task, before)

        try:
            await _in_states(session, judge, method)
        except ProbeSkipped as reason:
            session.skip(requirement, str(reason))


@GROUP.probe("cap.legacy-only", "tasks.cap.legacy-capability-ignored")
async def legacy_only(session: ProbeSession) -> None:
    """Every method by a client that declares only the tasks capability of 2025-11-25."""
    await _all_methods(session, "tasks.cap.legacy-capability-ignored", _LEGACY)


@GROUP.probe("cap.not-sticky", "tasks.cap.not-sticky")
async def not_sticky(session: ProbeSession) -> None:
    """Every method by a client that declared the extension before, and does not now."""
    await session.settle(await session.open_task())
    await _all_methods(session, "tasks.cap.not-sticky", _FORGETFUL)


@GROUP.probe("cap.misshapen", *(_requirement(method) for method in _METHODS))
async def misshapen(session: ProbeSession) -> None:
    """Every method by a client whose extensions are no object: it declares nothing, or is malformed."""
    task, shown = await asking_task(session)
    before, responses = outline(shown), answers_to(shown)
    for method in _METHODS:
        for client in _MISSHAPEN:
            answer = await client.ask(session, f"tasks/{method}", _params(method, task.id, responses))
            session.check(
                _requirement(method),
                answer.code in (MISSING_CAPABILITY, INVALID_PARAMS, INVALID_REQUEST),
                expected=f"{_EXPECTED}, or {INVALID_PARAMS} for malformed parameters",
                actual=answer.told,
                message=f"tasks/{method} by a client that {client.words} is answered with {answer.told}",
                aspect=client.aspect,
                warning=True,
            )
            await _judge_effect(session, _requirement(method), method, client, task, before)


def _leaks(value: JSON, depth: int = 0) -> str | None:
    """What of a task's state stands in an error's data."""
    if depth > 20:
        return None
    if isinstance(value, str):
        return "the content of the task" if MARK in value else None
    items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    # Problem details have a status, too, and any error may tell what its result is: only those of a task count.
    found = (
        sorted(name for name in _STATE & value.keys() if _tells(name, value[name])) if isinstance(value, dict) else []
    )
    if found:
        return f"member {found[0]}"
    return next((leak for item in items if (leak := _leaks(item, depth + 1))), None)


def _tells(name: str, value: JSON) -> bool:
    """Whether a member of that name and value is one of a task."""
    if name == "status":
        return value in _STATUSES
    return isinstance(value, dict) if name == "result" else value is not None


@GROUP.probe("cap.no-leak", "tasks.cap.get-undeclared-no-leak")
async def no_leak(session: ProbeSession) -> None:
    """The refusal of an undeclared request tells nothing of the task."""
    task, shown = await asking_task(session)
    waits = answers_to(shown)
    for state in ("a live task", "a finished task"):
        for method in _METHODS:
            answer = await _NOTHING.ask(session, f"tasks/{method}", _params(method, task.id, waits))
            if answer.error is None:
                continue  # judged by the probe of that method
            beside = {key: item for key, item in (answer.response or {}).items() if key != "error"}
            leak = _leaks(answer.error) or _leaks(beside)
            session.check(
                "tasks.cap.get-undeclared-no-leak",
                leak is None,
                expected="an error that tells nothing of the task",
                actual=f"error {answer.code} with {leak}: {text_of(answer.error, 160)}",
                message=f"the refusal of an undeclared tasks/{method} of {state} carries {leak}",
                aspect=method,
            )
        if isinstance(session.profile, Control) and not task.ended:
            marked: dict[str, JSON] = {"content": [{"type": "text", "text": MARK}]}
            await session.step(task, {"action": "complete", "result": marked})
        await session.end(task)


# --- creation -----------------------------------------------------------------------------------------


def _is_task(answer: RawAnswer) -> bool:
    result = answer.result or {}
    return result.get("resultType") == "task" or isinstance(result.get("taskId"), str) or "task" in result


async def _makers(session: ProbeSession) -> list[dict[str, JSON]]:
    """Calls of tools that make tasks for a client that declares the extension, and end soon by themselves."""
    calls: list[dict[str, JSON]] = []
    tools = await session.tools()
    if "task_open" in tools:
        calls.append({"name": "task_open", "arguments": {}})
    if "slow_compute" in tools:
        calls.append({"name": "slow_compute", "arguments": {"seconds": 0.01, "label": "probe"}})
    for name in ("failing_job", "protocol_error_job"):
        if name in tools and len(calls) < 2:
            calls.append({"name": name, "arguments": {}})
    if not calls:
        raise ProbeSkipped("the server has no tool that makes a task and ends soon")
    return calls


def _adopt(session: ProbeSession, answer: RawAnswer) -> None:
    """A task that must not be there is ended all the same."""
    if isinstance((answer.result or {}).get("taskId"), str):
        session.adopt(answer.result or {})


def _judge_no_task(
    session: ProbeSession, requirement: str, call: Mapping[str, JSON], client: _Client, answer: RawAnswer, how: str = ""
) -> None:
    _adopt(session, answer)
    asked = f"tools/call of {call['name']}{how} by a client that {client.words}"
    session.check(
        requirement,
        not _is_task(answer),
        expected=f"a result without a task, or error {MISSING_CAPABILITY}",
        actual=answer.told,
        message=f"{asked} makes a task",
        aspect=f"task-{client.aspect}",
    )
    session.check(
        "tasks.cap.fallback",
        answer.result is not None or answer.error is not None,
        expected="a result of the core protocol, or an error",
        actual=answer.told,
        message=f"{asked} is answered with {answer.told}",
        aspect=client.aspect,
    )


@GROUP.probe("cap.undeclared-call", "tasks.cap.no-task-undeclared", "tasks.cap.fallback")
async def undeclared_call(session: ProbeSession) -> None:
    """No task is made for a client that does not declare the extension."""
    for call in await _makers(session):
        for client in _UNDECLARED:
            answer = await client.ask(session, "tools/call", call)
            _judge_no_task(session, "tasks.cap.no-task-undeclared", call, client, answer)


async def _gated_makers(session: ProbeSession) -> AsyncIterator[dict[str, JSON]]:
    """The calls that make no task for a client that declares nothing: what others get is a matter of its own."""
    for call in await _makers(session):
        answer = await _NOTHING.ask(session, "tools/call", call)
        _adopt(session, answer)
        if not _is_task(answer) and (answer.result is not None or answer.error is not None):
            yield call


@GROUP.probe("cap.legacy-call", "tasks.cap.legacy-capability-ignored", "tasks.cap.fallback")
async def legacy_call(session: ProbeSession) -> None:
    """No task is made for a client that declares only the tasks capability of 2025-11-25."""
    async for call in _gated_makers(session):
        answer = await _LEGACY.ask(session, "tools/call", call)
        _judge_no_task(session, "tasks.cap.legacy-capability-ignored", call, _LEGACY, answer)


@GROUP.probe("cap.sticky-call", "tasks.cap.not-sticky", "tasks.cap.fallback")
async def sticky_call(session: ProbeSession) -> None:
    """No task is made for a client that declared the extension only before."""
    task = await session.open_task()
    await session.settle(task)
    async for call in _gated_makers(session):
        await _declared_before(session, task)
        answer = await _FORGETFUL.ask(session, "tools/call", call)
        _judge_no_task(session, "tasks.cap.not-sticky", call, _FORGETFUL, answer)


@GROUP.probe(
    "cap.task-only-tool",
    "tasks.cap.required-error-code",
    "tasks.cap.required-error-data",
    needs=frozenset({"control"}),
)
async def task_only_tool(session: ProbeSession) -> None:
    """A tool that can only make a task refuses a client that cannot do tasks (contract, section 4)."""
    for client in (*_UNDECLARED, _LEGACY):
        answer = await client.ask(session, "tools/call", {"name": "task_open", "arguments": {}})
        if _is_task(answer):
            continue  # judged by the probe of that client
        asked = f"tools/call of task_open by a client that {client.words}"
        session.check(
            "tasks.cap.required-error-code",
            answer.code == MISSING_CAPABILITY,
            expected=_EXPECTED,
            actual=answer.told,
            message=f"{asked} is answered with {answer.told}",
            aspect=client.aspect,
        )
        _judge_data(session, "tasks.cap.required-error-data", asked, answer)


@GROUP.probe("cap.declaring-call", "tasks.cap.may-create", "tasks.cap.no-obligation")
async def declaring_call(session: ProbeSession) -> None:
    """What a server does for a client that declares the extension is its own affair: it is told, not judged."""
    task = await session.open_task()
    session.choice("tasks.cap.may-create", "makes a task for a client that declares the extension")
    tools = await session.tools()
    if "greet" in tools:
        call: dict[str, JSON] = {"name": "greet", "arguments": {"name": "mcptasks"}}
    elif "task_step" in tools:
        call = {"name": "task_step", "arguments": {"taskId": stranger_of(task.id), "step": {"action": "complete"}}}
    else:
        raise ProbeSkipped("the server has no tool that is known to be quick")
    answer = await session.ask("tools/call", call)
    if answer.result is not None and not _is_task(answer):
        session.choice("tasks.cap.no-obligation", "answers a quick tool without a task")


@GROUP.probe("cap.undeclared-input", "tasks.cap.input-capability")
async def undeclared_input(session: ProbeSession) -> None:
    """A tool that asks by elicitation, called by a client that does tasks and no elicitation."""
    if "confirm_delete" not in await session.tools():
        raise ProbeSkipped("the server has no tool that is known to ask by elicitation")
    capabilities: dict[str, JSON] = {"extensions": {TASKS_EXTENSION: {}}}
    call: dict[str, JSON] = {"name": "confirm_delete", "arguments": {"filename": "mcptasks.txt"}}
    answer = await session.ask("tools/call", call, capabilities=capabilities)
    kinds: list[str] = []
    if _is_task(answer):
        task = session.adopt(answer.result or {})
        for pause in (0.0, 0.05, 0.2):
            await session.client.pacer.sleep(pause)
            shown = await session.get(task)
            asked = shown.get("inputRequests")
            if isinstance(asked, dict):
                kinds += [str(item.get("method")) for item in asked.values() if isinstance(item, dict)]
                break
    session.check(
        "tasks.cap.input-capability",
        "elicitation/create" not in kinds,
        expected="no request of a kind that the client did not declare, or a refusal",
        actual=f"inputRequests has {', '.join(kinds)}" if kinds else answer.told,
        message="a task of a client that declared no elicitation asks by elicitation/create",
    )
