"""The harness's subscriptions: what they agree to, what they tell, and how they end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from harness_client import ALL, Client, RefusedError, meta

from mcptasks.fixtures.server import HarnessOptions, ServerHandle, start_server
from mcptasks.fixtures.stores import MemoryTaskStore

RESULT = {"content": [{"type": "text", "text": "done"}]}


@pytest.fixture(scope="module")
def handle() -> Iterator[ServerHandle]:
    with start_server(MemoryTaskStore, options=HarnessOptions(end_subscriptions=False)) as server:
        yield server


@contextmanager
def listening(
    url: str, notifications: Any, *, id_: Any = 1, capabilities: Any = ALL, accept: str = "*/*"
) -> Iterator[tuple[httpx.Response, Iterator[Any]]]:
    """An open subscription: its response, and its messages as they come."""
    params = {"notifications": notifications, "_meta": meta(capabilities)}
    body = {"jsonrpc": "2.0", "id": id_, "method": "subscriptions/listen", "params": params}
    with httpx.Client(timeout=10) as http:
        headers = Client(url).headers("subscriptions/listen", None) | {"Accept": accept}
        with http.stream("POST", url, json=body, headers=headers) as response:
            yield response, (json.loads(line[6:]) for line in response.iter_lines() if line.startswith("data: "))


def told(message: Any) -> tuple[str, str | None]:
    return message["method"], message["params"].get("status")


@pytest.mark.parametrize("id_", [7, "seven", ""])
def test_everything_carries_the_id_of_the_request(handle: ServerHandle, id_: Any) -> None:
    client = Client(handle.url)
    task_id = client.open()
    with listening(handle.url, {"taskIds": [task_id]}, id_=id_) as (_, messages):
        for _ in range(2):
            found = next(messages)["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
            assert found == id_
            assert type(found) is type(id_)


def test_a_task_is_told_as_it_is_read(handle: ServerHandle) -> None:
    client = Client(handle.url)
    task_id, other = client.open(), client.open()
    with listening(handle.url, {"taskIds": [task_id, "no-such", task_id], "toolsListChanged": True}) as (_, messages):
        acknowledged = next(messages)
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        assert acknowledged["params"]["notifications"] == {"taskIds": [task_id]}
        assert told(next(messages)) == ("notifications/tasks", "working")
        client.step(other, "complete", result=RESULT)
        client.task("update", task_id, inputResponses={"never-asked": {"action": "decline"}})  # changes nothing
        client.step(task_id, "complete", result=RESULT)
        last = next(messages)
        assert told(last) == ("notifications/tasks", "completed")
        shown = client.task("get", task_id)
    drop = ("_meta", "resultType")
    assert {key: item for key, item in last["params"].items() if key not in drop} == {
        key: item for key, item in shown.items() if key not in drop
    }


def test_a_subscription_ends_with_its_tasks() -> None:
    with start_server(MemoryTaskStore) as server:
        client = Client(server.url)
        first, second = client.open(), client.open()
        with listening(server.url, {"taskIds": [first, second]}) as (_, messages):
            client.task("cancel", first)
            client.step(second, "fail", error={"code": 1, "message": "no"})
            *before, end = messages
    assert {told(message) for message in before} >= {
        ("notifications/tasks", "cancelled"),
        ("notifications/tasks", "failed"),
    }
    assert end["id"] == 1
    assert end["result"]["resultType"] == "complete"
    assert end["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == 1


def test_a_server_that_stops_ends_its_subscriptions() -> None:
    with start_server(MemoryTaskStore) as server:
        task_id = Client(server.url).open()
        with listening(server.url, {"taskIds": [task_id]}) as (_, messages):
            next(messages)
            server.close()
            *_, end = messages
    assert "result" in end


def test_a_client_that_goes_leaves_nothing_behind(handle: ServerHandle) -> None:
    client = Client(handle.url)
    task_id = client.open()
    with listening(handle.url, {"taskIds": [task_id]}) as (_, messages):
        next(messages)
    assert client.task("get", task_id)["status"] == "working"
    assert client.step(task_id, "complete", result=RESULT)["applied"] is True


def test_what_it_is_refused_for(handle: ServerHandle) -> None:
    client = Client(handle.url)
    task_id = client.open()

    def refused(notifications: Any, capabilities: Any = ALL) -> tuple[int, int]:
        with pytest.raises(RefusedError) as caught:
            client.result("subscriptions/listen", {"notifications": notifications}, capabilities=capabilities)
        return caught.value.code, caught.value.status

    assert refused({"taskIds": [task_id]}, {}) == (-32021, 400)
    assert refused({"taskIds": task_id}) == (-32602, 400)
    assert refused([]) == (-32602, 400)
    with listening(handle.url, {}, capabilities={}) as (_, messages):  # nothing of the extension is asked for
        assert next(messages)["params"]["notifications"] == {}
    with listening(handle.url, {}, accept="application/json") as (response, _):
        assert response.status_code == 406


def test_notifications_can_be_switched_off() -> None:
    with start_server(MemoryTaskStore, options=HarnessOptions(notifications=False)) as server:
        with pytest.raises(RefusedError) as caught:
            Client(server.url).result("subscriptions/listen", {"notifications": {}})
        assert (caught.value.code, caught.value.status) == (-32601, 404)
