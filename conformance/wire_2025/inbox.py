"""What a server sends of its own accord in a session: requests and notifications, on whatever stream they come."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from mcptasks.conformance.wire.problems import Smell
from mcptasks.conformance.wire_2025.client import Client25
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["Inbox", "Notice", "Question"]

_MOST: Final = 5_000
"""Messages of a kind that are kept."""
_SMELLS: Final = 20
_KEPT: Final = ("elicitation/create", "sampling/createMessage")
"""Requests that wait for whoever drives the session; the others are answered at once."""


@dataclass(slots=True)
class Question:
    """A request from the server."""

    id: JSON
    method: str
    params: Mapping[str, JSON]
    stream: str
    """Where it came: ``listen`` for the stream of the GET, else the method whose answer's stream it is."""
    at: float
    """By :func:`time.monotonic`."""
    of: JSON = None
    """The ``taskId`` of the request on whose stream it came."""
    answered: bool = False


@dataclass(slots=True)
class Notice:
    """A notification from the server."""

    method: str
    params: Mapping[str, JSON]
    stream: str
    at: float
    message: Mapping[str, JSON] = field(default_factory=dict)


class Inbox:
    """Keeps what has come, and wakes whoever waits for it.

    Args:
        client: of the server.
        answer: called with a request that is answered at once.
    """

    def __init__(self, client: Client25, answer: Callable[[Question], None]) -> None:
        self.questions: list[Question] = []
        self.notices: list[Notice] = []
        self.smells: list[Smell] = []
        """What was wrong with these messages."""
        self._client = client
        self._answers_at_once = answer
        self._news = asyncio.Event()

    def take(self, message: JSON, stream: str, of: JSON = None) -> bool:
        """Keep a request or notification; false if the message is neither.

        Args:
            stream: ``listen`` for the stream of the GET, else the method whose answer's stream it is.
            of: the ``taskId`` of the request on whose stream it came.
        """
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return False
        method, params = message["method"], message.get("params")
        known = params if isinstance(params, dict) else {}
        self._client.exercised["rpc.version"] += 1
        if message.get("jsonrpc") != "2.0" and len(self.smells) < _SMELLS:
            shown = text_of(message.get("jsonrpc"), 40)
            self.smells.append(
                Smell("rpc.version", f"server-{method}", 'jsonrpc is "2.0"', f"sends a {method} with jsonrpc {shown}")
            )
        now = time.monotonic()
        if "id" not in message or method.startswith("notifications/"):
            if len(self.notices) < _MOST:
                self.notices.append(Notice(method, known, stream, now, message))
        else:
            question = Question(message["id"], method, known, stream, now, of)
            if method not in _KEPT:
                self._answers_at_once(question)
            elif len(self.questions) < _MOST:
                self.questions.append(question)
        self.news()
        return True

    def forget(self) -> None:
        """Forget what has come so far: the memory of a long run stays flat."""
        self.notices.clear()
        self.questions.clear()

    def news(self) -> None:
        """Wake whoever waits: something came."""
        self._news.set()

    async def until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait until something is so, looking whenever a message has come; false if it is not in time."""
        end = time.monotonic() + seconds
        while not condition():
            left = end - time.monotonic()
            if left <= 0:
                return False
            self._news.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), min(left, 0.5))
            if left > 0.5:
                self._client.alive()
        return True
