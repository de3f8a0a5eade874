"""The harness of 2025-11-25: sessions, headers, streams, its switches, and both revisions at one URL."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from harness_client import Client
from harness_client25 import ASK, DONE, Client25, RefusedError, message

from mcptasks.fixtures.server.running import ServerHandle
from mcptasks.fixtures.server_2025 import HarnessOptions25, start_both, start_server
from mcptasks.fixtures.stores.memory import MemoryTaskStore
from mcptasks.fixtures.stores.memory_2025 import MemoryTaskStore2025

JSON_ONLY = "application/json"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.fixture(scope="module")
def server() -> Iterator[ServerHandle]:
    with start_server(MemoryTaskStore2025) as handle:
        yield handle


def with_options(**switches: Any) -> ServerHandle:
    return start_server(MemoryTaskStore2025, options=HarnessOptions25(**switches))


def test_a_session_is_needed_and_ends(server: ServerHandle) -> None:
    client = Client25(server.url)
    task = client.open()["taskId"]
    stranger = Client25(server.url, initialize=False)
    assert stranger.post("ping").status_code == 400
    stranger.session = "nothing"
    assert stranger.post("ping").status_code == 404
    with client.stream() as stream, client.background("tasks/result", {"taskId": task}) as waiter:
        waiter.status.get(timeout=10)
        assert client.http.delete(server.url, headers=client.headers()).status_code == 200
        assert stream.next() is None
        assert waiter.next() is None
    assert client.post("ping").status_code == 404
    assert client.http.get(server.url, headers=client.headers()).status_code == 404


def test_a_session_belongs_to_its_caller(server: ServerHandle) -> None:
    client = Client25(server.url, headers={"Authorization": "Bearer me"})
    assert client.post("ping").status_code == 200
    client.more = {}
    assert client.post("ping").status_code == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"MCP-Protocol-Version": "1900-01-01"}, 400),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "http://localhost:1"}, 200),
        ({"Accept": "text/html"}, 406),
        ({"Content-Type": "text/plain"}, 415),
    ],
)
def test_headers(server: ServerHandle, headers: dict[str, str], status: int) -> None:
    assert Client25(server.url).send(PING, **headers).status_code == status


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, -32700),
        (b"[]", 400, -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', 400, -32600),
        (b'{"jsonrpc": "2.0", "id": 1}', 400, -32600),
        (b'{"jsonrpc": "2.0", "id": "a", "method": "nothing"}', 200, -32601),
        (b'{"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": 3}', 200, -32602),
    ],
)
def test_bad_messages(server: ServerHandle, body: bytes, status: int, code: int) -> None:
    client = Client25(server.url)
    response = client.http.post(server.url, content=body, headers=client.headers())
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)


def test_messages_without_an_answer(server: ServerHandle) -> None:
    client = Client25(server.url)
    for body in (
        {"jsonrpc": "2.0", "method": "notifications/whatever"},
        {"jsonrpc": "2.0", "id": "nobody-asked", "result": {}},
    ):
        response = client.send(body)
        assert (response.status_code, response.content) == (202, b"")
    assert client.http.put(server.url, headers=client.headers()).status_code == 405


def test_a_request_taken_back_is_not_answered(server: ServerHandle) -> None:
    client = Client25(server.url)
    task = client.open()["taskId"]
    with client.background("tasks/result", {"taskId": task}) as waiter:
        waiter.status.get(timeout=10)
        client.notify("notifications/cancelled", {"requestId": client.ids})
        assert waiter.next() is None
    assert client.get(task)["status"] == "working"


def test_without_sessions_all_clients_are_one() -> None:
    with with_options(sessions=False) as server:
        client, other = Client25(server.url), Client25(server.url)
        assert client.session is None
        task = client.open()["taskId"]
        assert other.get(task)["status"] == "working"
        with other.stream() as stream:
            client.step(task, "request_input", requests={"a": ASK})
            other.respond(stream.next("elicitation/create"))
        assert client.get(task)["status"] == "working"


def test_capabilities_switched_off() -> None:
    with with_options(list_tasks=False, cancel_tasks=False, get_stream=False, delete_sessions=False) as server:
        client = Client25(server.url)
        assert client.server["capabilities"]["tasks"] == {"requests": {"tools": {"call": {}}}}
        for method, params in (("tasks/list", None), ("tasks/cancel", {"taskId": client.open()["taskId"]})):
            with pytest.raises(RefusedError) as caught:
                client.result(method, params)
            assert caught.value.code == -32601
        assert client.http.get(server.url, headers=client.headers()).status_code == 405
        assert client.http.delete(server.url, headers=client.headers()).status_code == 405


def test_a_server_without_tasks_ignores_what_asks_for_one() -> None:
    with with_options(tasks=False) as server:
        client = Client25(server.url)
        assert "tasks" not in client.server["capabilities"]
        assert not any("execution" in tool for tool in client.result("tools/list")["tools"])
        assert client.call("task_open", task={"ttl": 1})["content"]


def test_forms_of_answers() -> None:
    with with_options(answers="sse") as server:
        client = Client25(server.url)
        task = client.open()["taskId"]
        assert client.post("ping").headers["content-type"] == "text/event-stream"
        assert client.post("tasks/get", {"taskId": task}).headers["content-type"] == "application/json"
        assert client.post("ping", Accept=JSON_ONLY).headers["content-type"] == "application/json"
        with client.background("tasks/result", {"taskId": task}, Accept=JSON_ONLY) as waiter, client.stream() as stream:
            client.step(task, "request_input", requests={"a": ASK})
            client.respond(stream.next("elicitation/create"))
            client.step(task, "complete", result=DONE)
            assert waiter.next()["result"]["content"] == DONE["content"]


def test_ttl_is_cut_and_pages_are_small() -> None:
    from mcptasks.conformance.targets.store import StoreOptions

    with with_options(max_ttl_ms=1000, poll_interval_ms=7, store=StoreOptions(page_size=2)) as server:
        client = Client25(server.url)
        task = client.open(task={"ttl": 5000.0})
        assert (task["ttl"], task["pollInterval"]) == (1000, 7)
        client.open()
        client.open()
        assert len(client.result("tasks/list")["tasks"]) == 2


def test_a_silent_stream_is_kept_alive() -> None:
    with with_options(keep_alive_s=0.02) as server:
        client = Client25(server.url)
        with httpx.stream("GET", server.url, headers=client.headers()) as response:
            assert next(line for line in response.iter_lines() if line) == ":"


# --- both revisions ---------------------------------------------------------------------------------


def test_one_server_of_both_revisions_keeps_them_apart() -> None:
    with start_both(MemoryTaskStore, MemoryTaskStore2025) as server:
        new, old = Client(server.url), Client25(server.url)
        assert new.result("server/discover", {})["supportedVersions"] == ["2026-07-28"]
        created = new.result("tools/call", {"name": "task_open"}, name="task_open")["taskId"]
        opened = old.open()["taskId"]
        assert new.result("tasks/get", {"taskId": created}, name=created)["status"] == "working"
        assert old.get(opened)["status"] == "working"
        with pytest.raises(RefusedError):
            old.get(created)
        assert message(new.post("tasks/get", {"taskId": opened}, name=opened))["error"]["code"] == -32602
        assert [task["taskId"] for task in old.result("tasks/list")["tasks"]] == [opened]
        assert httpx.get(server.url).status_code == 405
        with old.stream() as stream:
            old.step(opened, "complete", result=DONE)
            assert stream.next()["params"]["status"] == "completed"
        assert old.http.delete(server.url, headers=old.headers()).status_code == 200
        assert httpx.post(server.url, content=b"{", headers={"Content-Type": "application/json"}).status_code == 400
        assert new.post("server/discover", {}, headers={"MCP-Protocol-Version": "1900-01-01"}).status_code == 400


@pytest.mark.parametrize("revision", ["2025-11-25", "both"])
def test_serve_takes_a_revision(revision: str) -> None:
    command = [sys.executable, "-m", "mcptasks.conformance.cli", "serve", "--revision", revision]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert Client25(process.stdout.readline().strip()).open()["status"] == "working"
        finally:
            process.terminate()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--revision", "2024-11-05"], "known are"),
        (["--revision", "2025-11-25", "--store", "mcptasks.fixtures.stores.memory:MemoryTaskStore"], "is a store of"),
        (["--revision", "both", "--stdio"], "--stdio serves"),
        (["--store-arg", "a=1"], "need --store"),
    ],
)
def test_serve_says_what_does_not_fit(options: list[str], complaint: str) -> None:
    command = [sys.executable, "-m", "mcptasks.conformance.cli", "serve", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
