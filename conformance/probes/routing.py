"""Headers that repeat what the body says: ``Mcp-Method``, ``Mcp-Name`` and ``MCP-Protocol-Version``.

MCP 2026-07-28, basic/transports/streamable-http, "Request Metadata" and "Server Validation"; tasks extension,
"Streamable HTTP: Routing Headers".  Every request here breaks one rule, and is whole otherwise.
"""

from __future__ import annotations

import base64
from typing import Any, Final

from mcptasks.conformance.probes.octets import exchange
from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes.refusals import (
    MADE_UP_VERSION,
    check_refused,
    check_untouched,
    harmless_call,
    lasting_task,
    other_versions,
    served,
)
from mcptasks.conformance.probes.session import ProbeSession, ProbeSkipped
from mcptasks.conformance.wire import header_values
from mcptasks.conformance.wire.names import (
    HEADER_METHOD,
    HEADER_MISMATCH,
    HEADER_NAME,
    HEADER_VERSION,
    PROTOCOL_VERSION,
    UNSUPPORTED_VERSION,
    VERSION,
)

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()

_FORM: Final = "http.mismatch-has-body"
_TASK_METHODS: Final = ("tasks/get", "tasks/update", "tasks/cancel")


def _sentinel(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


# --- Mcp-Method --------------------------------------------------------------------------------


@GROUP.probe("http.method-absent", "http.method-header-required", _FORM)
async def method_absent(session: ProbeSession) -> None:
    """A request without ``Mcp-Method``."""
    task = await lasting_task(session)
    answer = await session.raw(session.message("tasks/get", {"taskId": task.id}), headers={HEADER_METHOD: None})
    check_refused(session, "http.method-header-required", answer, "a tasks/get without Mcp-Method")


@GROUP.probe("http.method-mismatch", "http.method-header-match", _FORM)
async def method_mismatch(session: ProbeSession) -> None:
    """``Mcp-Method`` names another method than the body, the harmful one in either place."""
    task = await lasting_task(session)
    for said, meant in (("tasks/cancel", "tasks/get"), ("tasks/get", "tasks/cancel")):
        answer = await session.raw(session.message(meant, {"taskId": task.id}), headers={HEADER_METHOD: said})
        what = f"a {meant} with Mcp-Method: {said}"
        check_refused(session, "http.method-header-match", answer, what)
        await check_untouched(session, "http.method-header-match", task, what)


@GROUP.probe("http.method-case", "http.method-value-case", _FORM)
async def method_case(session: ProbeSession) -> None:
    """``Mcp-Method`` in capitals is another value."""
    task = await lasting_task(session)
    message = session.message("tasks/get", {"taskId": task.id})
    answer = await session.raw(message, headers={HEADER_METHOD: "TASKS/GET"})
    check_refused(session, "http.method-value-case", answer, "a tasks/get with Mcp-Method: TASKS/GET")


@GROUP.probe("http.header-name-case", "http.header-name-case")
async def header_name_case(session: ProbeSession) -> None:
    """The names of headers may be written in any case."""
    task = await lasting_task(session)
    await session.get(task)
    for spell in (str.lower, str.upper):
        message = session.message("tasks/get", {"taskId": task.id})
        respelled = {spell(name): value for name, value in session.headers_of(message).items()}
        answer = await session.raw(message, headers=respelled)
        session.check(
            "http.header-name-case",
            answer.result is not None,
            expected="the task",
            actual=answer.told,
            message=f"a tasks/get whose headers are called {spell(HEADER_METHOD)} and so on is not served",
        )


# --- Mcp-Name of tools -------------------------------------------------------------------------


@GROUP.probe("http.name-absent", "http.name-required", _FORM)
async def name_absent(session: ProbeSession) -> None:
    """A ``tools/call`` without ``Mcp-Name``."""
    message, _ = await harmless_call(session)
    answer = await session.raw(message, headers={HEADER_NAME: None})
    check_refused(session, "http.name-required", answer, "a tools/call without Mcp-Name")


@GROUP.probe("http.name-mismatch", "http.name-match", _FORM)
async def name_mismatch(session: ProbeSession) -> None:
    """``Mcp-Name`` names another tool than the body."""
    message, other = await harmless_call(session)
    answer = await session.raw(message, headers={HEADER_NAME: other})
    name = message["params"]["name"]
    check_refused(session, "http.name-match", answer, f"a call of {name} with Mcp-Name: {other}")


@GROUP.probe("http.name-encoded", "http.name-decode")
async def name_encoded(session: ProbeSession) -> None:
    """``Mcp-Name`` of a tool in the Base64 form."""
    message, _ = await harmless_call(session)
    answer = await session.raw(message, headers={HEADER_NAME: _sentinel(message["params"]["name"])})
    session.check(
        "http.name-decode",
        answer.result is not None,
        expected="the tool's result: the value is decoded before it is compared",
        actual=answer.told,
        message="a tools/call whose Mcp-Name is in the Base64 form is not served",
    )


@GROUP.probe("http.name-blanks", "http.name-whitespace")
async def name_blanks(session: ProbeSession) -> None:
    """Blanks around ``Mcp-Name`` do not belong to it."""
    message, _ = await harmless_call(session)
    answer = await exchange(session, message, {HEADER_NAME: f"  \t{message['params']['name']}  "})
    if not answer.status:
        raise ProbeSkipped(f"the server {answer.problem}")
    session.check(
        "http.name-whitespace",
        answer.result is not None,
        expected="the tool's result: blanks around a header's value do not belong to it",
        actual=answer.told,
        message="a tools/call whose Mcp-Name has blanks around it is not served",
    )


@GROUP.probe("http.name-bad-bytes", "http.bad-chars")
async def name_bad_bytes(session: ProbeSession) -> None:
    """``Mcp-Name`` with bytes that no header value may hold."""
    message, _ = await harmless_call(session)
    name: str = message["params"]["name"]
    plain = await session.raw(message, headers={HEADER_NAME: f"{name}~"})
    if served(plain):
        raise ProbeSkipped("the server does not look at Mcp-Name at all")
    answer = await session.raw(message, headers={HEADER_NAME: name.encode() + b"\xff\xfe"})
    session.check(
        "http.bad-chars",
        not served(answer),
        expected="HTTP 400, or a closed connection",
        actual=answer.told,
        message="a tools/call whose Mcp-Name holds the bytes FF FE is served",
    )


# --- Mcp-Name of tasks -------------------------------------------------------------------------


def _params(method: str, task_id: str) -> dict[str, Any]:
    return {"taskId": task_id, "inputResponses": {}} if method == "tasks/update" else {"taskId": task_id}


@GROUP.probe("http.task-name-match", "tasks.http.accept-match")
async def task_name_match(session: ProbeSession) -> None:
    """Matching headers: every method of a task is served."""
    task = await lasting_task(session)
    # A server may refuse an update that answers nothing.
    for method in ("tasks/get", "tasks/cancel"):
        answer = await session.ask(method, _params(method, task.id))
        session.check(
            "tasks.http.accept-match",
            answer.code != HEADER_MISMATCH,
            expected=f"the {method} is served",
            actual=answer.told,
            message=f"a {method} with matching headers is refused for its headers",
        )


@GROUP.probe("http.task-name-mismatch", "tasks.http.name-mismatch", _FORM)
async def task_name_mismatch(session: ProbeSession) -> None:
    """``Mcp-Name`` is the id of another task of the same client."""
    task, other = await lasting_task(session), await lasting_task(session)
    for method in _TASK_METHODS:
        message = session.message(method, _params(method, task.id))
        answer = await session.raw(message, headers={HEADER_NAME: header_values.encode(other.id)})
        what = f"a {method} with another task in Mcp-Name"
        check_refused(session, "tasks.http.name-mismatch", answer, what)
        for either in (task, other):
            await check_untouched(session, "tasks.http.name-mismatch", either, what)


@GROUP.probe("http.task-name-case", "tasks.http.name-mismatch", _FORM)
async def task_name_case(session: ProbeSession) -> None:
    """``Mcp-Name`` is the task's id in other capitals."""
    task = await lasting_task(session)
    if task.id.swapcase() == task.id:
        raise ProbeSkipped("the server's task ids have no letters")
    message = session.message("tasks/get", {"taskId": task.id})
    answer = await session.raw(message, headers={HEADER_NAME: header_values.encode(task.id.swapcase())})
    what = "a tasks/get with the id in other capitals in Mcp-Name"
    check_refused(session, "tasks.http.name-mismatch", answer, what, aspect="case")


@GROUP.probe("http.task-name-absent", "tasks.http.name-missing")
async def task_name_absent(session: ProbeSession) -> None:
    """A request about a task without ``Mcp-Name``: the core's table of headers does not name these methods (AMB-06)."""
    task = await lasting_task(session)
    for method in _TASK_METHODS:
        answer = await session.raw(session.message(method, _params(method, task.id)), headers={HEADER_NAME: None})
        session.check(
            "tasks.http.name-missing",
            not served(answer),
            expected=f"HTTP 400 with error {HEADER_MISMATCH}",
            actual=answer.told,
            message=f"a {method} without Mcp-Name is served",
        )


@GROUP.probe("http.task-name-encoded", "tasks.http.name-encoded")
async def task_name_encoded(session: ProbeSession) -> None:
    """``Mcp-Name`` of a task in the Base64 form."""
    task = await lasting_task(session)
    message = session.message("tasks/get", {"taskId": task.id})
    answer = await session.raw(message, headers={HEADER_NAME: _sentinel(task.id)})
    session.check(
        "tasks.http.name-encoded",
        answer.result is not None,
        expected="the task: the value is decoded before it is compared",
        actual=answer.told,
        message="a tasks/get whose Mcp-Name is in the Base64 form is not served",
    )


# --- MCP-Protocol-Version ----------------------------------------------------------------------


@GROUP.probe("http.version-absent", "http.version-required", _FORM)
async def version_absent(session: ProbeSession) -> None:
    """A request without ``MCP-Protocol-Version``, which a server for old clients may take for one of theirs."""
    others = await other_versions(session)
    answer = await session.raw(session.message("tools/list"), headers={HEADER_VERSION: None})
    what = "a tools/list without MCP-Protocol-Version"
    if others:
        # It goes to the part of the server that speaks for those clients, which answers in their way.
        session.check(
            "http.version-required",
            not served(answer),
            expected=f"HTTP 400, or the answer of revision {others[0]}",
            actual=answer.told,
            message=f"{what} is served",
            warning=True,
            aspect="served",
        )
        return
    check_refused(session, "http.version-required", answer, what)


@GROUP.probe("http.version-mismatch", "http.version-match", _FORM)
async def version_mismatch(session: ProbeSession) -> None:
    """Header and body name different versions, one of which nobody speaks: either error is right (AMB-05)."""
    codes = (HEADER_MISMATCH, UNSUPPORTED_VERSION)
    message = session.message("tools/list")
    answer = await session.raw(message, headers={HEADER_VERSION: MADE_UP_VERSION})
    what = f"a tools/list of {VERSION} with MCP-Protocol-Version: {MADE_UP_VERSION}"
    check_refused(session, "http.version-match", answer, what, codes=codes)
    message["params"]["_meta"][PROTOCOL_VERSION] = MADE_UP_VERSION
    answer = await session.raw(message, headers={HEADER_VERSION: VERSION})
    what = f"a tools/list of {MADE_UP_VERSION} with MCP-Protocol-Version: {VERSION}"
    check_refused(session, "http.version-match", answer, what, codes=codes)


@GROUP.probe("http.version-older", "http.version-match")
async def version_older(session: ProbeSession) -> None:
    """The header names an older version that the server speaks as well: it may go by the header."""
    others = await other_versions(session)
    if not others:
        raise ProbeSkipped("the server speaks one protocol version only")
    answer = await session.raw(session.message("tools/list"), headers={HEADER_VERSION: str(others[0])})
    what = f"a tools/list of {VERSION} with MCP-Protocol-Version: {others[0]}"
    # By its header it is a request of that version, which may be wrong in ways of its own: any refusal will do.
    session.check(
        "http.version-match",
        not served(answer),
        expected="a refusal",
        actual=answer.told,
        message=f"{what} is served",
        warning=True,
        aspect="older",
    )


@GROUP.probe("http.version-unsupported", "http.version-unsupported")
async def version_unsupported(session: ProbeSession) -> None:
    """Header and body name a version that nobody speaks."""
    message = session.message("tools/list")
    message["params"]["_meta"][PROTOCOL_VERSION] = MADE_UP_VERSION
    answer = await session.raw(message, headers={HEADER_VERSION: MADE_UP_VERSION})
    session.check(
        "http.version-unsupported",
        answer.status == 400 and answer.code == UNSUPPORTED_VERSION,
        expected=f"HTTP 400 with error {UNSUPPORTED_VERSION}",
        actual=answer.told,
        message=f"a request of protocol version {MADE_UP_VERSION} is not refused as unsupported",
    )
