"""What all sessions with one server share: connections, limits, pace, and the count of requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import httpx

from mcptasks.conformance.wire.allowance import Allowance, Spender
from mcptasks.conformance.wire.client import Limits
from mcptasks.conformance.wire.pacing import Pacer
from mcptasks.conformance.wire.secrets import HeaderLine, shown_url
from mcptasks.conformance.wire.sending import sender_for
from mcptasks.conformance.wire.spec import ServerSpec

__all__ = ["Client25"]

_IDLE_S: Final = 2.0
"""Seconds after which an idle connection is not used again: servers close theirs after five, and that is no breach."""


class Client25(Spender):
    """The client of one server of 2025-11-25; see :class:`.session.Session` for what is said to it.

    Args:
        spec: the server.
        url: its endpoint.
        limits: of every answer.
        allowance: what it may send; by default what the spec allows.
        version: of the suite.
        exercised: counts of observations by requirement, added to.
    """

    def __init__(
        self,
        spec: ServerSpec,
        url: str,
        *,
        limits: Limits | None = None,
        allowance: Allowance | None = None,
        version: str = "0",
        exercised: Counter[str] | None = None,
    ) -> None:
        super().__init__(allowance or Allowance(spec.max_requests))
        self.spec = spec
        self.url = httpx.URL(url).copy_with(userinfo=b"")
        self.endpoint = shown_url(url)
        self.limits = limits or Limits()
        self.version = version
        self.exercised: Counter[str] = Counter() if exercised is None else exercised
        self.pacer = Pacer(spec.rate, self.alive)
        self.http = sender_for(self.url, kept=8, idle_s=_IDLE_S)

    def move(self, url: str) -> None:
        """The server is at another address now."""
        self.url = httpx.URL(url).copy_with(userinfo=b"")
        self.endpoint = shown_url(url)

    def headers(self, *, other: bool = False) -> Sequence[tuple[bytes, bytes]]:
        """The user's headers, resolved: the first caller's or the second's."""
        lines: tuple[HeaderLine, ...] = self.spec.other_sent_headers if other else self.spec.sent_headers
        return [(line.name.encode(), line.resolved().encode()) for line in lines]

    async def close(self) -> None:
        """Close its connections."""
        with suppress(Exception):
            await self.http.aclose()
