"""What all sessions with one server share: connections, limits, pace, and the count of requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import httpx

from mcptasks.conformance.wire.client import Limits, Words
from mcptasks.conformance.wire.pacing import Pacer
from mcptasks.conformance.wire.problems import RequestsSpentError
from mcptasks.conformance.wire.secrets import HeaderLine, shown_url
from mcptasks.conformance.wire.sending import sender_for
from mcptasks.conformance.wire.spec import ServerSpec

__all__ = ["Client25"]

_IDLE_S: Final = 2.0
"""Seconds after which an idle connection is not used again: servers close theirs after five, and that is no breach."""


class Client25:
    """The client of one server of 2025-11-25; see :class:`.session.Session` for what is said to it.

    Args:
        spec: the server.
        url: its endpoint.
        limits: of every answer.
        beat: ``beat[0]`` is incremented for every request.
        version: of the suite.
        exercised: counts of observations by requirement, added to.
    """

    def __init__(
        self,
        spec: ServerSpec,
        url: str,
        *,
        limits: Limits | None = None,
        beat: Words | None = None,
        version: str = "0",
        exercised: Counter[str] | None = None,
    ) -> None:
        self.spec = spec
        self.url = httpx.URL(url).copy_with(userinfo=b"")
        self.endpoint = shown_url(url)
        self.limits = limits or Limits()
        self.version = version
        self.exercised: Counter[str] = Counter() if exercised is None else exercised
        self.requests = 0
        self.reserve = 0
        """Requests kept back to end what is open."""
        self._left = spec.max_requests
        self._beat: Words = [0] if beat is None else beat
        self.pacer = Pacer(spec.rate, self.alive)
        self.http = sender_for(self.url, kept=8, idle_s=_IDLE_S)

    def move(self, url: str) -> None:
        """The server is at another address now."""
        self.url = httpx.URL(url).copy_with(userinfo=b"")
        self.endpoint = shown_url(url)

    def alive(self) -> None:
        """Show a watchdog that waiting is no hang."""
        self._beat[0] += 1

    def headers(self, *, other: bool = False) -> Sequence[tuple[bytes, bytes]]:
        """The user's headers, resolved: the first caller's or the second's."""
        lines: tuple[HeaderLine, ...] = self.spec.other_sent_headers if other else self.spec.sent_headers
        return [(line.name.encode(), line.resolved().encode()) for line in lines]

    def spend(self, *, beyond: bool = False) -> None:
        """Count a request that is about to be sent.

        Args:
            beyond: send it even if no request is left: it ends what is open.

        Raises:
            RequestsSpentError: none is left.
        """
        if self._left is not None:
            if self._left <= self.reserve and not beyond:
                raise RequestsSpentError
            self._left -= 1
        self.requests += 1
        self._beat[0] += 1

    async def close(self) -> None:
        """Close its connections."""
        with suppress(Exception):
            await self.http.aclose()
