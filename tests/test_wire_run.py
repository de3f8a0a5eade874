"""Whole runs against servers: exit codes, verdicts, what is told."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
import uvicorn
from wire_servers import always, raw_server, response, result

from mcptasks.conformance.engine.budget import Budget
from mcptasks.conformance.engine.settings import Settings
from mcptasks.conformance.events import Event, FindingReported, Note, TargetFinished, TargetStarted
from mcptasks.conformance.runner.run import Target, run_targets
from mcptasks.conformance.runner.supervisor import RunOptions
from mcptasks.conformance.wire.spec import ServerSpec
from mcptasks.fixtures.server import HarnessOptions, start_server
from mcptasks.fixtures.server_2025 import start_server as start_server25
from mcptasks.fixtures.stores.memory import MemoryTaskStore
from mcptasks.fixtures.stores.memory_2025 import MemoryTaskStore2025

TASKS = "io.modelcontextprotocol/tasks"
DISCOVERY = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}, "extensions": {TASKS: {}}},
    "ttlMs": 0,
    "cacheScope": "private",
}


class Run:
    """What a run said."""

    def __init__(
        self, spec: ServerSpec, requests: int = 400, seed: int = 0, select: tuple[str, ...] = ("*",), **settings: Any
    ) -> None:
        self.events: list[Event] = []
        settings = {"hypothesis": False, "settle": 0.3, **settings}
        options = RunOptions(settings=Settings(seed=seed, budget=Budget(calls=requests), **settings), select=select)
        self.code = run_targets([Target(spec)], options, self.events.append)

    @property
    def finished(self) -> TargetFinished:
        return next(item for item in self.events if isinstance(item, TargetFinished))

    @property
    def verdicts(self) -> dict[str, str]:
        return {item.id: item.verdict for item in self.finished.requirements}

    @property
    def findings(self) -> list[Any]:
        return [item.finding for item in self.events if isinstance(item, FindingReported)]

    @property
    def text(self) -> str:
        return repr(self.events)


@pytest.fixture(scope="module")
def reference() -> Iterator[str]:
    with start_server(MemoryTaskStore) as server:
        yield server.url


def test_the_reference_server_conforms(reference: str) -> None:
    run = Run(ServerSpec(reference), 1600)
    assert run.code == 0, run.findings
    assert not run.findings
    passed = {name for name, verdict in run.verdicts.items() if verdict == "pass"}
    assert {
        "tasks.status.terminal-final",
        "tasks.update.right-question",
        "tasks.update.partial-stays",
        "tasks.cancel.isolated",
        "tasks.create.durable",
        "tasks.err.get-unknown",
        "rpc.id-echo",
    } <= passed
    started = next(item for item in run.events if isinstance(item, TargetStarted))
    assert started.target.kind == "server"
    assert started.target.options["profile"] == "control"


def test_the_reference_server_conforms_in_streams() -> None:
    with start_server(MemoryTaskStore, options=HarnessOptions(answers="sse")) as server:
        run = Run(ServerSpec(server.url), 500)
    assert run.code == 0, run.findings
    assert run.verdicts["http.accel-buffering"] == "pass"


def test_the_official_tools_alone_are_driven_too() -> None:
    with start_server(MemoryTaskStore, options=HarnessOptions(control_tools=False, job_delay_s=0.05)) as server:
        run = Run(ServerSpec(server.url))
    assert run.code == 0, run.findings
    notes = [item.message for item in run.events if isinstance(item, Note)]
    assert any("task_open and task_step would add" in text for text in notes)
    assert run.verdicts["tasks.status.error-exact"] == "pass"


def test_equal_seeds_send_equal_requests(reference: str) -> None:
    first, second = Run(ServerSpec(reference), 800, 7), Run(ServerSpec(reference), 800, 7)
    assert first.verdicts == second.verdicts
    assert first.finished.operations == second.finished.operations
    assert first.finished.coverage == second.finished.coverage


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The HTTP methods of all requests that servers get which are started in this test."""
    seen: list[str] = []
    made = uvicorn.Config.__init__

    def counting(self: uvicorn.Config, app: Any, *args: Any, **options: Any) -> None:
        async def counted(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                seen.append(scope["method"])
            await app(scope, receive, send)

        made(self, counted, *args, **options)

    monkeypatch.setattr(uvicorn.Config, "__init__", counting)
    return seen


@pytest.mark.parametrize("most", [3, 41, 150, 608, 750])
def test_max_requests_is_kept(served: list[str], most: int) -> None:
    with start_server(MemoryTaskStore) as server:
        run = Run(ServerSpec(server.url, max_requests=most), 1000)
    assert run.code == 0
    assert most - 50 < run.finished.operations <= len(served) <= most
    assert any(f"--max-requests {most}" in item.message for item in run.events if isinstance(item, Note))


@pytest.mark.parametrize("most", [41, 150, 600])
@pytest.mark.parametrize("revision", ["auto", "2025-11-25"])
def test_max_requests_is_kept_with_sessions_and_streams(
    served: list[str], revision: Literal["auto", "2025-11-25"], most: int
) -> None:
    with start_server25(MemoryTaskStore2025) as server:
        run = Run(ServerSpec(server.url, max_requests=most, revision=revision), 1000)
    assert run.code == 0
    assert most - 50 < len(served) <= most


def test_too_few_requests_say_nothing(reference: str) -> None:
    run = Run(ServerSpec(reference, max_requests=2))
    assert run.code == 4
    assert run.finished.reason == "--max-requests 2 is too small to find out what the server offers"


def test_the_requests_of_probes_are_told_of_and_not_charged_to_the_budget(served: list[str]) -> None:
    with start_server(MemoryTaskStore) as server:
        run = Run(ServerSpec(server.url), 1000)
    assert 1500 < run.finished.operations <= len(served) < run.finished.operations + 10


def test_nothing_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/mcp"
    run = Run(ServerSpec(url))
    assert run.code == 3
    assert run.finished.reason == f"nothing listens at {url}"


def test_a_server_without_tasks_is_inconclusive() -> None:
    plain = {**DISCOVERY, "capabilities": {"tools": {}}}
    with raw_server(always(lambda request: response(result(request, plain)))) as url:
        run = Run(ServerSpec(url))
    assert run.code == 4
    assert "offers no tasks" in run.finished.reason
    assert not run.findings


def test_a_server_without_our_tools_is_inconclusive() -> None:
    def answer(request: dict[str, Any]) -> bytes:
        if request["method"] == "server/discover":
            return response(result(request, DISCOVERY))
        return response(result(request, {"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"}))

    with raw_server(always(answer)) as url:
        run = Run(ServerSpec(url))
    assert run.code == 4
    assert "task_open and task_step" in run.finished.reason


def test_one_answer_to_everything_passes_no_requirement_on_tasks() -> None:
    task = {"taskId": "1", "status": "working", "createdAt": "2026-08-01T10:00:00Z"}
    task |= {"lastUpdatedAt": "2026-08-01T10:00:00Z", "ttlMs": None}
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("task_open", "task_step", "slow_compute")]
    for kind, status in (("task", "working"), ("complete", "completed")):
        own = {"resultType": kind, "status": status}
        same = {**DISCOVERY, **task, **own, "tools": tools, "result": {"content": []}}
        same["structuredContent"] = {"applied": True}
        with raw_server(always(lambda request, same=same: response(result(request, same)))) as url:
            run = Run(ServerSpec(url, settle=0.01), 100)
        assert not [name for name, told in run.verdicts.items() if name.startswith("tasks.") and told == "pass"]


def dying(after: int, spoil: Callable[[dict[str, Any]], dict[str, Any]] | None = None) -> tuple[Run, str]:
    """A run against the harness behind a proxy that breaks down after so many requests."""
    import httpx

    count = 0
    gone = threading.Event()
    with start_server(MemoryTaskStore) as server, httpx.Client() as client:

        def answer(request: dict[str, Any]) -> bytes:
            nonlocal count
            count += 1
            if count > after:
                gone.set()
                raise ConnectionResetError
            headers = {name: value for name, value in request.pop("headers").items() if name != "content-length"}
            told = client.post(server.url, content=json.dumps(request), headers=headers).json()
            if spoil is not None and "result" in told:
                told["result"] = spoil(told["result"])
            return response(json.dumps(told).encode())

        with raw_server(always(answer)) as url:
            # The proxy in between is no perfect HTTP server: only what is said of tasks counts.
            return Run(ServerSpec(url), 3000, select=("tasks.shape.*", "tasks.status.*")), url


def test_a_server_that_dies_is_unusable() -> None:
    run, url = dying(200)
    assert run.code == 3
    assert run.finished.reason == f"{url}: closed the connection without an answer to {_method(run)}"


def _method(run: Run) -> str:
    return run.finished.reason.rpartition(" ")[2]


def test_a_server_that_dies_after_a_finding_is_nonconformant() -> None:
    def spoil(told: dict[str, Any]) -> dict[str, Any]:
        return {**told, "ttlMs": "long"} if "taskId" in told else told

    run, _ = dying(1200, spoil)
    assert run.code == 1
    assert run.verdicts["tasks.shape.ttlms"] == "fail"
    assert "closed the connection" in run.finished.reason


def test_a_finding_is_short_and_comes_with_commands() -> None:
    from mcptasks.fixtures.gallery import fault

    with start_server(fault("complete-overwrites-failed").open_store) as server:
        run = Run(ServerSpec(server.url), 900)
        assert run.code == 1
        finding = next(item for item in run.findings if item.requirement == "tasks.status.terminal-final")
        # A read in between may be what makes the replay name the same requirement.
        names = [item["op"] for item in finding.operations]
        assert [name for name in names[:-1] if name != "get"] == ["create", "fail", "complete"]
        assert names[-1] == "get"
        assert len(names) <= 5
        assert len(finding.curl) == len(names)
        assert "'\"$T1\"'" in finding.curl[-1]
        script = "\n".join(finding.curl)
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=20, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()[1:]]
    assert answers[-1]["result"]["status"] == "completed"


def test_secrets_reach_the_server_and_no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    secret, other = "s3cret-token-value", "literal-token-value"
    monkeypatch.setenv("MCPTASKS_TEST_TOKEN", secret)
    seen: set[str] = set()

    def answer(request: dict[str, Any]) -> bytes:
        seen.add(request["headers"]["authorization"] + request["headers"]["x-own"])
        told = f"denied for {secret} and {other}"
        error = {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32001, "message": told}}
        return response(json.dumps(error).encode(), "400 Bad Request")

    with raw_server(always(answer)) as url:
        query = url.replace("http://", "http://user:pass-word@") + "?key=query-secret"
        run = Run(ServerSpec.named(query, ["Authorization: Bearer env:MCPTASKS_TEST_TOKEN", f"X-Own: {other}"]))
    assert seen == {f"Bearer {secret}{other}"}
    assert run.code == 3
    assert "denied for <redacted> and <redacted>" in run.finished.reason
    for text in (secret, other, "pass-word", "query-secret"):
        assert text not in run.text


def test_a_server_is_started_first_and_ended_afterwards(tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    code = (
        f"import os; open({str(marker)!r}, 'w').write(str(os.getpid()));"
        "from mcptasks.fixtures.server import serve;"
        "from mcptasks.fixtures.stores.memory import MemoryTaskStore;"
        "serve(MemoryTaskStore, on_ready=lambda url: print('at', url, flush=True))"
    )
    run = Run(ServerSpec(start=f'{sys.executable} -c "{code}"'), 120)
    assert run.code == 0, run.finished.reason
    with pytest.raises(ProcessLookupError):
        os.kill(int(marker.read_text()), signal.SIG_DFL)


@pytest.mark.parametrize(
    ("command", "expected"),
    [("/no/such/program", "cannot run"), (f"{sys.executable} -c 'print(5)'", "ended with exit code 0: 5")],
)
def test_a_server_that_cannot_be_started(command: str, expected: str) -> None:
    from mcptasks.conformance.errors import UsageError

    events: list[Event] = []
    told: list[str] = []
    try:
        run_targets([Target(ServerSpec(start=command))], RunOptions(), events.append)
    except UsageError as error:
        told.append(str(error))
    told += [item.reason for item in events if isinstance(item, TargetFinished)]
    assert expected in told[0]


def test_a_finding_is_replayed_from_its_file(tmp_path: Path) -> None:
    from mcptasks.conformance.cli.entry import main
    from mcptasks.conformance.server_api import check_server
    from mcptasks.fixtures.gallery import fault

    select = "tasks.status.terminal-final"
    with start_server(fault("complete-overwrites-failed").open_store) as server:
        report = check_server(server.url, budget=600, select=select, settle=0.3, report_dir=tmp_path)
        assert report.outcome == "nonconformant"
        replay = tmp_path / str(json.loads((tmp_path / "report.json").read_text())["findings"][0]["replay"])
        assert main(["replay", str(replay)]) == 1
    with start_server(MemoryTaskStore) as server:
        assert main(["replay", str(replay), "--url", server.url]) == 0
