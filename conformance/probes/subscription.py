"""A subscription that a probe holds open beside its other requests (MCP 2026-07-28, basic/patterns/subscriptions)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

from mcptasks.conformance.engine.wire_server import ServerSource
from mcptasks.conformance.probes.raw import RawAnswer
from mcptasks.conformance.probes.session import ProbeSession, ProbeSkipped
from mcptasks.conformance.wire.names import METHOD_NOT_FOUND
from mcptasks.conformance.wire.problems import RequestsSpentError, WireProblem
from mcptasks.strategies.json_values import JSON

__all__ = ["ACKNOWLEDGED", "LISTEN", "Subscription", "is_response", "subscribed", "why_no_listening"]

LISTEN: Final = "subscriptions/listen"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"

_OPEN_S: Final = 25.0
"""Seconds that a subscription is held at most; a probe is over sooner."""
_MOST: Final = 2_000
"""Messages after which it is left."""
_INTRODUCTION_S: Final = 5.0


def is_response(message: JSON) -> bool:
    """Whether a message is the response that ends a request."""
    return isinstance(message, Mapping) and "method" not in message and ("result" in message or "error" in message)


class Subscription:
    """What has come on one ``subscriptions/listen`` request.

    Args:
        request_id: of the request, with which everything on it must be tagged.
        asked: the filter that was sent.
    """

    def __init__(self, request_id: str | int, asked: Mapping[str, JSON]) -> None:
        self.id = request_id
        self.asked = asked
        self.opened = False
        """Whether a stream was opened."""
        self.messages: list[JSON] = []
        self._reading: asyncio.Task[RawAnswer] | None = None
        self._news = asyncio.Event()

    def start(self, reading: asyncio.Task[RawAnswer]) -> None:
        """Take messages from now on; ``reading`` is the request on its way."""
        self._reading = reading
        reading.add_done_callback(lambda _: self._news.set())

    def take(self, messages: Sequence[JSON]) -> bool:
        """The messages so far; whether there are too many."""
        self.opened = True
        self.messages = list(messages)
        self._news.set()
        return len(messages) >= _MOST

    @property
    def answer(self) -> RawAnswer | None:
        """The whole exchange, once it is over.

        Raises:
            WireProblem: nothing listens any more.
            ProbeSkipped: the server asks to wait for too long.
            RequestsSpentError: no request is left.
        """
        if self._reading is None or not self._reading.done():
            return None
        answer = self._reading.result()
        self.messages = list(answer.messages)
        return answer

    async def until(self, test: Callable[[Sequence[JSON]], bool], seconds: float) -> bool:
        """Wait until ``test`` says so of the messages, the exchange is over, or that time has passed.

        Returns:
            What ``test`` says then.

        Raises:
            WireProblem, ProbeSkipped, RequestsSpentError: see :attr:`answer`.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not test(self.messages) and self.answer is None:
                    self._news.clear()
                    await self._news.wait()
        return test(self.messages)

    async def opening(self) -> RawAnswer | None:
        """Wait until the stream is open, or the exchange is over without one: then what it was.

        How long that takes is no matter of the server's alone: requests are paced, and sent again when it is busy.

        Raises:
            WireProblem, ProbeSkipped, RequestsSpentError: see :attr:`answer`.
        """
        while not self.opened and self.answer is None:
            self._news.clear()
            await self._news.wait()
        return None if self.opened else self.answer

    async def close(self) -> None:
        """Close the connection, as a client does that has heard enough."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait((self._reading,))


@asynccontextmanager
async def subscribed(
    session: ProbeSession,
    asked: Mapping[str, JSON],
    request_id: str | int,
    *,
    seconds: float = _OPEN_S,
) -> AsyncIterator[Subscription]:
    """Hold a subscription open, on a connection of its own; it is closed at the end.

    Args:
        session: of the probe.
        asked: the filter.
        request_id: of the request.
        seconds: that it is held at most.
    """
    held = Subscription(request_id, asked)
    whole = session.message(LISTEN, {"notifications": dict(asked)}, request_id=request_id)
    exchange = session.raw(whole, fresh=True, until=held.take, seconds=seconds)
    held.start(asyncio.ensure_future(exchange))
    try:
        yield held
    finally:
        await held.close()


async def why_no_listening(source: ServerSource) -> str | None:
    """Ask a server whether it has subscriptions at all; if not, why it is taken to have none."""
    counts = source.opened.client.exercised  # taken over by the session
    session = ProbeSession(source, "listen.offered", exercised=Counter())
    try:
        seconds = min(_INTRODUCTION_S, source.opened.client.limits.answer_s)
        async with subscribed(session, {"toolsListChanged": True}, "offered", seconds=seconds) as held:
            answer = await held.opening()
            if answer is not None and answer.code == METHOD_NOT_FOUND:
                return f"the server offers no {LISTEN}: error {METHOD_NOT_FOUND}"
            if answer is not None and not answer.status:
                return f"the server does not offer {LISTEN}: it {answer.problem}"
            return None
    except ProbeSkipped as reason:
        return str(reason)
    except (WireProblem, RequestsSpentError):
        return None  # what follows will say so
    finally:
        await session.close()
        source.opened.client.exercised = counts
