"""Probes of ids that name no task: none, empty, of another type."""

from __future__ import annotations

from typing import Final

from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes_2025.session import ProbeSession25, ProbeSkipped
from mcptasks.conformance.wire.names import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND
from mcptasks.strategies.json_values import JSON

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()
_UNKNOWN: Final = {
    "tasks/get": "tasks25.get.unknown",
    "tasks/result": "tasks25.result.unknown",
    "tasks/cancel": "tasks25.cancel.unknown",
}
_NOBODY: Final = "mcptasks-nobody-has-this-id"
_BAD: Final[tuple[tuple[str, dict[str, JSON]], ...]] = (
    ("empty", {"taskId": ""}),
    ("a number", {"taskId": 1}),
    ("null", {"taskId": None}),
    ("missing", {}),
)


async def _refused(probe: ProbeSession25, method: str) -> None:
    requirement = _UNKNOWN[method]
    await probe.open_task()
    if (await probe.request(method, {"taskId": _NOBODY})).code == METHOD_NOT_FOUND:
        raise ProbeSkipped(f"there is no {method}")
    for told, params in _BAD:
        waiting = await probe.begin(method, params)
        if not await probe.over(waiting, probe.client.limits.answer_s):
            if waiting.problem is not None:
                await probe.broken(waiting.problem, method, await probe.session())
            continue
        reply = waiting.reply
        assert reply is not None
        probe.check(
            requirement,
            reply.code == INVALID_PARAMS,
            expected="error -32602",
            actual=probe.told(reply),
            message=f"{method} with a taskId that is {told} is not refused with -32602",
            aspect=told.replace("a ", ""),
            soft=True,
            # A request whose parameters have the wrong form may be called no valid request at all.
            warning=reply.code == INVALID_REQUEST,
        )


@GROUP.probe("get.invalid-id", "tasks25.get.unknown", deadline_s=40.0)
async def _get(probe: ProbeSession25) -> None:
    """tasks/get of what is no id."""
    await _refused(probe, "tasks/get")


@GROUP.probe("result.invalid-id", "tasks25.result.unknown", deadline_s=40.0)
async def _result(probe: ProbeSession25) -> None:
    """tasks/result of what is no id."""
    await _refused(probe, "tasks/result")


@GROUP.probe("cancel.invalid-id", "tasks25.cancel.unknown", needs=frozenset({"cancel"}), deadline_s=40.0)
async def _cancel(probe: ProbeSession25) -> None:
    """tasks/cancel of what is no id."""
    await _refused(probe, "tasks/cancel")
