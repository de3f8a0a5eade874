"""The harness below the methods: HTTP, JSON-RPC, routing headers, and how it starts and stops."""

from __future__ import annotations

import base64
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from harness_client import Client, RefusedError, message, meta

from mcptasks.conformance.errors import TargetUnusableError, UsageError
from mcptasks.conformance.wire import header_values, names
from mcptasks.fixtures.server import HarnessOptions, ServerHandle, serve, start_server
from mcptasks.fixtures.stores import MemoryTaskStore


@pytest.fixture(scope="module")
def handle() -> Iterator[ServerHandle]:
    with start_server(MemoryTaskStore, options=HarnessOptions(max_body_bytes=50_000)) as running:
        yield running


@pytest.fixture(scope="module")
def client(handle: ServerHandle) -> Client:
    return Client(handle.url)


def failure(client: Client, method: str, params: Any, **options: Any) -> tuple[int, int]:
    with pytest.raises(RefusedError) as caught:
        client.result(method, params, **options)
    return caught.value.code, caught.value.status


def raw_post(client: Client, body: bytes | str, **headers: str) -> httpx.Response:
    return client.http.post(client.url, content=body, headers=client.headers("tasks/get", "x") | headers)


@pytest.mark.parametrize("id_", [7, "7", 0, -1, 2**60, "ключ", ""])
def test_the_id_comes_back_with_its_type(client: Client, id_: Any) -> None:
    for method in ("server/discover", "no/such"):
        echoed = message(client.post(method, {}, id=id_))["id"]
        assert echoed == id_
        assert type(echoed) is type(id_)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"", -32700),
        (b'{"a":\xff}', -32700),
        ('{"jsonrpc":"2.0"}'.encode("utf-16"), -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":NaN}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', -32700),
        (b"[" * 40_000, -32700),
        (b"[]", -32600),
        (b"1", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"server/discover"}]', -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"server/discover"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"server/discover"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"server/discover"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"server/discover"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', -32600),
    ],
)
def test_what_is_no_request_is_refused(client: Client, body: bytes, code: int) -> None:
    response = raw_post(client, body)
    assert (message(response)["error"]["code"], response.status_code) == (code, 400)


def test_notifications_are_taken_in_silence(client: Client) -> None:
    for method in ("notifications/cancelled", "notifications/whatever", "tasks/cancel"):
        response = raw_post(client, json.dumps({"jsonrpc": "2.0", "method": method, "params": {"requestId": 1}}))
        assert (response.status_code, response.content) == (202, b"")


def test_other_http_is_refused(client: Client) -> None:
    for verb in ("GET", "DELETE", "PUT", "HEAD"):
        response = client.http.request(verb, client.url)
        assert (response.status_code, response.headers["allow"]) == (405, "POST")
    assert raw_post(client, "{}", **{"Content-Type": "text/plain"}).status_code == 415
    assert raw_post(client, "{}", Accept="text/html").status_code == 406
    assert raw_post(client, b" " * 50_001).status_code == 413
    assert client.http.post(client.url + "/x").status_code == 404


def test_origin(client: Client) -> None:
    for origin, status in (
        ("http://evil.example", 403),
        ("http://localhost.evil.example", 403),
        ("null", 403),
        ("http://localhost:3000", 200),
        ("https://127.0.0.1", 200),
        ("http://[::1]:9", 200),
    ):
        assert client.post("server/discover", {}, headers={"Origin": origin}).status_code == status


@pytest.mark.parametrize(
    "method", ["foo/bar", "tasks/result", "tasks/list", "tasks/get ", "TASKS/GET", "initialize", "ping"]
)
def test_unknown_methods(client: Client, method: str) -> None:
    response = client.post(method, {"taskId": "x"}, name="x", headers={names.HEADER_METHOD: method.strip()})
    code = message(response)["error"]["code"]
    # A header value loses its blanks on the way, so the body's method cannot match it.
    assert (code, response.status_code) == ((-32020, 400) if method != method.strip() else (-32601, 404))


def test_a_client_of_an_older_revision_learns_the_versions(client: Client) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
    response = client.http.post(client.url, json=body)
    assert response.status_code == 400
    assert response.json()["error"]["data"] == {"supported": [names.VERSION], "requested": "2025-11-25"}


def test_versions(client: Client) -> None:
    old = {"_meta": meta(version="1900-01-01")}
    response = client.post("server/discover", old, headers={names.HEADER_VERSION: "1900-01-01"})
    assert response.status_code == 400
    error = message(response)["error"]
    assert (error["code"], error["data"]) == (-32022, {"supported": [names.VERSION], "requested": "1900-01-01"})
    assert failure(client, "server/discover", old) == (-32020, 400)
    assert failure(client, "server/discover", {}, headers={names.HEADER_VERSION: "2025-11-25"}) == (-32020, 400)
    assert failure(client, "server/discover", {}, without=names.HEADER_VERSION) == (-32020, 400)


def test_meta_is_required(client: Client) -> None:
    for key in (names.PROTOCOL_VERSION, names.CLIENT_CAPABILITIES):
        partial = {name: value for name, value in meta().items() if name != key}
        assert failure(client, "server/discover", {"_meta": partial}) == (-32602, 400)
    without_info = {name: value for name, value in meta().items() if name != names.CLIENT_INFO}
    assert client.result("server/discover", {"_meta": without_info})
    bad: Any
    for bad in (None, [], "x"):
        assert failure(client, "server/discover", {"_meta": bad}) == (-32602, 400)
    params: Any
    for params in (None, [], 5):
        body = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": params}
        response = raw_post(client, json.dumps(body), **{names.HEADER_METHOD: "server/discover"})
        assert (message(response)["error"]["code"], response.status_code) == (-32602, 400)


@pytest.mark.parametrize("task_id", [None, 5, "", {}, ["x"]])
def test_a_task_id_is_a_string(client: Client, task_id: Any) -> None:
    for method in ("tasks/get", "tasks/cancel", "tasks/update"):
        assert failure(client, method, {"taskId": task_id, "inputResponses": {}}, name="x") == (-32602, 400)
        assert failure(client, method, {"inputResponses": {}}, name="x") == (-32602, 400)


def test_input_responses_are_an_object_of_objects(client: Client) -> None:
    task_id = client.open()
    bad: Any
    for bad in (None, [], "x", {"k": None}, {"k": 1}):
        params = {"taskId": task_id, "inputResponses": bad}
        assert failure(client, "tasks/update", params, name=task_id) == (-32602, 400)
    assert failure(client, "tasks/update", {"taskId": task_id}, name=task_id) == (-32602, 400)
    assert client.task("update", task_id, inputResponses={})["resultType"] == "complete"
    assert client.task("get", task_id, extra=1)["status"] == "working"


def test_routing_headers(client: Client) -> None:
    one, two = client.open(), client.open()
    mismatch = (-32020, 400)
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        params = {"taskId": one, "inputResponses": {}}
        for name in (two, one.swapcase(), "=?base64?!?=", "=?base64?/w==?=", ""):
            assert failure(client, method, params, headers={names.HEADER_NAME: name}) == mismatch
        assert failure(client, method, params) == mismatch
        assert failure(client, method, params, name=one, without=names.HEADER_METHOD) == mismatch
        for wrong in ("tools/call", method.upper(), ""):
            assert failure(client, method, params, name=one, headers={names.HEADER_METHOD: wrong}) == mismatch
    assert failure(client, "tools/call", {"name": "greet"}) == mismatch
    assert failure(client, "tools/call", {"name": "greet"}, name="task_open") == mismatch
    for task_id in (one, two):
        assert client.task("get", task_id)["status"] == "working"
    encoded = f"=?base64?{base64.b64encode(one.encode()).decode()}?="
    got = client.result("tasks/get", {"taskId": one}, headers={names.HEADER_NAME: encoded})
    assert got["taskId"] == one


def test_routing_headers_on_the_bare_connection(client: Client) -> None:
    task_id = client.open()
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"taskId": task_id, "_meta": meta()}}
    )
    for lines, expected in (
        (f"MCP-METHOD: tasks/get\r\nmcp-name:   {task_id} \t\r\n", 200),
        (f"Mcp-Method: tasks/get\r\nMcp-Name: {task_id}\r\nMcp-Name: other\r\n", 400),
        (f"Mcp-Method: tasks/get\r\nMcp-Name: {task_id}é\r\n", 400),
    ):
        host = urlsplit(client.url)
        request = (
            f"POST {host.path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n"
            f"MCP-Protocol-Version: {names.VERSION}\r\n{lines}Content-Length: {len(body)}\r\n\r\n{body}"
        )
        with socket.create_connection((host.hostname, host.port), timeout=10) as connection:
            connection.sendall(request.encode("latin-1"))
            assert connection.makefile("rb").readline().split()[1] == str(expected).encode()


@pytest.mark.parametrize(
    "value", ["plain", "ключ", " padded ", "", "a\nb", "=?base64?x?=", "tab\tinside", "=?base64?="]
)
def test_header_values_go_there_and_back(value: str) -> None:
    encoded = header_values.encode(value)
    assert header_values.decode(f"  {encoded}\t") == value
    assert encoded.isascii()
    assert encoded.isprintable() or value == "tab\tinside"


def test_answers_take_the_form_that_is_asked_for(client: Client) -> None:
    kinds = []
    for accept in ("application/json, text/event-stream", "text/event-stream", "application/json", "*/*"):
        response = client.post("server/discover", {}, headers={"Accept": accept})
        assert message(response)["result"]["resultType"] == "complete"
        kinds.append(response.headers["content-type"])
    assert kinds == ["application/json", "text/event-stream", "application/json", "application/json"]


def test_streams_end_with_the_answer_and_are_not_buffered() -> None:
    with start_server(MemoryTaskStore, options=HarnessOptions(answers="sse")) as handle:
        client = Client(handle.url)
        response = client.post("tools/call", {"name": "greet", "arguments": {"name": "x\n\u2028y"}}, name="greet")
        assert response.headers["content-type"] == "text/event-stream"
        assert response.headers["x-accel-buffering"] == "no"
        data = [line for line in response.content.split(b"\n") if line.startswith(b"data: ")]
        assert json.loads(data[0][6:])["result"]["content"][0]["text"] == "Hello, x\n\u2028y!"
        assert client.post("server/discover", {}, headers={"Accept": "application/json"}).json()["result"]
        unknown = client.post("tasks/get", {"taskId": "x"}, name="x")
        assert unknown.headers["content-type"] == "text/event-stream"
        assert message(unknown)["error"]["code"] == -32602


def test_a_client_that_leaves_takes_its_call_with_it_but_no_task(client: Client) -> None:
    task_id = client.tool("slow_compute", {"seconds": 3000})["taskId"]
    leaving = Client(client.url)
    leaving.http.timeout = httpx.Timeout(0.2)
    with pytest.raises(httpx.TimeoutException):
        leaving.tool("slow_compute", {"seconds": 3000}, capabilities={})
    leaving.http.close()
    assert client.task("get", task_id)["status"] == "working"
    client.task("cancel", task_id)


def test_what_is_no_store_is_said_in_one_line() -> None:
    class Half:
        def create_task(self) -> None: ...

    def broken() -> None:
        raise RuntimeError("no database")

    for store, kind, part in ((Half, UsageError, "lacks get_task"), (broken, TargetUnusableError, "no database")):
        with pytest.raises(kind, match=part) as caught:
            start_server(store)
        assert "\n" not in str(caught.value)


def test_a_port_in_use_is_said_in_one_line(handle: ServerHandle) -> None:
    port = urlsplit(handle.url).port
    assert port is not None
    with pytest.raises(UsageError, match="cannot listen"):
        start_server(MemoryTaskStore, port=port)


def test_closing_frees_the_port_and_closes_the_store_once() -> None:
    closed = []

    class Closing(MemoryTaskStore):
        async def close(self) -> None:
            closed.append(self)
            await super().close()

    handle = start_server(Closing)
    client = Client(handle.url)
    client.tool("slow_compute", {"seconds": 3000})
    handle.close()
    handle.close()
    assert len(closed) == 1
    with pytest.raises(httpx.ConnectError):
        client.http.post(handle.url)


def test_serving_in_the_foreground_ends_without_a_word() -> None:
    program = (
        "from mcptasks.fixtures.server import serve\n"
        "from mcptasks.fixtures.stores import MemoryTaskStore\n"
        "serve(MemoryTaskStore, on_ready=lambda url: print(url, flush=True))\n"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", program], stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        client = Client(process.stdout.readline().strip())
        assert client.open()
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=20)
    assert (process.returncode, out, error) == (0, "", "")


def test_a_store_that_does_not_open_ends_serving() -> None:
    with pytest.raises(UsageError, match="lacks"):
        serve(object)
