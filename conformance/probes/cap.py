"""Capability gating: what a client that does not declare the extension gets, and that it changes nothing."""

from __future__ import annotations

from typing import Final

from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes.session import ProbeSession
from mcptasks.conformance.wire.names import MISSING_CAPABILITY

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()


@GROUP.probe("cap.undeclared-get", "tasks.cap.get-undeclared")
async def undeclared_get(session: ProbeSession) -> None:
    task = await session.open_task()
    answer = await session.ask("tasks/get", {"taskId": task.id}, capabilities={})
    session.check(
        "tasks.cap.get-undeclared",
        answer.code == MISSING_CAPABILITY,
        expected="error -32021",
        actual=answer.told,
        message=f"tasks/get without the capability is answered with {answer.told}",
    )
