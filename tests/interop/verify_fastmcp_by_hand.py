"""Deviations of a ``fastmcp[tasks]`` server from the tasks extension, shown with plain httpx.

Nothing of this project is imported.  Start ``servers/fastmcp_server.py --port 0`` and run
``python verify_fastmcp_by_hand.py URL``; exit code 0 means that the server still does everything
that is listed here.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

TASKS = "io.modelcontextprotocol/tasks"
VERSION = "2026-07-28"
ALL: dict[str, Any] = {"elicitation": {}, "sampling": {}, "extensions": {TASKS: {}}}
TASKS_ONLY: dict[str, Any] = {"extensions": {TASKS: {}}}


class Peer:
    """A client that sends exactly what it is told, well-formed otherwise."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._http = httpx.Client(timeout=20)

    def post(
        self,
        method: str,
        params: Mapping[str, Any],
        capabilities: Mapping[str, Any] = ALL,
        headers: Mapping[str, str | None] | None = None,
    ) -> httpx.Response:
        """POST one request; a header given as None is left out."""
        meta = {f"io.modelcontextprotocol/{key}": value for key, value in (
            ("protocolVersion", VERSION),
            ("clientInfo", {"name": "by-hand", "version": "0"}),
            ("clientCapabilities", capabilities),
        )}  # fmt: skip
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        return self.post_body(body, method, {"Mcp-Name": params.get("taskId", params.get("name")), **(headers or {})})

    def post_body(
        self, body: Mapping[str, Any], method: str, headers: Mapping[str, str | None] | None = None
    ) -> httpx.Response:
        """POST a body as it stands; a header given as None is left out."""
        sent: dict[str, str | None] = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": VERSION,
            "Mcp-Method": method,
            **(headers or {}),
        }
        return self._http.post(
            self._url, json=body, headers={key: value for key, value in sent.items() if value is not None}
        )

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        """The JSON-RPC answer to a tool call."""
        answer: dict[str, Any] = self.post("tools/call", {"name": tool, "arguments": arguments or {}}, **options).json()
        return answer

    def task(self, tool: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> str:
        """Call a tool that becomes a task; its id."""
        task_id: str = self.call(tool, arguments, **options)["result"]["taskId"]
        return task_id

    def settled(self, task_id: str) -> dict[str, Any]:
        """The task once it is no longer working."""
        for _ in range(100):
            result: dict[str, Any] = self.post("tasks/get", {"taskId": task_id}).json()["result"]
            if result["status"] != "working":
                return result
            time.sleep(0.05)
        raise TimeoutError(task_id)


def asks_undeclared(peer: Peer) -> str:
    result = peer.call("confirm_delete", capabilities={})["result"]
    return f"{result['resultType']} with {next(iter(result['inputRequests'].values()))['method']}"


def asks_undeclared_in_task(peer: Peer) -> str:
    task = peer.settled(peer.task("confirm_delete", capabilities=TASKS_ONLY))
    return f"{task['status']} with {next(iter(task['inputRequests'].values()))['method']}"


def error_of_task_and_call(peer: Peer) -> str:
    plain = peer.call("protocol_error_job", capabilities={})
    task = peer.settled(peer.task("protocol_error_job"))
    direct = f"error {plain['error']['code']}" if "error" in plain else f"result, isError {plain['result']['isError']}"
    return f"called: {direct}; as task: {task['status']}, error {task.get('error', {}).get('code')}"


def foreign_origin(peer: Peer) -> str:
    return f"HTTP {peer.post('tools/list', {}, headers={'Origin': 'http://evil.example'}).status_code}"


def no_name_header(peer: Peer) -> str:
    task_id = peer.task("slow_compute", {"seconds": 0})
    answer = peer.post("tasks/get", {"taskId": task_id}, headers={"Mcp-Name": None})
    return f"HTTP {answer.status_code}, {'result' if 'result' in answer.json() else 'error'}"


def _refusal(answer: httpx.Response) -> str:
    body = answer.json()
    return f"HTTP {answer.status_code}, error {body['error']['code']}, id {body.get('id')}"


def older_version_in_header(peer: Peer) -> str:
    return _refusal(peer.post("tools/list", {}, headers={"MCP-Protocol-Version": "2025-11-25"}))


def no_version_header(peer: Peer) -> str:
    return _refusal(peer.post("tools/list", {}, headers={"MCP-Protocol-Version": None}))


def params_in_an_array(peer: Peer) -> str:
    return _refusal(peer.post_body({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": []}, "tools/list"))


def updated_at_of_finished_task(peer: Peer) -> str:
    task_id = peer.task("slow_compute", {"seconds": 0})
    first = peer.settled(task_id)
    time.sleep(0.05)
    second = peer.settled(task_id)
    return f"{first['status']}, {second['status']}, " + (
        "same" if first["lastUpdatedAt"] == second["lastUpdatedAt"] else "moved"
    )


def unknown_tool(peer: Peer) -> str:
    answer = peer.call("no_such_tool")
    return f"error {answer['error']['code']}" if "error" in answer else f"result, isError {answer['result']['isError']}"


def listen(peer: Peer) -> str:
    return _refusal(peer.post("subscriptions/listen", {"notifications": {"taskIds": []}}))


@dataclass(frozen=True)
class Case:
    requirement: str
    verdict: str
    run: Callable[[Peer], str]
    expected: str
    actual: str


CASES = [
    Case(
        "core.mrtr.declared-only",
        "fail",
        asks_undeclared,
        "error -32021, or no elicitation",
        "input_required with elicitation/create",
    ),
    Case("http.origin-403", "fail", foreign_origin, "HTTP 403", "HTTP 200"),
    Case(
        "tasks.status.error-exact, tasks.status.failed-only-jsonrpc",
        "fail",
        error_of_task_and_call,
        "the same kind of outcome both times",
        "called: result, isError True; as task: failed, error -32603",
    ),
    Case(
        "tasks.cap.input-capability",
        "warn",
        asks_undeclared_in_task,
        "no elicitation",
        "input_required with elicitation/create",
    ),
    Case("tasks.http.name-missing", "warn", no_name_header, "HTTP 400, error -32020", "HTTP 200, result"),
    Case(
        "(a header that names 2025-11-25, which the server speaks as well)",
        "lawful",
        older_version_in_header,
        "a refusal, in the form of either revision",
        "HTTP 400, error -32600, id None",
    ),
    Case(
        "rpc.invalid-params",
        "warn",
        params_in_an_array,
        "HTTP 400, error -32602, id 1",
        "HTTP 400, error -32600, id None",
    ),
    Case(
        "(a request without the version header, as older clients send it)",
        "lawful",
        no_version_header,
        "HTTP 400, error -32020, id 1, or treated as 2025-03-26",
        "HTTP 400, error -32600, id None",
    ),
    Case(
        "tasks.shape.updated-settled",
        "warn",
        updated_at_of_finished_task,
        "completed, completed, same",
        "completed, completed, moved",
    ),
    Case("(unknown tool is a protocol error)", "note", unknown_tool, "error -32602", "result, isError True"),
    Case(
        "tasks.notif.*",
        "not offered",
        listen,
        "a stream, or error -32601",
        "HTTP 404, error -32601, id 1",
    ),
]


def main() -> int:
    """Run all cases against the URL of the command line; 0 when each did what is recorded for it."""
    peer = Peer(sys.argv[1])
    changed = 0
    for case in CASES:
        actual = case.run(peer)
        same = actual == case.actual
        changed += not same
        print(f"[{case.verdict}] {case.requirement}\n  expected: {case.expected}\n  actual:   {actual}")
        if not same:
            print(f"  CHANGED, recorded was: {case.actual}")
    print(f"{len(CASES) - changed} of {len(CASES)} as recorded")
    return 1 if changed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} URL")
    sys.exit(main())
