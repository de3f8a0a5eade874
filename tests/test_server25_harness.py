"""The harness of 2025-11-25: the life of a task as a client sees it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from harness_client25 import ACCEPT, ASK, DONE, RELATED, Client25, RefusedError

from mcptasks.fixtures.server.running import ServerHandle
from mcptasks.fixtures.server_2025 import HarnessOptions25, start_server
from mcptasks.fixtures.stores.memory_2025 import MemoryTaskStore2025

SAMPLE = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}}
UNKNOWN = -32602


@pytest.fixture(scope="module")
def server() -> Iterator[ServerHandle]:
    with start_server(MemoryTaskStore2025, options=HarnessOptions25(job_delay_s=0.02)) as handle:
        yield handle


@pytest.fixture
def client(server: ServerHandle) -> Client25:
    return Client25(server.url)


@contextmanager
def refused(code: int) -> Iterator[None]:
    with pytest.raises(RefusedError) as caught:
        yield
    assert caught.value.code == code


def related(message: dict[str, object]) -> object:
    carrier = message.get("result", message.get("params"))
    assert isinstance(carrier, dict)
    return carrier["_meta"][RELATED]


def test_initialize_declares_tasks(client: Client25) -> None:
    assert client.server["protocolVersion"] == "2025-11-25"
    assert client.server["capabilities"]["tasks"] == {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
    assert client.result("ping") == {}
    support = {
        tool["name"]: tool.get("execution", {}).get("taskSupport") for tool in client.result("tools/list")["tools"]
    }
    assert support["task_open"] == "required"
    assert support["task_open_optional"] == "optional"
    assert support["task_step"] == "forbidden"
    assert support["greet"] is None


def test_a_task_is_opened_completed_and_its_result_read_again(client: Client25) -> None:
    task = client.open(task={"ttl": 60000})
    assert task["status"] == "working"
    assert task["ttl"] == 60000
    assert client.get(task["taskId"])["status"] == "working"
    assert client.step(task["taskId"], "complete", result=DONE)["applied"]
    assert client.get(task["taskId"])["status"] == "completed"
    result = client.outcome(task["taskId"])
    assert result == {**DONE, "_meta": {RELATED: {"taskId": task["taskId"]}}}
    assert client.outcome(task["taskId"]) == result
    assert not client.step(task["taskId"], "complete", result=DONE)["applied"]


def test_a_tool_error_and_an_error_fail_a_task(client: Client25) -> None:
    reported = client.open()["taskId"]
    client.step(reported, "complete", result={**DONE, "isError": True})
    assert client.get(reported)["status"] == "failed"
    assert client.get(reported)["statusMessage"] == "done"
    assert client.outcome(reported)["isError"] is True
    broken = client.open()["taskId"]
    client.step(broken, "fail", error={"code": -32099, "message": "no", "data": [1]})
    assert client.get(broken)["status"] == "failed"
    with pytest.raises(RefusedError) as caught:
        client.outcome(broken)
    assert caught.value.error == {"code": -32099, "message": "no", "data": [1]}


def test_waiters_are_asked_on_one_stream_and_all_get_the_result(client: Client25) -> None:
    task = client.open()["taskId"]
    params = {"taskId": task}
    with client.background("tasks/result", params) as first:
        assert first.status.get(timeout=10) == 200
        with client.background("tasks/result", params) as second:
            assert second.status.get(timeout=10) == 200
            assert second.quiet()
            client.step(task, "request_input", requests={"a": ASK, "b": SAMPLE})
            assert client.get(task)["status"] == "input_required"
            a, b = first.next("elicitation/create"), first.next("sampling/createMessage")
            assert second.quiet()
            assert related(a) == related(b) == params
            assert client.respond(b, {"role": "assistant"}).status_code == 202
            assert client.get(task)["status"] == "input_required"
            assert client.respond(a).content == b""
            assert client.get(task)["status"] == "working"
            answers = client.step(task, "complete", result=DONE)["answers"]
            assert answers == {"a": ACCEPT, "b": {"role": "assistant"}}
            assert related(first.next("response")) == params
            assert related(second.next("response")) == params


def test_questions_are_held_until_a_stream_is_there_and_asked_again_when_it_goes(client: Client25) -> None:
    task = client.open()["taskId"]
    client.step(task, "request_input", requests={"a": ASK})
    with client.background("tasks/result", {"taskId": task}) as waiter:
        first = waiter.next("elicitation/create")
    client.get(task)
    with client.stream() as stream:
        again = stream.next("elicitation/create")
        assert again["id"] != first["id"]
        client.respond(again, code=-1, message="no")
        assert stream.next("notifications/tasks/status")["params"]["status"] == "working"
    assert client.step(task, "complete", result=DONE)["answers"] == {"a": {"error": {"code": -1, "message": "no"}}}


def test_cancel(client: Client25) -> None:
    task = client.open()["taskId"]
    with client.background("tasks/result", {"taskId": task}) as waiter:
        waiter.status.get(timeout=10)
        assert client.cancel(task)["status"] == "cancelled"
        assert "error" in waiter.next("response")
    with refused(UNKNOWN):
        client.cancel(task)
    assert client.get(task)["status"] == "cancelled"
    assert not client.step(task, "complete", result=DONE)["applied"]


def test_who_waits_for_a_task_that_expires_is_told(client: Client25) -> None:
    task = client.open(task={"ttl": 300})["taskId"]
    with refused(UNKNOWN):
        client.outcome(task)


def test_unknown_ids_and_foreign_sessions(client: Client25, server: ServerHandle) -> None:
    other = Client25(server.url)
    task = client.open()["taskId"]
    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        with refused(UNKNOWN):
            client.result(method, {"taskId": "nothing"})
        with refused(UNKNOWN):
            other.result(method, {"taskId": task})
        with refused(UNKNOWN):
            client.result(method, {})
    assert other.result("tasks/list") == {"tasks": []}
    assert not other.step(task, "complete", result=DONE)["applied"]


def test_callers_share_their_tasks_over_sessions(server: ServerHandle) -> None:
    mine = {"Authorization": "Bearer me"}
    task = Client25(server.url, headers=mine).open()["taskId"]
    again = Client25(server.url, headers=mine)
    assert again.get(task)["status"] == "working"
    assert [one["taskId"] for one in again.result("tasks/list")["tasks"]] == [task]
    with refused(UNKNOWN):
        Client25(server.url, headers={"Authorization": "Bearer you"}).get(task)


def test_tools_are_called_as_they_say(client: Client25) -> None:
    for name, more in (("task_open", {}), ("task_step", {"task": {}}), ("greet", {"task": {}})):
        with refused(-32601):
            client.call(name, **more)
    assert client.call("task_open_optional")["content"]
    assert client.open("task_open_optional")["status"] == "working"
    with refused(-32602):
        client.call("nothing")
    with refused(-32602):
        client.call("task_open", task={"ttl": -1})


def test_the_list_is_walked_page_by_page(server: ServerHandle) -> None:
    client = Client25(server.url)
    made = [client.open()["taskId"] for _ in range(53)]
    page = client.result("tasks/list")
    rest = client.result("tasks/list", {"cursor": page["nextCursor"]})
    assert [task["taskId"] for task in (*page["tasks"], *rest["tasks"])] == made
    assert "nextCursor" not in rest
    with refused(UNKNOWN):
        client.result("tasks/list", {"cursor": "nonsense"})


def test_tools_whose_tasks_move_by_themselves(client: Client25) -> None:
    task = client.open("slow_compute", _meta={"progressToken": "p"})["taskId"]
    assert client.outcome(task)["content"]
    failing = client.open("failing_job")["taskId"]
    assert client.outcome(failing)["isError"]
    with refused(-32603):
        client.outcome(client.open("protocol_error_job")["taskId"])
    asking = client.open("multi_input")["taskId"]
    with client.background("tasks/result", {"taskId": asking}) as waiter:
        for _ in range(2):
            client.respond(waiter.next("elicitation/create"))
        assert waiter.next("response")["result"]["structuredContent"]["answers"] == {"name": ACCEPT, "confirm": ACCEPT}


def test_progress_has_the_token_of_the_call_and_ends_with_the_task(client: Client25) -> None:
    task = client.open(_meta={"progressToken": 7})["taskId"]
    with client.background("tasks/result", {"taskId": task}) as waiter:
        waiter.status.get(timeout=10)
        client.step(task, "request_input", requests={"a": ASK})
        first = waiter.next("notifications/progress")
        client.respond(waiter.next("elicitation/create"))
        second = waiter.next("notifications/progress")
        client.step(task, "complete", result=DONE)
        assert first["params"]["progressToken"] == second["params"]["progressToken"] == 7
        assert first["params"]["progress"] < second["params"]["progress"]
        assert related(first) == {"taskId": task}
        left = [waiter.next() for _ in range(3)]
        assert [one.get("method", "response") for one in left] == [
            "notifications/progress",
            "notifications/tasks/status",
            "response",
        ]


def test_a_client_is_only_asked_what_it_declared(server: ServerHandle) -> None:
    client = Client25(server.url, capabilities={"elicitation": {}})
    task = client.open()["taskId"]
    step = {"action": "request_input", "requests": {"a": SAMPLE}}
    assert client.call("task_step", {"taskId": task, "step": step})["isError"]
    assert client.get(task)["status"] == "working"
