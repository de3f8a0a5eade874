"""Campaigns on servers of 2025-11-25: sound ones are not accused, what is found is replayed, lost sessions are renewed."""

from __future__ import annotations

import asyncio
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from wire_campaigns import campaign, findings

from mcptasks.conformance import check_server
from mcptasks.conformance.catalogue import load_catalogue
from mcptasks.conformance.cli import main
from mcptasks.conformance.engine.beat import Beat
from mcptasks.conformance.engine.expand import is_2025, with_reads
from mcptasks.conformance.engine.settings import Settings
from mcptasks.conformance.engine.wire25_scenarios import control_scenarios, tool_scenarios
from mcptasks.conformance.engine.wire_tools import Tool, ToolProfile
from mcptasks.conformance.errors import UsageError
from mcptasks.conformance.runner.job import Job
from mcptasks.conformance.runner.server_job import ServerWork
from mcptasks.conformance.wire.spec import ServerSpec
from mcptasks.fixtures.gallery.registry import Fault
from mcptasks.fixtures.server.running import ServerHandle
from mcptasks.fixtures.server_2025 import HarnessOptions25, start_server
from mcptasks.fixtures.stores.memory_2025 import MemoryTaskStore2025
from mcptasks.strategies.operations import Get, sequence_from_json, sequence_to_json

QUICK = HarnessOptions25(job_delay_s=0.05)
MAPPING: dict[str, dict[str, Any]] = {
    "completes": {"name": "slow_compute", "arguments": {"seconds": 0.05}},
    "tool_error": {"name": "failing_job", "arguments": {}},
    "fails": {"name": "protocol_error_job", "arguments": {}},
    "asks": {"name": "confirm_delete", "arguments": {"filename": "x"}},
    "asks_more": {"name": "multi_input", "arguments": {}},
    "runs_long": {"name": "slow_compute", "arguments": {"seconds": 30}},
    "plain": {"name": "greet", "arguments": {"name": "x"}},
}


@pytest.fixture(scope="module")
def server() -> Iterator[ServerHandle]:
    with start_server(MemoryTaskStore2025, options=QUICK) as handle:
        yield handle


def replayed(spec: ServerSpec, operations: list[Any]) -> Any:
    """The breach that a replay shows, if any."""
    out: list[Any] = []
    loop = asyncio.new_event_loop()
    with tempfile.TemporaryDirectory() as folder:
        beat = Beat(Path(folder) / "beat", create=True)
        work = ServerWork(Job("replay", spec, Settings(timeout=4.0), operations=operations), out.append, beat)
        try:
            assert loop.run_until_complete(work.open()) is None
        finally:
            loop.run_until_complete(work.close())
            loop.close()
            beat.close()
    return next(item["breach"] for item in out if item["kind"] == "replayed")


def test_a_sound_server_is_not_accused(server: ServerHandle) -> None:
    messages = campaign(server.url, 420)
    assert findings(messages) == []
    assert [item for item in messages if item["kind"] == "failed"] == []
    told = next(item for item in messages if item["kind"] == "probe")
    assert told["revision"] == "2025-11-25"
    exercised = next(item for item in messages if item["kind"] == "summary")["exercised"]
    known = {item.id for item in load_catalogue().for_target("server", "2025-11-25")}
    put_at_risk = {name for name in exercised if exercised[name]}
    assert put_at_risk <= known | {name for name in put_at_risk if ":" in name}
    for area in ("create", "shape", "life", "get", "result", "rel", "list", "cancel", "notif", "sec"):
        assert any(name.startswith(f"tasks25.{area}.") for name in put_at_risk), area


def test_tools_that_move_by_themselves(server: ServerHandle) -> None:
    report = check_server(server.url, revision="2025-11-25", budget=10, timeout=4.0)
    assert report.outcome == "conformant"
    assert any(item.id.startswith("tasks25.") for item in report.target.requirements)
    loop_spec = ServerSpec(server.url, profile="mapped", mapping=MAPPING, revision="2025-11-25")
    profile = ToolProfile("mapped", {role: Tool(**tool) for role, tool in MAPPING.items()}, [])
    for sequence in tool_scenarios(profile):
        assert replayed(loop_spec, sequence_to_json(sequence)) is None, sequence


def test_sequences_go_to_json_and_back() -> None:
    for sequence in control_scenarios():
        assert list(sequence_from_json(sequence_to_json(sequence))) == sequence
        assert not is_2025(sequence)
        reads = [item for item in with_reads(sequence) if item not in sequence]
        assert all(isinstance(item, Get) for item in reads)


def test_what_is_found_is_found_again() -> None:
    from mcptasks.fixtures.gallery import FAULTS
    from mcptasks.fixtures.gallery.server_base import start_entry

    fault = next(item for item in FAULTS if item.name == "server25-cancel-of-completed-is-acknowledged")
    assert isinstance(fault, Fault)
    with start_entry(fault) as handle:
        [found] = findings(campaign(handle.url, 300, probes=False))
        assert found["requirement"] == "tasks25.cancel.terminal-error"
        assert any('"initialize"' in line for line in found["curl"])
        again = replayed(ServerSpec(handle.url), found["operations"])
    assert again is not None
    assert again["fingerprint"] == found["fingerprint"]


def test_a_session_that_is_lost_is_renewed() -> None:
    from mcptasks.fixtures.gallery import FAULTS
    from mcptasks.fixtures.gallery.server_base import start_entry

    fault = next(item for item in FAULTS if item.name == "server25-session-dies-with-cancelled-work")
    with start_entry(fault) as handle:
        messages = campaign(handle.url, 400, probes=False)
    assert {item["requirement"] for item in findings(messages)} == {"tasks25.err.internal"}
    assert [item for item in messages if item["kind"] == "failed"] == []
    assert next(item for item in messages if item["kind"] == "summary")["examples"] > 10


def test_a_revision_that_a_server_does_not_speak(server: ServerHandle) -> None:
    report = check_server(server.url, revision="2026-07-28", budget=10)
    assert report.outcome == "unusable"
    with pytest.raises(UsageError):
        check_server("", command="true", revision="2025-11-25")


def test_init_finds_out_what_tools_do(server: ServerHandle, tmp_path: Path) -> None:
    out = tmp_path / "mapping.toml"
    code = main(["init", "--url", server.url, "--revision", "2025-11-25", "--out", str(out), "--wait", "4"])
    assert code == 0
    mapped = tomllib.loads(out.read_text(encoding="utf-8"))["tools"]
    assert mapped["tool_error"]["name"] == "failing_job"
    assert mapped["fails"]["name"] == "protocol_error_job"
    assert mapped["asks"]["name"] == "confirm_delete"
    assert mapped["asks_more"]["name"] == "multi_input"
    assert mapped["plain"]["name"] == "greet"
