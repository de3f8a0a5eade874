"""A client of protocol 2025-11-25 over Streamable HTTP, in plain httpx, for the scripts that verify by hand.

Nothing of this project is imported.  It sends exactly what it is told, well-formed otherwise, and
keeps every message that comes back.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx

VERSION = "2025-11-25"
RELATED = "io.modelcontextprotocol/related-task"
CAPABILITIES: dict[str, Any] = {
    "elicitation": {},
    "sampling": {},
    "tasks": {"list": {}, "cancel": {}, "requests": {"elicitation": {"create": {}}, "sampling": {"createMessage": {}}}},
}
FOREVER = 600_000
"""A ttl, in ms, that no script outlives."""


def elicitation(message: str) -> dict[str, Any]:
    """A question for one required string, as ``task_step`` takes it."""
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


class Exchange:
    """One POST (without a body: a GET) whose answer may take its time: what has come on its stream so far."""

    def __init__(
        self, http: httpx.Client, url: str, body: Mapping[str, Any] | None, headers: Mapping[str, str]
    ) -> None:
        self.status = 0
        self.type = ""
        self.headers: Mapping[str, str] = {}
        self.messages: list[dict[str, Any]] = []
        self.broke = ""
        self._changed = threading.Condition()
        self._over = False
        self._thread = threading.Thread(target=self._run, args=(http, url, body, headers), daemon=True)
        self._thread.start()

    def _run(self, http: httpx.Client, url: str, body: Mapping[str, Any] | None, headers: Mapping[str, str]) -> None:
        try:
            with http.stream("GET" if body is None else "POST", url, json=body, headers=dict(headers)) as answer:
                self.status = answer.status_code
                self.headers = answer.headers
                self.type = answer.headers.get("content-type", "").partition(";")[0]
                for message in _messages(answer, self.type):
                    with self._changed:
                        self.messages.append(message)
                        self._changed.notify_all()
        except httpx.HTTPError as error:
            self.broke = type(error).__name__
        finally:
            with self._changed:
                self._over = True
                self._changed.notify_all()

    def answer(self, timeout: float = 10) -> dict[str, Any] | None:
        """The JSON-RPC response (with ``result`` or ``error``), or None if none came in time or at all."""
        end = time.monotonic() + timeout
        with self._changed:
            while True:
                for message in self.messages:
                    if "method" not in message and ("result" in message or "error" in message):
                        return message
                left = end - time.monotonic()
                if self._over or left <= 0:
                    return None
                self._changed.wait(left)

    def requests(self) -> list[dict[str, Any]]:
        """What the server has asked on this stream."""
        return [message for message in self.messages if "method" in message and "id" in message]


def _messages(answer: httpx.Response, kind: str) -> Iterator[dict[str, Any]]:
    if kind == "application/json":
        yield json.loads(answer.read())
        return
    if kind != "text/event-stream":
        answer.read()
        return
    # Not iter_lines, which also splits at characters that may stand within JSON.
    rest = b""
    data: list[bytes] = []
    for piece in answer.iter_bytes():
        *lines, rest = (rest + piece).split(b"\n")
        for line in map(bytes.strip, lines):
            if line.startswith(b"data:"):
                data.append(line[5:].strip())
            elif not line and data:
                text, data = b"\n".join(data), []
                if text:
                    yield json.loads(text)


class Session:
    """One session with the server at a URL."""

    def __init__(
        self, url: str, capabilities: Mapping[str, Any] = CAPABILITIES, headers: Mapping[str, str] | None = None
    ) -> None:
        self._url = url
        self._http = httpx.Client(timeout=httpx.Timeout(10, read=120), limits=httpx.Limits(max_connections=None))
        self._ids = itertools.count(1)
        self._streams: list[Exchange] = []
        self.headers = {"Accept": "application/json, text/event-stream", **(headers or {})}
        params = {
            "protocolVersion": VERSION,
            "capabilities": capabilities,
            "clientInfo": {"name": "by-hand", "version": "0"},
        }
        begun = self.begin("initialize", params)
        answer = begun.answer()
        assert answer is not None, "no answer to initialize"
        self.server: dict[str, Any] = answer["result"]
        self.headers["MCP-Protocol-Version"] = VERSION
        if "mcp-session-id" in begun.headers:
            self.headers["Mcp-Session-Id"] = begun.headers["mcp-session-id"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> httpx.Response:
        """POST a body as it stands."""
        return self._http.post(self._url, json=body, headers={**self.headers, **(headers or {})})

    @contextmanager
    def stream(self, body: bytes) -> Iterator[httpx.Response]:
        """POST a body that may be no JSON; its answer, whose parts may take ten seconds each."""
        headers = {**self.headers, "Content-Type": "application/json"}
        with self._http.stream("POST", self._url, content=body, headers=headers, timeout=10) as answer:
            yield answer

    def begin(self, method: str, params: Mapping[str, Any] | None = None) -> Exchange:
        """Send a request; its answer is looked at later."""
        body: dict[str, Any] = {"jsonrpc": "2.0", "id": next(self._ids), "method": method}
        if params is not None:
            body["params"] = params
        return self._kept(Exchange(self._http, self._url, body, self.headers))

    def listen(self) -> Exchange:
        """Open the GET stream of the session."""
        return self._kept(Exchange(self._http, self._url, None, self.headers))

    def _kept(self, stream: Exchange) -> Exchange:
        self._streams.append(stream)
        return stream

    def asked(self, *texts: str, timeout: float = 5) -> list[dict[str, Any]]:
        """The server's questions with these messages, whatever stream they came on; fewer once the time is up."""
        end = time.monotonic() + timeout
        while True:
            came = [request for stream in self._streams for request in stream.requests()]
            found = [request for text in texts for request in came if request["params"].get("message") == text]
            if len(found) >= len(texts) or time.monotonic() > end:
                return found
            time.sleep(0.02)

    def ask(self, method: str, params: Mapping[str, Any] | None = None, timeout: float = 10) -> dict[str, Any] | None:
        """Send a request and wait for its response."""
        return self.begin(method, params).answer(timeout)

    def reply(self, request: Mapping[str, Any], result: Mapping[str, Any]) -> int:
        """Answer a request of the server; the HTTP status of that POST."""
        return self.send({"jsonrpc": "2.0", "id": request["id"], "result": result}).status_code

    def end(self) -> int:
        """DELETE the session; the HTTP status."""
        return self._http.delete(self._url, headers=self.headers).status_code

    # What the control tools add.

    def open(self, ttl: int | None = FOREVER, tool: str = "task_open") -> str:
        """Open a task; its id."""
        answer = self.ask("tools/call", {"name": tool, "arguments": {}, "task": {} if ttl is None else {"ttl": ttl}})
        assert answer is not None, "no answer to tools/call"
        task_id: str = answer["result"]["task"]["taskId"]
        return task_id

    def step(self, task_id: str, **step: Any) -> dict[str, Any] | None:
        """What ``task_step`` answers."""
        answer = self.ask("tools/call", {"name": "task_step", "arguments": {"taskId": task_id, "step": step}}, 5)
        return answer and (answer.get("result", {}).get("structuredContent") or answer)

    def task(self, task_id: str) -> dict[str, Any] | None:
        """The answer to ``tasks/get``."""
        return self.ask("tasks/get", {"taskId": task_id}, 5)

    def status(self, task_id: str, *awaited: str, timeout: float = 5) -> str:
        """The status by ``tasks/get``, once it is an awaited one or the time is up."""
        end = time.monotonic() + timeout
        while True:
            answer = self.task(task_id)
            if answer is None:
                return "no answer"
            status: str = answer["result"]["status"] if "result" in answer else f"error {answer['error']['code']}"
            if not awaited or status in awaited or time.monotonic() > end:
                return status
            time.sleep(0.05)
