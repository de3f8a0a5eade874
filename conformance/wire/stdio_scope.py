"""What is judged over stdio, and what is not."""

from __future__ import annotations

from collections.abc import Collection
from fnmatch import fnmatchcase
from typing import Final

from mcptasks.conformance.wire.problems import Smell

__all__ = ["NOT_OVER_STDIO", "is_judged", "is_told", "over_stdio"]

_NO_HTTP: Final = "stdio has no HTTP: neither header, status nor stream"
_NO_MESSAGE: Final = "over stdio a client may write nothing that is no valid MCP message (basic/transports/stdio)"

NOT_OVER_STDIO: Final[dict[str, str]] = {
    "http.*": _NO_HTTP,
    "tasks.http.*": _NO_HTTP,
    "rpc.parse-error": _NO_MESSAGE,
    "rpc.invalid-request": _NO_MESSAGE,
    "rpc.null-id-rejected": _NO_MESSAGE,
    "core.meta.stateless": "over stdio there is one connection to a process",
}
"""Globs of requirements that are not applicable to a server over stdio, each with the reason."""

_STANDS_FOR: Final = {
    "http.response-type": "stdio.messages-only",
    "http.utf8": "stdio.utf8",
    "http.no-server-requests": "stdio.no-requests",
}


def is_judged(requirement: str) -> bool:
    """Whether a requirement is judged over stdio."""
    return not any(fnmatchcase(requirement, glob) for glob in NOT_OVER_STDIO)


def over_stdio(requirement: str | None) -> str | None:
    """What a breach that the client sees in an answer breaches over stdio; ``None`` if nothing."""
    if requirement is None:
        return None
    found = _STANDS_FOR.get(requirement, requirement)
    return found if is_judged(found) else None


def is_told(smell: Smell, known: Collection[str]) -> bool:
    """Whether a finding tells already how standard output is misused: it is so whatever is asked.

    Args:
        smell: found beside an answer.
        known: fingerprints of findings.
    """
    if not smell.requirement.startswith("stdio."):
        return False
    return any(name.startswith(f"{smell.requirement}/") and name.endswith(f"/{smell.aspect}") for name in known)
