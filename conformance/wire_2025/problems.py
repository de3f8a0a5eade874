"""What can go wrong between a request and its answer in a session."""

from __future__ import annotations

from typing import Final

import httpx

from mcptasks.conformance.wire.problems import ProblemKind, WireProblem
from mcptasks.strategies.json_values import text_of

__all__ = ["BROKEN", "SessionProblem", "broken_off", "kind_of", "no_answer"]

BROKEN: Final = "tasks25.err.internal"
"""The entry for a server that answers a request with anything but a JSON-RPC message: whatever fails inside is -32603."""


class SessionProblem(WireProblem):
    """A request that got no answer which can be read.

    Attributes:
        lost: whether the session is gone with it.
        warning: whether nobody fails for it: a server may end a session at any time.
    """

    def __init__(
        self,
        kind: ProblemKind,
        text: str,
        requirement: str | None = None,
        hint: str = "",
        *,
        lost: bool = False,
        warning: bool = False,
    ) -> None:
        super().__init__(kind, text, requirement, hint)
        self.lost: Final = lost
        self.warning: Final = warning


def kind_of(response: httpx.Response) -> str:
    """The media type of a response, without parameters."""
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


def no_answer(endpoint: str, method: str, response: httpx.Response, body: bytes) -> SessionProblem:
    """The HTTP response holds no JSON-RPC message."""
    status, kind = response.status_code, kind_of(response)
    if 300 <= status < 400:
        target = text_of(response.headers.get("location", ""), 100)
        text = f"answers {method} with HTTP {status}, a redirect to {target}, which is not followed"
        return SessionProblem("refused", text, hint="name the address that it points to")
    if status in (401, 403, 407):
        hint = "give credentials with --header 'Authorization: Bearer env:TOKEN'"
        return SessionProblem("refused", f"answers {method} with HTTP {status}", hint=hint)
    if status in (404, 405):
        text = f"answers a POST of {method} with HTTP {status}"
        return SessionProblem("not-mcp", text, hint=f"is {endpoint} the MCP endpoint?")
    shown = text_of(body[:80].decode("utf-8", "backslashreplace"), 100)
    told = f"HTTP {status} and {kind or 'no content type'}" + (f": {shown}" if body else ", without a body")
    return SessionProblem("refused" if status >= 400 else "not-mcp", f"answers {method} with {told}", BROKEN)


def broken_off(told: str, error: BaseException, *, begun: bool) -> SessionProblem:
    """The connection broke, with or without the beginning of an answer."""
    if isinstance(error, httpx.RemoteProtocolError) and not begun and "disconnected" not in str(error):
        return SessionProblem("not-mcp", f"does not speak HTTP: {text_of(str(error), 120)[1:-1]}")
    where = "in the middle of its answer" if begun else "without an answer"
    return SessionProblem("closed", f"closed the connection {where} to {told}", BROKEN)
