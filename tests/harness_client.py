"""A client of protocol 2026-07-28 for tests: sends exactly what it is told, and validates nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx

from mcptasks.conformance.wire import header_values, names

TASKS: dict[str, Any] = {"extensions": {names.TASKS_EXTENSION: {}}}
ALL: dict[str, Any] = {"elicitation": {}, "sampling": {}, **TASKS}
FORM = {"message": "?", "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}
ASK = {"method": "elicitation/create", "params": FORM}


class RefusedError(AssertionError):
    """The server answered with a JSON-RPC error."""

    def __init__(self, code: int, status: int, error: Mapping[str, Any]) -> None:
        super().__init__(f"{code} with HTTP {status}: {error}")
        self.code = code
        self.status = status
        self.error = error


def meta(capabilities: Any = ALL, version: str = names.VERSION) -> dict[str, Any]:
    return {
        names.PROTOCOL_VERSION: version,
        names.CLIENT_INFO: {"name": "tests", "version": "1"},
        names.CLIENT_CAPABILITIES: capabilities,
    }


class Client:
    """One connection to a server."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.http = httpx.Client(timeout=10)

    def __del__(self) -> None:
        self.http.close()

    def headers(self, method: str, name: str | None) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            names.HEADER_VERSION: names.VERSION,
            names.HEADER_METHOD: method,
        }
        if name is not None:
            headers[names.HEADER_NAME] = header_values.encode(name)
        return headers

    def post(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        name: str | None = None,
        id: Any = 1,
        without: str = "",
        headers: Mapping[str, str] | None = None,
        capabilities: Any = ALL,
    ) -> httpx.Response:
        body = {"jsonrpc": "2.0", "id": id, "method": method, "params": {"_meta": meta(capabilities), **params}}
        sent = {key: value for key, value in self.headers(method, name).items() if key != without} | dict(headers or {})
        return self.http.post(self.url, content=json.dumps(body), headers=sent)

    def result(self, method: str, params: Mapping[str, Any], **options: Any) -> dict[str, Any]:
        response = self.post(method, params, **options)
        answer = message(response)
        if "error" in answer:
            raise RefusedError(answer["error"]["code"], response.status_code, answer["error"])
        assert response.status_code == 200
        result: dict[str, Any] = answer["result"]
        return result

    def tool(self, tool: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        params: dict[str, Any] = {"name": tool, "arguments": arguments or {}, **options.pop("params", {})}
        return self.result("tools/call", params, name=tool, **options)

    def open(self) -> str:
        task_id: str = self.tool("task_open")["taskId"]
        return task_id

    def step(self, task_id: str, action: str, **members: Any) -> dict[str, Any]:
        result = self.tool("task_step", {"taskId": task_id, "step": {"action": action, **members}})
        content: dict[str, Any] = result["structuredContent"]
        return content

    def task(self, method: str, task_id: str, **params: Any) -> dict[str, Any]:
        options = {key: params.pop(key) for key in ("capabilities", "headers", "without", "id") if key in params}
        return self.result(f"tasks/{method}", {"taskId": task_id, **params}, name=task_id, **options)

    def until(self, task_id: str, *statuses: str) -> dict[str, Any]:
        """Poll until the task has one of the statuses; bounded by the number of requests, not by time."""
        for _ in range(5000):
            task = self.task("get", task_id)
            if task["status"] in statuses:
                return task
        raise AssertionError(f"still {task['status']}")


def message(response: httpx.Response) -> dict[str, Any]:
    """The one JSON-RPC message of an answer, in either form."""
    text = response.text
    if response.headers["content-type"].startswith("text/event-stream"):
        lines = [line for line in text.splitlines() if line.startswith("data: ")]
        assert len(lines) == 1
        text = lines[0].removeprefix("data: ")
    answer: dict[str, Any] = json.loads(text)
    assert answer["jsonrpc"] == "2.0"
    assert ("result" in answer) != ("error" in answer)
    return answer
