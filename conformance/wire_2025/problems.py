"""What can go wrong between a request and its answer in a session."""

from __future__ import annotations

from typing import Final

from mcptasks.conformance.wire.problems import ProblemKind, WireProblem

__all__ = ["BROKEN", "SessionProblem"]

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
