"""What can go wrong between a request and its answer, each in one line that a user understands."""

from __future__ import annotations

from typing import Final, Literal

__all__ = ["ProblemKind", "RequestsSpentError", "Smell", "WireProblem"]

ProblemKind = Literal[
    "unreachable", "silent", "closed", "refused", "not-mcp", "too-big", "endless", "malformed", "over-limit", "spent"
]


class WireProblem(Exception):
    """A request that got no answer which can be read.

    Attributes:
        kind: what sort of trouble it is.
        text: one clause about the server, such as ``answers with HTTP 302 to …, which is not followed``.
        requirement: the catalogue entry that it breaches; ``None`` if it breaches none.
        hint: what the user may do about it.
    """

    def __init__(self, kind: ProblemKind, text: str, requirement: str | None = None, hint: str = "") -> None:
        super().__init__(text)
        self.kind: Final = kind
        self.text: Final = text
        self.requirement: Final = requirement
        self.hint: Final = hint

    @property
    def line(self) -> str:
        """Text and hint in one line."""
        return f"{self.text} ({self.hint})" if self.hint else self.text


class RequestsSpentError(Exception):
    """``--max-requests`` requests were sent."""


class Smell:
    """A deviation in an answer that can be read all the same."""

    __slots__ = ("actual", "aspect", "expected", "requirement")

    def __init__(self, requirement: str, aspect: str, expected: str, actual: str) -> None:
        self.requirement = requirement
        self.aspect = aspect
        """The member that is wrong, or a word for the form: part of the fingerprint."""
        self.expected = expected
        self.actual = actual
        """A clause that fits behind the name of the method."""
