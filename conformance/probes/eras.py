"""Servers that speak 2025-11-25 as well: what the extension must not change there.

Tasks extension (SEP-2663), "Backward Compatibility" and "Capability Negotiation"; MCP 2025-11-25, basic/lifecycle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes.raw import RawAnswer
from mcptasks.conformance.probes.session import ProbeSession, ProbeSkipped
from mcptasks.conformance.wire.names import CLIENT_CAPABILITIES, METHOD_NOT_FOUND, TASKS_EXTENSION
from mcptasks.conformance.wire_2025.names import HEADER_SESSION, HEADER_VERSION, VERSION
from mcptasks.strategies.json_values import JSON
from mcptasks.strategies.operations import Create

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()

_DUAL: Final = frozenset({"dual-era"})
_NOT_UNDER: Final = "tasks.cap.not-under-2025"
_OWN_TASKS: Final = "tasks.cap.legacy-clients-own-tasks"
_EXTENSIONS: Final[dict[str, JSON]] = {"extensions": {TASKS_EXTENSION: {}}}


class _Earlier:
    """A session of 2025-11-25 on the same endpoint, in requests of the probe's own."""

    def __init__(self, session: ProbeSession) -> None:
        self._session = session
        self._headers: dict[str, str | bytes | None] = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        self.capabilities: Mapping[str, Any] = {}
        """What the server declares in it."""

    async def open(self, capabilities: Mapping[str, JSON]) -> None:
        """Initialize.

        Raises:
            ProbeSkipped: the server no longer speaks the revision.
        """
        params: dict[str, JSON] = {
            "protocolVersion": VERSION,
            "capabilities": dict(capabilities),
            "clientInfo": {"name": "mcptasks", "version": "1"},
        }
        answer = await self.send("initialize", params)
        result = answer.result
        if result is None or result.get("protocolVersion") != VERSION:
            raise ProbeSkipped(f"initialize is answered with {answer.told}")
        declared = result.get("capabilities")
        self.capabilities = declared if isinstance(declared, Mapping) else {}
        self._headers[HEADER_VERSION] = VERSION
        given = answer.headers.get(HEADER_SESSION)
        if given is not None:
            self._headers[HEADER_SESSION] = given
        body: dict[str, JSON] = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await self._session.raw(body, headers=self._headers, only_headers=True)

    async def send(self, method: str, params: Mapping[str, JSON], *, creates: str = "") -> RawAnswer:
        """Send a request."""
        message = self._session.message(method, {})
        message["params"] = dict(params)  # what this revision has: no _meta of the other one
        return await self._session.raw(message, headers=self._headers, only_headers=True, creates=creates)


def _is_task(answer: RawAnswer) -> bool:
    result = answer.result or {}
    return "taskId" in result or result.get("resultType") == "task" or isinstance(result.get("task"), Mapping)


@GROUP.probe("era.not-under-2025", _NOT_UNDER, needs=_DUAL)
async def not_under_2025(session: ProbeSession) -> None:
    """A client of 2025-11-25 that declares the extension gets what it gets without."""
    earlier = _Earlier(session)
    await earlier.open(_EXTENSIONS)
    params = session.profile.opening("t1", [Create("t1")])
    plain = await earlier.send("tools/call", params)
    declared = await earlier.send("tools/call", {**params, "_meta": {CLIENT_CAPABILITIES: _EXTENSIONS}})
    for answer, words in ((plain, "initialize"), (declared, "_meta")):
        session.check(
            _NOT_UNDER,
            not _is_task(answer),
            expected="what a call without a task gets under 2025-11-25: a plain result, or an error",
            actual=answer.told,
            message=f"under 2025-11-25 a tools/call of a client that declares the extension in {words} is a task",
            aspect=words,
        )
    session.check(
        _NOT_UNDER,
        (plain.error is None) == (declared.error is None),
        expected=f"as without the extension in _meta: {plain.told}",
        actual=declared.told,
        message=f"under 2025-11-25 a tools/call with the extension declared in _meta is answered with {declared.told}",
        aspect="refused",
        warning=True,
    )


@GROUP.probe("era.own-tasks", _OWN_TASKS, needs=_DUAL)
async def own_tasks(session: ProbeSession) -> None:
    """A client of 2025-11-25 reads and cancels the tasks that it made, without the extension."""
    earlier = _Earlier(session)
    await earlier.open({})
    tasks = earlier.capabilities.get("tasks")
    if not isinstance(tasks, Mapping) or "requests" not in tasks:
        raise ProbeSkipped("under 2025-11-25 the server offers no tasks")
    params = {**session.profile.opening("t1", [Create("t1")]), "task": {"ttl": 60_000}}
    made = (await earlier.send("tools/call", params, creates="t1")).result or {}
    task = made.get("task")
    task_id = task.get("taskId") if isinstance(task, Mapping) else None
    if not isinstance(task_id, str):
        raise ProbeSkipped("under 2025-11-25 the tool makes no task")
    for method in ("tasks/get", "tasks/cancel"):
        answer = await earlier.send(method, {"taskId": task_id})
        undeclared = method == "tasks/cancel" and "cancel" not in tasks and answer.code == METHOD_NOT_FOUND
        session.check(
            _OWN_TASKS,
            answer.result is not None or undeclared,
            expected="the task",
            actual=answer.told,
            message=f"under 2025-11-25 a {method} of a task of the same session is answered with {answer.told}",
            aspect=method,
        )
