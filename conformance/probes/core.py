"""The core protocol around tasks: ``_meta``, versions, discovery, statelessness.

Sources: MCP 2026-07-28, basic/index, "_meta" and "Statelessness"; basic/versioning; server/discover.  Every request
breaks one rule and is whole otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes.raw import RawAnswer
from mcptasks.conformance.probes.refusals import ask_initialize
from mcptasks.conformance.probes.session import ProbeSession
from mcptasks.conformance.wire.names import (
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    HEADER_MISMATCH,
    HEADER_VERSION,
    INVALID_PARAMS,
    MISSING_CAPABILITY,
    PROTOCOL_VERSION,
    UNSUPPORTED_VERSION,
    VERSION,
)
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()

_OLD: Final = "1900-01-01"
"""A version that no server serves."""


async def _requests(session: ProbeSession) -> list[tuple[str, dict[str, JSON]]]:
    """Requests that this server answers well, one with the extension and two without."""
    task = await session.open_task()
    return [("tools/list", {}), ("server/discover", {}), ("tasks/get", {"taskId": task.id})]


def _without(message: dict[str, Any], member: str) -> dict[str, Any]:
    del message["params"]["_meta"][member]
    return message


def _with(message: dict[str, Any], member: str, value: JSON) -> dict[str, Any]:
    message["params"]["_meta"][member] = value
    return message


def _judge(
    session: ProbeSession,
    requirement: str,
    answer: RawAnswer,
    asked: str,
    codes: Collection[int],
    aspect: str,
    *,
    tolerated: Collection[int] = (),
) -> None:
    """It must be refused with one of ``codes``; ``tolerated`` ones only warn."""
    session.check(
        requirement,
        answer.code in codes,
        expected="error " + " or ".join(str(code) for code in codes),
        actual=answer.told,
        message=f"{asked} is answered with {answer.told}",
        aspect=aspect if answer.code not in tolerated else f"{aspect}-tolerated",
        soft=answer.code in tolerated,
        warning=answer.code in tolerated,
    )


# --- statelessness ------------------------------------------------------------------------------------


@GROUP.probe("core.other-connection", "core.meta.stateless", "core.meta.explicit-handle")
async def other_connection(session: ProbeSession) -> None:
    """A task's id is all that a request needs: other connection, other client's name."""
    task = await session.open_task()
    params: dict[str, JSON] = {"taskId": task.id}
    answer = await session.ask("tasks/get", params, fresh=True)
    session.check(
        "core.meta.stateless",
        (answer.result or {}).get("taskId") == task.id,
        expected="the task, as on the connection that created it",
        actual=answer.told,
        message=f"a tasks/get from another connection is answered with {answer.told}",
    )
    for method in ("get", "cancel"):
        answer = await session.ask(f"tasks/{method}", params, client="mcptasks-other", fresh=True)
        session.check(
            "core.meta.explicit-handle",
            answer.result is not None,
            expected="the result that the creating client gets",
            actual=answer.told,
            message=f"a tasks/{method} by a client of another name, from another connection, is answered with "
            f"{answer.told}",
            aspect=method,
        )


# --- _meta --------------------------------------------------------------------------------------------


@GROUP.probe("core.no-version", "core.meta.protocolversion-required")
async def no_version(session: ProbeSession) -> None:
    """A request whose ``_meta`` names no protocol version."""
    for method, params in await _requests(session):
        answer = await session.raw(_without(session.message(method, params), PROTOCOL_VERSION))
        _judge(
            session,
            "core.meta.protocolversion-required",
            answer,
            f"a {method} without {PROTOCOL_VERSION} in _meta",
            (INVALID_PARAMS, HEADER_MISMATCH),
            "absent",
        )


@GROUP.probe("core.misshapen-version", "core.meta.protocolversion-required")
async def misshapen_version(session: ProbeSession) -> None:
    """A request whose protocol version is no text."""
    task = await session.open_task()
    for value in (None, 20260728, [VERSION]):
        message = _with(session.message("tasks/get", {"taskId": task.id}), PROTOCOL_VERSION, value)
        _judge(
            session,
            "core.meta.protocolversion-required",
            await session.raw(message),
            f"a tasks/get with {PROTOCOL_VERSION} {text_of(value, 40)}",
            (INVALID_PARAMS, HEADER_MISMATCH, UNSUPPORTED_VERSION),
            type(value).__name__,
        )


@GROUP.probe("core.no-capabilities", "core.meta.clientcapabilities-required")
async def no_capabilities(session: ProbeSession) -> None:
    """A request whose ``_meta`` does not say what the client can do."""
    for method, params in await _requests(session):
        answer = await session.raw(_without(session.message(method, params), CLIENT_CAPABILITIES))
        gated = method == "tasks/get"
        _judge(
            session,
            "core.meta.clientcapabilities-required",
            answer,
            f"a {method} without {CLIENT_CAPABILITIES} in _meta",
            (INVALID_PARAMS,),
            "absent",
            tolerated=(MISSING_CAPABILITY,) if gated else (),
        )


@GROUP.probe("core.misshapen-capabilities", "core.meta.clientcapabilities-required")
async def misshapen_capabilities(session: ProbeSession) -> None:
    """A request whose capabilities are no object."""
    task = await session.open_task()
    values: tuple[JSON, ...] = (None, "tasks", ["tasks"])
    for value in values:
        message = _with(session.message("tasks/get", {"taskId": task.id}), CLIENT_CAPABILITIES, value)
        _judge(
            session,
            "core.meta.clientcapabilities-required",
            await session.raw(message),
            f"a tasks/get with {CLIENT_CAPABILITIES} {text_of(value, 40)}",
            (INVALID_PARAMS, MISSING_CAPABILITY),
            type(value).__name__,
        )


@GROUP.probe("core.no-meta", "core.meta.protocolversion-required")
async def no_meta(session: ProbeSession) -> None:
    """A request without ``_meta``: which of what is missing it is refused for is open."""
    task = await session.open_task()
    codes = (INVALID_PARAMS, HEADER_MISMATCH, MISSING_CAPABILITY)
    for method, params in (("tools/list", {}), ("tasks/get", {"taskId": task.id})):
        message = session.message(method, params)
        del message["params"]["_meta"]
        answer = await session.raw(message)
        _judge(session, "core.meta.protocolversion-required", answer, f"a {method} without _meta", codes, "no-meta")


@GROUP.probe("core.no-client-info", "core.meta.clientinfo-optional")
async def no_client_info(session: ProbeSession) -> None:
    """A client need not say its name."""
    for method, params in await _requests(session):
        answer = await session.raw(_without(session.message(method, params), CLIENT_INFO))
        session.check(
            "core.meta.clientinfo-optional",
            answer.result is not None,
            expected="the result that a client with a name gets",
            actual=answer.told,
            message=f"a {method} without {CLIENT_INFO} in _meta is answered with {answer.told}",
        )


# --- versions -----------------------------------------------------------------------------------------


@GROUP.probe("core.unsupported-version", "core.version.unsupported")
async def unsupported_version(session: ProbeSession) -> None:
    """A request in a version that no server serves, in header and body alike."""
    task = await session.open_task()
    for method, params in (("tools/list", {}), ("tasks/get", {"taskId": task.id})):
        message = _with(session.message(method, params), PROTOCOL_VERSION, _OLD)
        answer = await session.raw(message, headers={HEADER_VERSION: _OLD})
        asked = f"a {method} in protocol version {_OLD}"
        _judge(session, "core.version.unsupported", answer, asked, (UNSUPPORTED_VERSION,), "code")
        data = (answer.error or {}).get("data")
        members: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
        supported = members.get("supported")

        def check(ok: bool, expected: str, actual: str, aspect: str, asked: str = asked) -> None:
            session.check(
                "core.version.unsupported",
                ok,
                expected=expected,
                actual=actual,
                message=f"the refusal of {asked} has {actual}",
                aspect=aspect,
            )

        check(
            isinstance(supported, list) and VERSION in supported and all(isinstance(item, str) for item in supported),
            f"data.supported, an array of texts with {VERSION}",
            f"data {text_of(data, 120)}",
            "supported",
        )
        check(members.get("requested") == _OLD, f"data.requested {_OLD}", f"data {text_of(data, 120)}", "requested")
        check(answer.status == 400, "HTTP 400", f"HTTP {answer.status}", "status")


@GROUP.probe("core.initialize", "core.version.initialize-hint")
async def initialize(session: ProbeSession) -> None:
    """A client of an older revision begins with initialize."""
    answer = await ask_initialize(session)
    if answer.result is not None:
        session.choice("core.version.initialize-hint", "serves older revisions too")
        return
    session.check(
        "core.version.initialize-hint",
        VERSION.encode() in answer.body,
        expected=f"an error that names the versions served, such as {VERSION}",
        actual=answer.told,
        message=f"the answer to initialize does not name the versions that the server speaks: {answer.told}",
        choice="names its versions",
    )


@GROUP.probe("core.discover-undeclared", "core.discover.implemented", "core.discover.lists-version")
async def discover_undeclared(session: ProbeSession) -> None:
    """Discovery serves clients that declare nothing, and names the version in which it answers."""
    answer = await session.ask("server/discover", capabilities={}, fresh=True, client="mcptasks-undeclared")
    session.check(
        "core.discover.implemented",
        answer.result is not None,
        expected="a result",
        actual=answer.told,
        message=f"a server/discover by a client that declares nothing is answered with {answer.told}",
    )
    versions = (answer.result or {}).get("supportedVersions")
    session.check(
        "core.discover.lists-version",
        isinstance(versions, list) and VERSION in versions,
        expected=f"supportedVersions with {VERSION}",
        actual=f"supportedVersions {text_of(versions, 80)}",
        message=f"a server/discover answered in {VERSION} has supportedVersions {text_of(versions, 80)}",
    )
