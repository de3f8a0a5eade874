"""The harness as a lawful server, over each reference store: tools, tasks, gating."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness_client import ALL, ASK, TASKS, Client, RefusedError
from pydantic import TypeAdapter

from mcptasks.conformance.targets.store import StoreOptions
from mcptasks.conformance.wire import messages, names
from mcptasks.fixtures.server import HarnessOptions, start_server
from mcptasks.fixtures.stores import MemoryTaskStore, SqliteTaskStore, ThreadSafeTaskStore

DETAILED: TypeAdapter[Any] = TypeAdapter(messages.DetailedTask)
ANSWER = {"action": "accept", "content": {"a": "b"}}
UNKNOWN = "no-such-task"


@pytest.fixture(scope="module", params=[MemoryTaskStore, ThreadSafeTaskStore, SqliteTaskStore])
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    with start_server(request.param, options=HarnessOptions(job_delay_s=0.01)) as handle:
        yield Client(handle.url)


def refused(client: Client, code: int, *arguments: Any, **options: Any) -> RefusedError:
    with pytest.raises(RefusedError) as failure:
        client.result(*arguments, **options)
    assert failure.value.code == code
    return failure.value


def test_discover_and_tools_are_of_their_models(client: Client) -> None:
    discovered = client.result("server/discover", {}, capabilities={})
    messages.DiscoverResult.model_validate(discovered)
    assert discovered["capabilities"]["extensions"] == {names.TASKS_EXTENSION: {}}
    assert "tasks" not in discovered["capabilities"]
    assert discovered["_meta"][names.SERVER_INFO]["name"]
    listed = client.result("tools/list", {})
    messages.ListToolsResult.model_validate(listed)
    assert [tool["name"] for tool in listed["tools"]] == [
        "greet",
        "slow_compute",
        "failing_job",
        "protocol_error_job",
        "confirm_delete",
        "multi_input",
        "test_tool_with_task",
        "task_open",
        "task_step",
    ]
    refused(client, -32602, "tools/list", {"cursor": "x"})


def test_the_control_tools_lead_a_task_through_its_life(client: Client) -> None:
    created = client.tool("task_open")
    messages.CreateTaskResult.model_validate(created)
    assert not {"result", "error", "inputRequests"} & created.keys()
    task_id = created["taskId"]
    got = client.task("get", task_id)
    DETAILED.validate_python(got)
    assert (got["resultType"], got["taskId"], got["status"]) == ("complete", task_id, "working")

    assert client.step(task_id, "request_input", requests={"k": ASK, "l": ASK}) == {"applied": True, "answers": {}}
    waiting = client.task("get", task_id)
    DETAILED.validate_python(waiting)
    assert waiting["inputRequests"] == {"k": ASK, "l": ASK}

    for responses in ({"k": ANSWER}, {"k": {"action": "cancel"}, "other": ANSWER}):
        ack = client.task("update", task_id, inputResponses=responses)
        messages.Ack.model_validate(ack)
        assert ack.keys() == {"resultType", "_meta"}
        assert list(client.task("get", task_id)["inputRequests"]) == ["l"]
    client.task("update", task_id, inputResponses={"l": ANSWER})
    assert client.until(task_id, "working")["status"] == "working"

    result = {"content": [{"type": "text", "text": "Grüße 🎉"}], "structuredContent": {"n": 1.5}, "x": [None]}
    applied = client.step(task_id, "complete", result=result)
    assert applied == {"applied": True, "answers": {"k": ANSWER, "l": ANSWER}}
    done = client.task("get", task_id)
    DETAILED.validate_python(done)
    assert (done["status"], done["result"]) == ("completed", result)
    assert "inputRequests" not in done


def test_a_finished_task_stays_as_it_is(client: Client) -> None:
    error = {"code": -5, "message": "no", "data": {"why": [1]}}
    task_id = client.open()
    assert client.step(task_id, "fail", error=error)["applied"] is True
    before = client.task("get", task_id)
    DETAILED.validate_python(before)
    assert (before["status"], before["error"], before["statusMessage"]) == ("failed", error, "no")
    assert client.step(task_id, "complete", result={"content": []})["applied"] is False
    assert client.step(task_id, "request_input", requests={"k": ASK})["applied"] is False
    for _ in range(2):
        messages.Ack.model_validate(client.task("cancel", task_id))
    messages.Ack.model_validate(client.task("update", task_id, inputResponses={"k": ANSWER}))
    assert client.task("get", task_id) == before


def test_cancel_ends_a_live_task_and_no_other(client: Client) -> None:
    task_id, other = client.open(), client.open()
    client.step(task_id, "request_input", requests={"k": ASK})
    ack = client.task("cancel", task_id)
    assert ack.keys() == {"resultType", "_meta"}
    cancelled = client.task("get", task_id)
    DETAILED.validate_python(cancelled)
    assert cancelled["status"] == "cancelled"
    assert "inputRequests" not in cancelled
    assert client.task("get", other)["status"] == "working"


def test_an_unknown_task_is_refused_and_never_made(client: Client) -> None:
    for method, params in (("get", {}), ("cancel", {}), ("update", {"inputResponses": {"k": ANSWER}})):
        with pytest.raises(RefusedError) as failure:
            client.task(method, UNKNOWN, **params)
        assert failure.value.code == -32602
    assert client.step(UNKNOWN, "complete", result={"content": []}) == {"applied": False}
    with pytest.raises(RefusedError):
        client.task("get", UNKNOWN)


@pytest.mark.parametrize(
    ("capabilities", "code"),
    [
        ({}, -32021),
        ({"extensions": {}}, -32021),
        ({"tasks": {"requests": {}}}, -32021),
        ({"extensions": {"other/tasks": {}}}, -32021),
        ({"extensions": {names.TASKS_EXTENSION: True}}, -32602),
        ({"extensions": [names.TASKS_EXTENSION]}, -32602),
    ],
)
def test_clients_that_do_not_declare_tasks_get_and_change_nothing(client: Client, capabilities: Any, code: int) -> None:
    live, ended = client.open(), client.open()
    client.step(live, "request_input", requests={"k": ASK})
    client.step(ended, "complete", result={"content": []})
    for task_id in (live, ended, UNKNOWN):
        for method, params in (("get", {}), ("cancel", {}), ("update", {"inputResponses": {"k": ANSWER}})):
            with pytest.raises(RefusedError) as failure:
                client.task(method, task_id, capabilities=capabilities, **params)
            assert (failure.value.code, failure.value.status) == (code, 400)
            if code == -32021:
                assert failure.value.error["data"] == {"requiredCapabilities": TASKS}
    assert list(client.task("get", live)["inputRequests"]) == ["k"]
    client.task("cancel", live)


def test_tools_that_need_tasks_or_forms_say_so(client: Client) -> None:
    for tool, declared, required in (
        ("task_open", {}, TASKS),
        ("failing_job", {}, TASKS),
        ("confirm_delete", {}, {**TASKS, "elicitation": {}}),
        ("multi_input", TASKS, {"elicitation": {}}),
        ("multi_input", {**TASKS, "elicitation": {"url": {}}}, {"elicitation": {}}),
        ("test_tool_with_task", {"elicitation": {}}, TASKS),
    ):
        failure = refused(
            client, -32021, "tools/call", {"name": tool, "arguments": {}}, name=tool, capabilities=declared
        )
        assert failure.error["data"]["requiredCapabilities"] == required
    assert client.tool("task_step", {"taskId": "x", "step": {"action": "complete", "result": {"content": []}}})


def test_a_tool_says_the_same_as_a_task_and_without(client: Client) -> None:
    alone = client.tool("slow_compute", {"seconds": 0, "label": "x"}, capabilities={})
    messages.CallToolResult.model_validate(alone)
    task = client.until(client.tool("slow_compute", {"seconds": 0, "label": "x"})["taskId"], "completed")
    assert task["result"] == {key: value for key, value in alone.items() if key != "_meta"}

    failure = refused(
        client, -32603, "tools/call", {"name": "protocol_error_job"}, name="protocol_error_job", capabilities={}
    )
    failed = client.until(client.tool("protocol_error_job")["taskId"], "failed")
    assert failed["error"] == failure.error


def test_the_other_official_tools(client: Client) -> None:
    assert client.tool("greet", {"name": "World"})["content"] == [{"type": "text", "text": "Hello, World!"}]
    assert client.tool("greet", {})["isError"] is True
    assert client.tool("greet", {"name": "x"}, params={"task": {"ttl": 1}})["resultType"] == "complete"
    ended = client.until(client.tool("failing_job")["taskId"], "completed")
    assert ended["result"]["isError"] is True
    late = client.tool("slow_compute", {"seconds": 60})["taskId"]
    client.task("cancel", late)
    assert client.task("get", late)["status"] == "cancelled"
    for bad in (-1, "1", True, 10**9):
        assert client.tool("slow_compute", {"seconds": bad})["isError"] is True


def test_questions_are_asked_again_under_a_new_key_until_the_answer_can_be_read(client: Client) -> None:
    task_id = client.tool("confirm_delete", {"filename": "f"})["taskId"]
    (first,) = client.until(task_id, "input_required")["inputRequests"]
    client.task("update", task_id, inputResponses={first: {"nonsense": 1}})
    (second,) = client.until(task_id, "input_required")["inputRequests"]
    assert second != first
    client.task("update", task_id, inputResponses={second: {"action": "accept", "content": {"confirm": True}}})
    assert client.until(task_id, "completed")["result"]["content"][0]["text"] == "deleted f"


def test_each_question_gets_its_own_answer(client: Client) -> None:
    task_id = client.tool("multi_input")["taskId"]
    keys = list(client.until(task_id, "input_required")["inputRequests"])
    answers = {key: {"action": "accept", "content": {"name": key, "confirm": True}} for key in keys}
    for key in reversed(keys):
        client.task("update", task_id, inputResponses={key: answers[key]})
    assert client.until(task_id, "completed")["result"]["structuredContent"] == {"answers": answers}


def test_input_before_the_task_comes_by_multi_round_trip(client: Client) -> None:
    asked = client.tool("test_tool_with_task")
    messages.InputRequiredResult.model_validate(asked)
    assert "taskId" not in asked
    answer = {"action": "accept", "content": {"name": "Ada"}}
    created = client.tool("test_tool_with_task", params={"inputResponses": {"user_name": answer, "extra": answer}})
    assert created["resultType"] == "task"
    assert "Ada" in client.until(created["taskId"], "completed")["result"]["content"][0]["text"]
    again = client.tool("test_tool_with_task", params={"inputResponses": {"extra": answer}})
    assert again["resultType"] == "input_required"
    bad = {"name": "test_tool_with_task", "inputResponses": {"user_name": {"action": "maybe"}}}
    refused(client, -32602, "tools/call", bad, name="test_tool_with_task")


def test_a_malformed_step_is_a_tool_error_and_changes_nothing(client: Client) -> None:
    task_id = client.open()
    for step in (
        {"action": "explode"},
        {"action": "complete", "result": {"content": "text"}},
        {"action": "complete", "result": {"content": [], "resultType": "task"}},
        {"action": "fail", "error": {"code": "1", "message": "x"}},
        {"action": "request_input", "requests": {"k": {"method": "tools/call"}}},
        {"action": "request_input", "requests": [ASK]},
    ):
        answer = client.tool("task_step", {"taskId": task_id, "step": step})
        messages.CallToolResult.model_validate(answer)
        assert answer["isError"] is True
    assert client.task("get", task_id)["status"] == "working"


def test_switches(tmp_path: Path) -> None:
    options = HarnessOptions(
        official_tools=False, poll_interval_ms=7, path="/other", store=StoreOptions(ttl=True, default_ttl_ms=60_000)
    )
    with start_server(SqliteTaskStore, options=options) as handle:
        assert handle.url.endswith("/other")
        client = Client(handle.url)
        created = client.tool("task_open")
        assert (created["ttlMs"], created["pollIntervalMs"]) == (60_000, 7)
        assert len(client.result("tools/list", {})["tools"]) == 2
        refused(client, -32602, "tools/call", {"name": "greet"}, name="greet", capabilities=ALL)


def test_a_served_store_expires_by_the_injected_clock() -> None:
    options = HarnessOptions(store=StoreOptions(clock=True, ttl=True, default_ttl_ms=1000))
    with start_server(MemoryTaskStore, options=options) as handle:
        client = Client(handle.url)
        task_id = client.open()
        assert handle.clock is not None
        handle.clock.advance(999)
        assert client.task("get", task_id)["status"] == "working"
        handle.clock.advance(2)
        with pytest.raises(RefusedError) as failure:
            client.task("get", task_id)
        assert failure.value.code == -32602


def test_two_servers_on_one_store_know_the_same_tasks() -> None:
    shared = MemoryTaskStore()

    class View:
        """The shared store, which each server opens and closes as its own."""

        def __getattr__(self, name: str) -> Any:
            if name == "close":
                raise AttributeError(name)
            return getattr(shared, name)

    with start_server(View) as one, start_server(View) as two:
        here, there = Client(one.url), Client(two.url)
        task_id = here.open()
        assert there.task("get", task_id)["status"] == "working"
        assert there.step(task_id, "request_input", requests={"k": ASK})["applied"] is True
        here.task("update", task_id, inputResponses={"k": ANSWER})
        # Who asked was the code behind the second server; the first one has heard of no question.
        assert there.step(task_id, "request_input", requests={"l": ASK})["answers"] == {"k": ANSWER}
        assert here.step(task_id, "complete", result={"content": []}) == {"applied": True}
        assert there.task("get", task_id)["status"] == "completed"
