"""What several areas of probes ask and judge in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from mcptasks.conformance.engine.wire_profiles import Control
from mcptasks.conformance.engine.wire_tools import ToolProfile
from mcptasks.conformance.probes.raw import RawAnswer
from mcptasks.conformance.probes.session import ProbeSession, ProbeSkipped, ProbeTask
from mcptasks.conformance.wire import names
from mcptasks.conformance.wire.sending import LOOPBACK
from mcptasks.strategies.json_values import JSON

__all__ = [
    "MADE_UP_VERSION",
    "ask_initialize",
    "check_lasting",
    "check_refused",
    "check_untouched",
    "harmless_call",
    "is_local",
    "lasting_task",
    "other_versions",
    "served",
]

MADE_UP_VERSION: Final = "1900-01-01"
"""No server speaks it: a version that an older client speaks might be served for its sake."""

_OLDER_VERSION: Final = "2025-11-25"
_SHORT_MS: Final = 2000
_STEP: Final[dict[str, JSON]] = {"action": "complete", "result": {"content": []}}


def served(answer: RawAnswer) -> bool:
    """Whether a request was carried out, or at least not refused."""
    return answer.result is not None or (0 < answer.status < 400 and answer.error is None)


async def lasting_task(session: ProbeSession) -> ProbeTask:
    """A new task that will not be gone in the middle of a probe.

    Raises:
        ProbeSkipped: the server makes none.
    """
    task = await session.open_task()
    check_lasting(task)
    return task


def check_lasting(task: ProbeTask) -> None:
    """Make sure that a task lives long enough for a probe to tell something.

    Raises:
        ProbeSkipped: it does not.
    """
    ttl = task.created.get("ttlMs")
    if isinstance(ttl, int) and ttl < _SHORT_MS:
        raise ProbeSkipped(f"a task lives for {ttl} ms only")


async def harmless_call(session: ProbeSession) -> tuple[dict[str, Any], str]:
    """A ``tools/call`` that leaves nothing behind and is answered well, and the name of another tool.

    Raises:
        ProbeSkipped: the server has no such tool.
    """
    profile = session.profile
    if isinstance(profile, Control):
        params: Mapping[str, JSON] = profile.stepping("mcptasks-no-such-task", _STEP)
        other = "task_open"
    elif isinstance(profile, ToolProfile) and "plain" in profile.roles:
        params = profile.roles["plain"].params
        other = next((name for name in sorted(profile.tools) if name != params["name"]), "mcptasks_no_such_tool")
    else:
        raise ProbeSkipped("the server has no tool that can be called without leaving a task behind")
    message = session.message("tools/call", params)
    answer = await session.raw(message)
    if answer.result is None:
        raise ProbeSkipped(f"a call of the tool {params['name']} is answered with {answer.told}")
    return session.message("tools/call", params), other


async def other_versions(session: ProbeSession) -> list[str]:
    """The protocol versions that the server speaks besides the one under test.

    A server of two eras need not name the older ones to a client of the newer: then its answer to
    ``initialize`` tells.
    """
    answer = await session.ask("server/discover")
    versions = (answer.result or {}).get("supportedVersions")
    others = [item for item in versions if item != names.VERSION] if isinstance(versions, list) else []
    if others:
        return others
    answer = await ask_initialize(session)
    version = (answer.result or {}).get("protocolVersion")
    return [version] if isinstance(version, str) and version != names.VERSION else []


async def ask_initialize(session: ProbeSession) -> RawAnswer:
    """The answer to what a client of an older revision sends first; a session that it opened is closed again."""
    message: JSON = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": _OLDER_VERSION,
            "capabilities": {},
            "clientInfo": {"name": "mcptasks", "version": "1"},
        },
    }
    headers: dict[str, str | bytes | None] = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    answer = await session.raw(message, headers=headers, only_headers=True)
    opened = answer.headers.get("mcp-session-id")
    if answer.result is not None and opened:
        await session.raw(http_method="DELETE", headers={"Mcp-Session-Id": opened}, only_headers=True)
    return answer


def check_refused(
    session: ProbeSession,
    requirement: str,
    answer: RawAnswer,
    what: str,
    *,
    codes: tuple[int, ...] = (names.HEADER_MISMATCH,),
    warning: bool = False,
    aspect: str = "served",
) -> None:
    """Judge the answer to a request whose headers are not what its body says (Streamable HTTP, "Server Validation").

    That it is served at all breaches ``requirement``; that it is refused in another form, ``http.mismatch-has-body``.
    HTTP 400 without a message is lawful of an intermediary, so at another address than this machine's it only warns.

    Args:
        what: the request in words, such as ``a tasks/get without Mcp-Method``.
        codes: of the error; more than one where the request cannot but break two rules.
    """
    form = f"HTTP 400 with error {' or '.join(map(str, codes))}"
    session.check(
        requirement,
        not served(answer),
        expected=form,
        actual=answer.told,
        message=f"{what} is served",
        warning=warning,
        aspect=aspect,
    )
    between = answer.status == 400 and answer.response is None and not is_local(session)
    session.check(
        "http.mismatch-has-body",
        answer.status == 400 and answer.code in codes,
        expected=form,
        actual=answer.told,
        message=f"{what} is refused, but not with {form}",
        warning=warning or between,
        aspect="form",
    )


def is_local(session: ProbeSession) -> bool:
    """Whether the server is one of this machine, with nothing between it and the suite."""
    return urlsplit(session.source.url).hostname in LOOPBACK


async def check_untouched(session: ProbeSession, requirement: str, task: ProbeTask, what: str) -> None:
    """Judge that a refused request has not cancelled a task that was at work."""
    shown = await session.get(task)
    status = shown.get("status")
    # Where tasks move by themselves only a cancellation can be charged to the request.
    ended = status in names.TERMINAL_STATUSES if session.profile.settles else status == "cancelled"
    session.check(
        requirement,
        not ended,
        expected="the task goes on",
        actual=f"status {status}",
        message=f"{what} is refused and has its effect all the same: the task is {status}",
        aspect="effect",
    )
