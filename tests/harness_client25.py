"""A client of 2025-11-25 for tests: sends exactly what it is told, and validates nothing."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from queue import Empty, Queue
from typing import Any

import httpx

VERSION = "2025-11-25"
RELATED = "io.modelcontextprotocol/related-task"
CAPABILITIES: dict[str, Any] = {"elicitation": {}, "sampling": {}}
FORM = {
    "mode": "form",
    "message": "?",
    "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
}
ASK: dict[str, Any] = {"method": "elicitation/create", "params": FORM}
DONE = {"content": [{"type": "text", "text": "done"}]}
ACCEPT = {"action": "accept", "content": {"a": "yes"}}


class RefusedError(AssertionError):
    """The server answered with a JSON-RPC error."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(str(error))
        self.code = error["code"]
        self.error = error


class Background:
    """A request, or a GET, whose stream is read in a thread."""

    def __init__(self, client: Client25, method: str, body: Any, headers: Mapping[str, str]) -> None:
        self.messages: Queue[Any] = Queue()
        self.status: Queue[int] = Queue()
        self._url = client.url
        self._loop = asyncio.new_event_loop()
        self._task = self._loop.create_task(self._read(method, body, headers))
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with suppress(httpx.HTTPError, asyncio.CancelledError):
            self._loop.run_until_complete(self._task)
        self._loop.close()
        self.messages.put(None)

    async def _read(self, method: str, body: Any, headers: Mapping[str, str]) -> None:
        async with (
            httpx.AsyncClient(timeout=30) as http,
            http.stream(method, self._url, json=body, headers=headers) as response,
        ):
            self.status.put(response.status_code)
            if response.headers.get("content-type", "").startswith("application/json"):
                self.messages.put(json.loads(await response.aread()))
                return
            async for line in response.aiter_lines():
                if line.startswith("data:") and line[5:].strip():
                    self.messages.put(json.loads(line[5:]))

    def next(self, method: str | None = None, timeout: float = 10) -> Any:
        """The next message; with ``method`` the next of that method, or, for ``"response"``, the response."""
        while True:
            message = self.messages.get(timeout=timeout)
            if method is None or message is None:
                return message
            if message.get("method", "response") == method:
                return message

    def quiet(self, seconds: float = 0.15) -> bool:
        """Whether nothing comes for a while."""
        try:
            return self.messages.get(timeout=seconds) is None
        except Empty:
            return True

    def close(self) -> None:
        with suppress(RuntimeError):  # it has ended by itself
            self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(5)


class Client25:
    """One session with a server."""

    def __init__(
        self,
        url: str,
        *,
        capabilities: Any = CAPABILITIES,
        initialize: bool = True,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.url = url
        self.http = httpx.Client(timeout=10)
        self.session: str | None = None
        self.more = dict(headers or {})
        self.ids = 0
        self.server: dict[str, Any] = {}
        if initialize:
            params = {
                "protocolVersion": VERSION,
                "capabilities": capabilities,
                "clientInfo": {"name": "tests", "version": "1"},
            }
            response = self.post("initialize", params)
            self.session = response.headers.get("mcp-session-id")
            self.server = message(response)["result"]
            assert self.notify("notifications/initialized").status_code == 202

    def __del__(self) -> None:
        self.http.close()

    def headers(self) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": VERSION,
            **self.more,
        }
        if self.session is not None:
            headers["Mcp-Session-Id"] = self.session
        return headers

    def send(self, body: Any, **headers: str) -> httpx.Response:
        return self.http.post(self.url, content=json.dumps(body), headers=self.headers() | headers)

    def body(self, method: str, params: Any) -> dict[str, Any]:
        self.ids += 1
        body = {"jsonrpc": "2.0", "id": self.ids, "method": method}
        return body if params is None else {**body, "params": params}

    def post(self, method: str, params: Any = None, **headers: str) -> httpx.Response:
        return self.send(self.body(method, params), **headers)

    def notify(self, method: str, params: Any = None) -> httpx.Response:
        body = {"jsonrpc": "2.0", "method": method}
        return self.send(body if params is None else {**body, "params": params})

    def respond(self, request: Mapping[str, Any], result: Any = ACCEPT, **error: Any) -> httpx.Response:
        return self.send({"jsonrpc": "2.0", "id": request["id"], **({"error": error} if error else {"result": result})})

    def result(self, method: str, params: Any = None) -> dict[str, Any]:
        answer = message(self.post(method, params))
        if "error" in answer:
            raise RefusedError(answer["error"])
        result: dict[str, Any] = answer["result"]
        return result

    @contextmanager
    def background(self, method: str, params: Any = None, **headers: str) -> Iterator[Background]:
        """A request whose answer may take long."""
        running = Background(self, "POST", self.body(method, params), self.headers() | headers)
        try:
            yield running
        finally:
            running.close()

    @contextmanager
    def stream(self) -> Iterator[Background]:
        """The GET stream."""
        running = Background(self, "GET", None, self.headers())
        try:
            assert running.status.get(timeout=10) == 200
            yield running
        finally:
            running.close()

    # ---- tasks --------------------------------------------------------------------------------

    def call(self, name: str, arguments: Any = None, **more: Any) -> dict[str, Any]:
        return self.result("tools/call", {"name": name, "arguments": arguments or {}, **more})

    def open(self, name: str = "task_open", arguments: Any = None, task: Any = None, **more: Any) -> dict[str, Any]:
        created = self.call(name, arguments, task=task or {}, **more)
        task_: dict[str, Any] = created["task"]
        return task_

    def step(self, task_id: str, action: str, **values: Any) -> dict[str, Any]:
        result = self.call("task_step", {"taskId": task_id, "step": {"action": action, **values}})
        assert not result.get("isError"), result
        outcome: dict[str, Any] = result["structuredContent"]
        return outcome

    def get(self, task_id: str) -> dict[str, Any]:
        return self.result("tasks/get", {"taskId": task_id})

    def outcome(self, task_id: str) -> dict[str, Any]:
        return self.result("tasks/result", {"taskId": task_id})

    def cancel(self, task_id: str) -> dict[str, Any]:
        return self.result("tasks/cancel", {"taskId": task_id})


def message(response: httpx.Response) -> dict[str, Any]:
    """The JSON-RPC response, in either form."""
    lines = [response.text]
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        lines = [line[5:] for line in response.text.splitlines() if line.startswith("data:") and line[5:].strip()]
    found: list[dict[str, Any]] = [json.loads(line) for line in lines]
    (value,) = (one for one in found if "method" not in one)
    return value
